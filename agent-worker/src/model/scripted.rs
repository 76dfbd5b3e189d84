//! The provider that follows a script, for tests and for rehearsing failures without a model.
//!
//! `AUTONOUS_MODEL_SCRIPT` lists actions, separated by commas or newlines. Each request in the life of the
//! process takes the next action; the last one repeats. It never calls a tool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Model, ModelError, ModelErrorClass, Reply, ReplyFuture, Request};

pub(crate) const EXPECTED: &str = "actions separated by commas or newlines: ok, err:<class>, sleep:<ms>, \
     msg:<text without commas>, msgb64:<base64>; a class is rate_limit, overloaded, auth, bad_request, \
     no_credit, context_too_long, network, stalled or invalid_reply";

#[derive(Debug)]
pub(crate) struct Scripted {
    actions: Vec<Action>,
    next: AtomicUsize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Answer(String),
    Fail(ModelErrorClass),
    /// Waits, then answers `ok`.
    Sleep(Duration),
}

/// An unknown action; [`EXPECTED`] lists the valid ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a script action")]
pub(crate) struct BadScript(pub(crate) String);

impl Scripted {
    pub(crate) fn new(script: &str) -> Result<Self, BadScript> {
        let actions = script.split([',', '\n']).map(str::trim).filter(|action| !action.is_empty());
        let actions: Vec<Action> = actions.map(action).collect::<Result<_, _>>()?;
        if actions.is_empty() {
            return Err(BadScript(script.to_owned()));
        }
        Ok(Self { actions, next: AtomicUsize::new(0) })
    }

    fn take(&self) -> Action {
        let last = self.actions.len() - 1;
        self.actions[self.next.fetch_add(1, Ordering::Relaxed).min(last)].clone()
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn reply<'a>(&'a self, _request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(async {
            match self.take() {
                Action::Answer(text) => Ok(Reply::answer(text)),
                Action::Fail(class) => Err(ModelError::new(class, "scripted failure")),
                Action::Sleep(time) => {
                    tokio::time::sleep(time).await;
                    Ok(Reply::answer("ok"))
                }
            }
        })
    }
}

fn action(text: &str) -> Result<Action, BadScript> {
    let known = match text.split_once(':') {
        None if text == "ok" => Some(Action::Answer("ok".to_owned())),
        Some(("err", name)) => {
            ModelErrorClass::ALL.into_iter().find(|class| class.as_str() == name).map(Action::Fail)
        }
        Some(("sleep", ms)) => ms.parse().ok().map(Duration::from_millis).map(Action::Sleep),
        Some(("msg", text)) => Some(Action::Answer(text.to_owned())),
        Some(("msgb64", encoded)) => decoded(encoded).map(Action::Answer),
        _ => None,
    };
    known.ok_or_else(|| BadScript(text.to_owned()))
}

fn decoded(encoded: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_taken_in_order_and_the_last_one_repeats() {
        let script = Scripted::new("ok, err:rate_limit\nsleep:5,msg:a b,msgb64:YSwgYg==").unwrap();
        let taken: Vec<Action> = (0..6).map(|_| script.take()).collect();
        assert_eq!(
            taken,
            [
                Action::Answer("ok".into()),
                Action::Fail(ModelErrorClass::RateLimit),
                Action::Sleep(Duration::from_millis(5)),
                Action::Answer("a b".into()),
                Action::Answer("a, b".into()),
                Action::Answer("a, b".into()),
            ]
        );
    }

    #[test]
    fn a_bad_script_names_the_bad_action() {
        for (script, bad) in [
            ("ok,okay", "okay"),
            ("err:nobody", "err:nobody"),
            ("sleep:-1", "sleep:-1"),
            ("sleep", "sleep"),
            ("msgb64:%", "msgb64:%"),
            (" , ", " , "),
        ] {
            assert_eq!(Scripted::new(script).unwrap_err(), BadScript(bad.into()), "{script}");
        }
    }

    #[test]
    fn the_help_names_every_class() {
        for class in ModelErrorClass::ALL {
            assert!(EXPECTED.contains(class.as_str()), "{}", class.as_str());
        }
    }
}
