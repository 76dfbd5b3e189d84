//! What a progress message tells of a task, in words.

use std::time::Duration;

use channel::formatting::{Entity, FormattedText, Style, units};
use channel::sign::Progress;
use protocol::event::Unreachable;
use protocol::{TaskId, visible};
use serde_json::Value;
use store::activity::Activity;
use store::line::{InLine, WaitsFor};
use texts::{Language, Text};
use toolkit::arguments::elide;

use crate::reception::press::stop_button;

/// The part of a call's arguments that is shown.
const MAX_ARGUMENT_CHARS: usize = 120;

/// A task that its chat sees.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    Begun(Activity),
    InLine(InLine),
}

impl Seen {
    pub(super) fn task(&self) -> &TaskId {
        match self {
            Self::Begun(activity) => &activity.task,
            Self::InLine(next) => &next.task,
        }
    }

    pub(super) fn chat_id(&self) -> &str {
        match self {
            Self::Begun(activity) => &activity.chat_id,
            Self::InLine(next) => &next.chat.id,
        }
    }

    /// For how long it has done, at this time in milliseconds since the epoch, what it does.
    pub(super) fn elapsed(&self, now_ms: i64) -> Duration {
        let since_ms = match self {
            Self::Begun(activity) => activity.since_ms,
            Self::InLine(next) => next.since_ms,
        };
        Duration::from_millis(u64::try_from(now_ms - since_ms).unwrap_or(0))
    }

    pub(super) fn progress(&self, elapsed: Duration, language: Language) -> Progress {
        match self {
            Self::Begun(activity) => describe(activity, elapsed, language),
            Self::InLine(next) => Progress {
                text: FormattedText::plain(waiting(&next.waits_for, language)),
                stop: Some(stop_button(&next.task, language)),
            },
        }
    }
}

/// It has no time, so that nothing is edited while nothing changes.
fn waiting(waits_for: &WaitsFor, language: Language) -> String {
    match waits_for {
        WaitsFor::Worker { before: 0 } => Text::ProgressWaitsForWorker.to(language),
        WaitsFor::Worker { before } => Text::ProgressWaitsBehind { before: (*before).into() }.to(language),
        WaitsFor::Sender => Text::ProgressWaitsForSender.to(language),
        WaitsFor::File { name } => {
            Text::ProgressFetching { name: &shortened(&visible::escaped(name)) }.to(language)
        }
    }
}

/// What a message tells of a task that has begun.
fn describe(activity: &Activity, elapsed: Duration, language: Language) -> Progress {
    let (elapsed, turn) = (&in_minutes(elapsed, language), activity.turn.into());
    let head = match (activity.is_stopping, activity.waits_for_person, &activity.unreachable) {
        (true, ..) => Text::ProgressStopping { elapsed },
        (false, true, _) => Text::ProgressParked { elapsed, turn },
        (false, false, Some(_)) => Text::ProgressWaitsForModel { elapsed },
        (false, false, None) => Text::ProgressWorking { elapsed, turn },
    };
    let mut text = head.to(language);
    if activity.tokens > 0 {
        let tokens = Text::ProgressTokens { tokens: &short(activity.tokens) }.to(language);
        text.push_str(&format!(" · {tokens}"));
    }
    if activity.additions > 0 {
        let added = Text::ProgressAdded { messages: activity.additions.into() }.to(language);
        text.push_str(&format!(" · {added}"));
    }
    if let Some(Unreachable { address, cause }) = &activity.unreachable {
        let (address, cause) = (&visible::escaped(address), &visible::escaped(cause));
        text.push('\n');
        text.push_str(&Text::ProgressModelUnreachable { address, cause }.to(language));
    }
    if let Some(plan) = &activity.plan {
        text.push('\n');
        text.push_str(&shortened(&visible::escaped(plan)));
    }
    let mut entities = Vec::new();
    if let Some((tool, arguments)) = &activity.call {
        let call = format!("{tool} {}", in_short(arguments));
        let call = call.trim_end();
        text.push('\n');
        entities.push(Entity { offset: units(&text), length: units(call), style: Style::Code });
        text.push_str(call);
    }
    let stop = (!activity.is_stopping).then(|| stop_button(&activity.task, language));
    Progress { text: FormattedText { text, entities }, stop }
}

fn in_minutes(elapsed: Duration, language: Language) -> String {
    let seconds = i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX);
    let text = match seconds {
        ..60 => Text::Seconds { seconds },
        _ => Text::MinutesAndSeconds { minutes: seconds / 60, seconds: seconds % 60 },
    };
    text.to(language)
}

