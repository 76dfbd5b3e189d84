//! One system before one server: questions, what came of each, and the report.

use std::fmt;
use std::time::{Duration, Instant};

use harness::{Request, System, wait};
use serde_json::{Value, json};

/// Longer than a stalled stream takes to be noticed and asked for again.
const REPLY_WITHIN: Duration = Duration::from_secs(300);

/// What the system speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Chat,
    Messages,
}

impl Protocol {
    pub(crate) const ALL: [Self; 2] = [Self::Chat, Self::Messages];

    /// The provider that speaks it.
    pub(crate) const fn provider(self) -> &'static str {
        match self {
            Self::Chat => "openai",
            Self::Messages => "anthropic",
        }
    }
}

/// One question, and what has to come of it.
pub(crate) struct Question {
    pub(crate) shows: &'static str,
    pub(crate) text: &'static str,
    /// A part of the reply.
    pub(crate) reply: &'static str,
    /// How many tools are called.
    pub(crate) calls: i64,
}

/// What came of all questions.
pub(crate) struct Report {
    server: String,
    lines: Vec<(bool, String)>,
}

/// A system that a server plays the model for.
pub(crate) struct Trial {
    system: System,
    report: Report,
    calls: i64,
}

impl Trial {
    pub(crate) fn start(server: &str, protocol: Protocol, base_url: &str) -> Self {
        let builder = System::builder()
            .variable("AUTONOUS_MODEL_PROVIDER", protocol.provider())
            .variable("AUTONOUS_MODEL_BASE_URL", base_url)
            .variable("AUTONOUS_MODEL_API_KEY", "a-key-that-nobody-checks")
            .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1");
        let report = Report { server: format!("{server}, {}", protocol.provider()), lines: Vec::new() };
        Self { system: builder.start(), report, calls: 0 }
    }

    /// Asks a question and notes what came of it.
    pub(crate) fn ask(&mut self, question: &Question) {
        let began = Instant::now();
        // A chat of its own: what was said in another one must not decide this one.
        let chat = question.shows.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let message = json!({"text": question.text, "chat": format!("about-{chat}")});
        let answer = self.system.control(Request::post_json("/messages", &message)).json();
        let task = answer["task_id"].as_str().expect("a queued message has a task").to_owned();
        let reply = wait::within(REPLY_WITHIN, || self.reply(&task)).unwrap_or_default();
        let calls = self.system.database().count("select count(*) from tool_calls");
        let made = calls - self.calls;
        self.calls = calls;
        let holds = reply.contains(question.reply) && made == question.calls && !reply.is_empty();
        let seconds = began.elapsed().as_secs_f64();
        let line = format!("{} ({seconds:.1} s, {made} calls): {}", question.shows, in_short(&reply));
        self.note(holds, line);
    }

    /// Notes something else that has to hold.
    pub(crate) fn note(&mut self, holds: bool, line: String) {
        self.report.lines.push((holds, line));
    }

    pub(crate) fn report(self) -> Report {
        self.report
    }

    fn reply(&self, task: &str) -> Option<String> {
        let answer = self.system.control(Request::get(&format!("/messages/{task}?wait_seconds=5"))).json();
        answer["reply"].as_str().map(str::to_owned)
    }
}

impl Report {
    pub(crate) fn holds(&self) -> bool {
        self.lines.iter().all(|(holds, _)| *holds)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.server)?;
        for (holds, line) in &self.lines {
            writeln!(f, "  {}  {line}", if *holds { "ok  " } else { "FAIL" })?;
        }
        Ok(())
    }
}

fn in_short(reply: &str) -> Value {
    Value::from(reply.chars().take(60).collect::<String>())
}
