//! What the rules say about a call: each part is judged by itself, and the strictest decision wins.
//!
//! About one part, the first rule that matches decides. Where a part does not show whether a rule is about
//! it, the rules behind that one count as well, and a person can allow it for one call alone.

use std::collections::BTreeMap;

use super::part::{Part, parts};
use super::rule::{AskingRule, Rule};
use super::touches::Fit;
use super::{Decision, Facts};

/// What the rules say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What happens.
    pub decision: Decision,
    /// Why, for the caller.
    pub reason: String,
    /// Which rules decided.
    pub rule: String,
    /// The rules that ask, in their order; each needs its own yes.
    pub asks: Vec<AskingRule>,
}

/// A rule that counts for a part; none where no rule is about it.
struct Finding<'r> {
    rule: Option<(usize, &'r Rule)>,
    is_sure: bool,
}

impl Finding<'_> {
    fn decision(&self) -> Decision {
        self.rule.map_or(Decision::Allow, |(_, rule)| rule.decision())
    }

    /// The position of its rule; behind all for none.
    fn position(&self) -> usize {
        self.rule.map_or(usize::MAX, |(number, _)| number)
    }
}

/// Judges a call by rules, each with its number.
pub(super) fn judge<'r>(rules: impl Iterator<Item = (usize, &'r Rule)>, facts: &Facts<'_>) -> Verdict {
    let mut about: Vec<(usize, &Rule)> = Vec::new();
    for (number, rule) in rules.filter(|(number, rule)| rule.is_about(*number, facts)) {
        about.push((number, rule));
        // It matches every part, so nothing behind it counts.
        if !rule.looks_at_touches() {
            break;
        }
    }
    let findings: Vec<Finding<'_>> = match about.as_slice() {
        [] => vec![Finding { rule: None, is_sure: true }],
        [only] if !only.1.looks_at_touches() => vec![Finding { rule: Some(*only), is_sure: true }],
        about => parts(facts).into_iter().flat_map(|part| judge_part(about, part, facts)).collect(),
    };
    combine(&findings, facts.subject.tool)
}

/// What counts for one part: the first rule that is surely about it, and those before that could be.
fn judge_part<'r>(about: &[(usize, &'r Rule)], part: Part<'_>, facts: &Facts<'_>) -> Vec<Finding<'r>> {
    let mut findings = Vec::new();
    // Rules without a condition about this kind count for the commands, if there are any.
    let is_beside = facts.runs_commands() && !matches!(part, Part::Command(_) | Part::Unseen);
    // A question about another kind of part, such as the path of a command, answers all but rules about this
    // kind.
    let mut is_answered = false;
    for (number, rule) in about {
        if (is_answered || is_beside) && !rule.is_about_kind(part) {
            continue;
        }
        match rule.fit(*number, part, facts) {
            Fit::No => continue,
            Fit::Perhaps => findings.push(Finding { rule: Some((*number, rule)), is_sure: false }),
            Fit::Surely => {
                findings.push(Finding { rule: Some((*number, rule)), is_sure: true });
                is_answered = true;
                let is_of_other_kind = rule.looks_at_touches() && !rule.is_about_kind(part);
                if rule.decision() != Decision::Ask || !is_of_other_kind {
                    return findings;
                }
            }
        }
    }
    if !is_answered && !is_beside {
        findings.push(Finding { rule: None, is_sure: true });
    }
    findings
}

fn combine(findings: &[Finding<'_>], tool: &str) -> Verdict {
    let decision = findings.iter().map(Finding::decision).max().unwrap_or(Decision::Allow);
    let deciding = findings.iter().filter(|finding| finding.decision() == decision);
    let mut by_position: BTreeMap<usize, (&Rule, bool)> = BTreeMap::new();
    let mut last = 0;
    for finding in deciding {
        last = last.max(finding.position());
        if let Some((number, rule)) = finding.rule {
            by_position.entry(number).or_insert((rule, true)).1 &= finding.is_sure;
        }
    }
    let shown: Vec<&Rule> = match decision {
        // The weakest permission is the one that it needs.
        Decision::Allow => by_position.get(&last).map(|(rule, _)| *rule).into_iter().collect(),
        Decision::Ask => by_position.values().map(|(rule, _)| *rule).collect(),
        Decision::Deny => by_position.values().take(1).map(|(rule, _)| *rule).collect(),
    };
    let Some(first) = shown.first() else { return unruled() };
    let asks = match decision {
        Decision::Ask => by_position.values().map(|(rule, is_sure)| rule.asking(tool, *is_sure)).collect(),
        Decision::Allow | Decision::Deny => Vec::new(),
    };
    let mut reason = first.reason().to_owned();
    let mut origin = first.origin().to_owned();
    for rule in &shown[1..] {
        if !reason.split("; ").any(|known| known == rule.reason()) {
            reason.push_str("; ");
            reason.push_str(rule.reason());
        }
        origin.push_str("; ");
        origin.push_str(rule.origin());
    }
    Verdict { decision, reason, rule: origin, asks }
}

fn unruled() -> Verdict {
    let (reason, rule) = ("no rule is about this call".to_owned(), "none".to_owned());
    Verdict { decision: Decision::Allow, reason, rule, asks: Vec::new() }
}
