//! `ask_user`: a question to the person, whose answer is the result.
//!
//! It is asked, kept and answered as an approval is: while the person thinks, nothing of the call is held
//! here.

use std::ops::RangeInclusive;

use protocol::question::Question;
use protocol::{Annotations, Risk, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::{Call, Outcome, Slot, Success, Tool, touches_nothing};

use crate::tool_context::ToolContext;

const OPTIONS: RangeInclusive<usize> = 2..=8;
const MAX_OPTION_CHARS: usize = 60;

/// Asks the user a question; the answer is the result.
///
/// Use it only for a choice that the user alone can make; `options` are shown as buttons.
///
/// # Details
///
/// Options differ and have at most 60 characters. The question comes in the chat of the task, or else to each
/// approver. The task waits without a worker, for as long as `AUTONOUS_QUESTION_TIMEOUT_SECONDS` says; then
/// the result says that nobody has answered. In a group, the sender of the task or an approver answers. A
/// caller of the tool server sends the call again, with the same `Idempotency-Key`, until there is an answer;
/// `Prefer: wait=N` waits for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskUserArguments {
    /// One question.
    #[schemars(length(min = 1, max = 2000))]
    question: String,
    /// 2 to 8 answers to choose from; none for the user's own words.
    #[serde(default)]
    #[schemars(length(max = 8))]
    options: Vec<String>,
    /// With `options`: whether the user may write another answer.
    #[serde(default)]
    allow_free_text: bool,
}

/// The answer.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct AskUserData {
    /// Whether somebody has answered.
    answered: bool,
    /// The chosen option, or what the user wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// The number of the chosen option, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<usize>,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<String>,
}

pub(crate) struct AskUser(pub(super) ToolContext);

impl Tool for AskUser {
    type Arguments = AskUserArguments;
    type Data = AskUserData;
    const NAME: &'static str = "ask_user";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations { destructive: false, ..Annotations::ACTS };
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["options"];

    fn example(&self) -> Value {
        json!({"question": "Which branch shall I release?", "options": ["main", "next"]})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    touches_nothing!();

    fn question(&self, arguments: &Value) -> Option<Question> {
        let AskUserArguments { question, options, allow_free_text } =
            serde_json::from_value(arguments.clone()).ok()?;
        let takes_text = allow_free_text || options.is_empty();
        Some(Question { text: question, options, takes_text })
    }

    /// An error for a question that cannot be asked.
    fn preview(&self, arguments: &Value, _: &Call) -> Result<String, ToolError> {
        let Question { text, options, .. } = self.question(arguments).unwrap_or_default();
        if text.trim().is_empty() {
            return Err(invalid("`question` is empty."));
        }
        if !options.is_empty() && !OPTIONS.contains(&options.len()) {
            return Err(invalid("`options` must have 2 to 8 answers, or be absent."));
        }
        if options.iter().any(|option| option.trim().is_empty() || option.chars().count() > MAX_OPTION_CHARS)
        {
            return Err(invalid(format!("Each of `options` must have 1 to {MAX_OPTION_CHARS} characters.")));
        }
        let same = |one: &str, other: &str| one.trim().to_lowercase() == other.trim().to_lowercase();
        let is_repeated =
            |(at, option): (usize, &String)| options[..at].iter().any(|before| same(before, option));
        if options.iter().enumerate().any(is_repeated) {
            return Err(invalid("`options` must differ by more than letter case and spaces."));
        }
        Ok(String::new())
    }

    fn run(&self, arguments: AskUserArguments, call: &Call) -> Outcome<AskUserData> {
        let Some(answer) = call.answer() else {
            let stdout = "Nobody has answered in time. Continue without the answer, or say what you need.\n";
            return Ok(Success { stdout: stdout.to_owned(), ..Success::default() });
        };
        let chosen = answer.option.and_then(|option| arguments.options.get(option));
        let text = chosen.unwrap_or(&answer.text);
        let data = AskUserData {
            answered: true,
            answer: Some(text.clone()),
            option: answer.option.map(|option| option + 1),
            answered_by: answer.by.clone(),
        };
        let by = answer.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let stdout = format!("Answered{by}: {text}\n");
        Ok(Success { stdout, data, ..Success::default() })
    }
}