fn short(tokens: i64) -> String {
    match tokens {
        ..1000 => tokens.to_string(),
        1000..100_000 => format!("{}.{}k", tokens / 1000, tokens % 1000 / 100),
        _ => format!("{}k", tokens / 1000),
    }
}

/// A call's arguments in one short line: one alone without its name.
fn in_short(arguments: &str) -> String {
    let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
    let line = match parsed.as_object() {
        Some(fields) if fields.len() == 1 => fields.values().map(in_words).collect(),
        Some(fields) => {
            let pair = |(name, value): (&String, &Value)| format!("{name}={}", in_words(value));
            fields.iter().map(pair).collect::<Vec<_>>().join(" ")
        }
        // They were cut.
        None => arguments.to_owned(),
    };
    let line: Vec<&str> = line.split_whitespace().collect();
    shortened(&visible::escaped(&line.join(" ")))
}

fn shortened(line: &str) -> String {
    elide(line, MAX_ARGUMENT_CHARS)
}

fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
pub(super) mod tests {
    use channel::{ChannelName, Chat};

    use super::*;

    /// A task at work in chat 7.
    pub(in super::super) fn activity() -> Activity {
        let call = Some(("bash".to_owned(), r#"{"cmd":"cargo  test\n--workspace"}"#.to_owned()));
        Activity {
            task: TaskId::new(),
            chat_id: "7".to_owned(),
            since_ms: 0,
            turn: 3,
            tokens: 4321,
            additions: 0,
            plan: None,
            call,
            waits_for_person: false,
            unreachable: None,
            is_stopping: false,
        }
    }

    #[test]
    fn progress_tells_time_turn_tokens_and_the_call_in_one_line() {
        let activity = activity();
        let Progress { text, stop } = describe(&activity, Duration::from_secs(72), Language::English);
        assert_eq!(text.text, "Working · 1 min 12 s · turn 3 · 4.3k tokens\nbash cargo test --workspace");
        let code = Entity { offset: 44, length: 27, style: Style::Code };
        assert_eq!((text.entities, stop), (vec![code], Some(stop_button(&activity.task, Language::English))));
        let steered = Activity { additions: 2, call: None, ..activity.clone() };
        let told = describe(&steered, Duration::from_secs(9), Language::English).text.text;
        assert_eq!(told, "Working · 9 s · turn 3 · 4.3k tokens · 2 messages added");
        let plan = Some("[2/6] in progress: build it; next: test it".to_owned());
        let planned =
            describe(&Activity { plan, ..activity.clone() }, Duration::from_secs(9), Language::English).text;
        let lines: Vec<&str> = planned.text.lines().collect();
        assert_eq!(lines[1..], ["[2/6] in progress: build it; next: test it", "bash cargo test --workspace"]);
        assert_eq!(planned.entities[0].offset, units(&lines[..2].join("\n")) + 1);
        let (address, cause) = ("http://127.0.0.1:1/v1".to_owned(), "connection refused".to_owned());
        let unreachable = Some(Unreachable { address, cause });
        let waiting = Activity { unreachable, call: None, tokens: 0, ..activity.clone() };
        assert_eq!(
            describe(&waiting, Duration::from_secs(9), Language::English).text.text,
            "Waiting for the model · 9 s\nThe model at http://127.0.0.1:1/v1 cannot be reached \
             (connection refused). Trying again."
        );
        let stopping = Activity { is_stopping: true, call: None, tokens: 0, ..activity };
        let Progress { text, stop } = describe(&stopping, Duration::from_secs(9), Language::English);
        assert_eq!((text.text.as_str(), stop), ("Stopping · 9 s", None));
        let long = format!(r#"{{"path":"a","content":"{}"}}"#, "x".repeat(500));
        let short = in_short(&long);
        assert!(short.chars().count() == 121 && short.starts_with("content=x") && short.ends_with('…'));
    }

    #[test]
    fn what_waits_says_for_what_and_can_be_stopped() {
        for (waits_for, expected) in [
            (WaitsFor::Worker { before: 2 }, "Waiting · 2 before you"),
            (WaitsFor::Worker { before: 0 }, "Waiting for a worker"),
            (WaitsFor::File { name: "film\u{202e}.mp4".to_owned() }, "Fetching film\\u{202e}.mp4"),
        ] {
            let chat = Chat::new(ChannelName::new("test"), 7);
            let next = InLine { task: TaskId::new(), chat, since_ms: 0, waits_for };
            let stop = Some(stop_button(&next.task, Language::English));
            let told = Seen::InLine(next).progress(Duration::from_secs(9), Language::English);
            assert_eq!((told.text, told.stop), (FormattedText::plain(expected), stop));
        }
    }
}
