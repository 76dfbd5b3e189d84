//! The fake model: a list of steps, and how it finds its place in it.
//!
//! A step is done when its call is known to have ended as expected. A step with an effect whose outcome is
//! unknown is checked before it is repeated. Everything else is done, or done again.

use serde_json::{Value, json};

use super::{REQUEST, SOURCE};
use crate::ModelReply;
use crate::facts::{self, Fact, Outcome};

pub(super) const CHANGES: &str = "stats/CHANGES.md";
pub(super) const CHANGE: &str = "- median: odd lengths";
pub(super) const WRONG: &str = "sorted.len() / 2 - 1";
pub(super) const RIGHT: &str = "(sorted.len() - 1) / 2";

pub const ANSWER: &str = "The median of an odd number of values was the element before the middle: the \
                          index was `len / 2 - 1`. It is `(len - 1) / 2` now, and all tests pass.";

/// How to test the project: one test first, and all of them after the fix.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    pub one: &'static str,
    pub all: &'static str,
}

impl Check {
    pub const CARGO: Self =
        Self { one: "cd stats && cargo test --offline three", all: "cd stats && cargo test --offline" };
    /// Fails in the same way, without a build.
    pub const QUICK: Self = Self {
        one: "awk '/2 - 1]/ {exit 1}' stats/src/lib.rs",
        all: "awk '/2 - 1/ {exit 1}' stats/src/lib.rs",
    };
}

#[derive(Debug)]
pub struct Model {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    tool: &'static str,
    arguments: Value,
    kind: Kind,
}

/// What happens to a step whose call did not end as expected.
#[derive(Debug)]
enum Kind {
    /// It is repeated.
    Look,
    MustFail,
    /// It is repeated unless `sign` is in the file.
    Effect {
        file: &'static str,
        sign: &'static str,
    },
}

impl Model {
    pub fn new(check: Check) -> Self {
        let look = |tool, arguments| Step { tool, arguments, kind: Kind::Look };
        let edit = json!({"path": SOURCE, "find": WRONG, "replace": RIGHT});
        let write = json!({"path": CHANGES, "content": format!("{CHANGE}\n"), "mode": "append"});
        let steps = vec![
            look("ls", json!({"path": "stats", "recursive": true})),
            look("find", json!({"path": "stats", "name_pattern": "*.rs"})),
            look("grep", json!({"path": "stats", "pattern": "fn median"})),
            look("read", json!({"path": SOURCE})),
            Step { tool: "bash", arguments: json!({"cmd": check.one}), kind: Kind::MustFail },
            look("grep", json!({"path": "stats", "pattern": "median(", "literal": true})),
            Step { tool: "edit", arguments: edit, kind: Kind::Effect { file: SOURCE, sign: RIGHT } },
            look("read", json!({"path": SOURCE, "start_line": 3, "limit": 4})),
            look("bash", json!({"cmd": check.all})),
            Step { tool: "write", arguments: write, kind: Kind::Effect { file: CHANGES, sign: CHANGE } },
            look("read", json!({"path": CHANGES})),
        ];
        Self { steps }
    }

    pub fn next(&self, request: &Value) -> ModelReply {
        let messages = facts::messages(request);
        let asked = messages.iter().rposition(|message| message["content"] == REQUEST);
        let facts = asked.map_or_else(Vec::new, |asked| facts::of(messages, asked));
        let open = self.steps.iter().find(|step| !step.is_done(&facts));
        match open {
            Some(step) => step.reply(&facts),
            None => ModelReply::text(ANSWER),
        }
    }
}

impl Step {
    fn is_done(&self, facts: &[Fact]) -> bool {
        match (self.newest(facts).map(|fact| fact.outcome), &self.kind) {
            (None, _) => false,
            (Some(Outcome::Done), Kind::Look | Kind::Effect { .. }) => true,
            (Some(Outcome::Failed), Kind::MustFail) => true,
            (Some(Outcome::Failed | Outcome::Unknown), Kind::Effect { sign, .. }) => {
                self.found(facts).is_some_and(|result| result.contains(sign))
            }
            (Some(_), Kind::Look | Kind::MustFail) => false,
        }
    }

    /// The call, or first a check of what an earlier one left behind.
    fn reply(&self, facts: &[Fact]) -> ModelReply {
        match (&self.kind, self.newest(facts)) {
            (Kind::Effect { .. }, Some(_)) if self.found(facts).is_none() => {
                let (tool, arguments) = self.inspection();
                ModelReply::call(tool, &arguments)
            }
            _ => ModelReply::call(self.tool, &self.arguments),
        }
    }

    fn newest<'a>(&self, facts: &'a [Fact]) -> Option<&'a Fact> {
        facts.iter().rfind(|fact| fact.is(self.tool, &self.arguments))
    }

    /// What a check in this attempt found.
    fn found<'a>(&self, facts: &'a [Fact]) -> Option<&'a str> {
        let (tool, arguments) = self.inspection();
        facts.iter().rfind(|fact| fact.is(tool, &arguments))?.result.as_deref()
    }

    /// The call that checks for a step's effect.
    fn inspection(&self) -> (&'static str, Value) {
        let file = match &self.kind {
            Kind::Effect { file, .. } => *file,
            Kind::Look | Kind::MustFail => SOURCE,
        };
        ("read", json!({"path": file, "start_line": 1}))
    }
}
