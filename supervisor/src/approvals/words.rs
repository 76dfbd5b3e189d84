//! Approvals in words: the question with the whole call, and what was decided.

use channel::content::{Button, Content, File, FileBody};
use channel::formatting::{self, Entity, FormattedText, Style, units};
use protocol::SessionId;
use protocol::approval::{ApprovalDecision, ApprovalScope};
use protocol::question::Question;
use redaction::HIDDEN;
pub use store::approvals::Choice;
use texts::{Language, Text};
use toolkit::approvals::{Approval, Decided};
use toolkit::arguments::elide;
use toolkit::policy::{AskingRule, Condition, ConditionKind};

/// What a button carries before the approval's ID, and how its choice is written behind it.
pub(crate) const PREFIX: &str = "ask:";

/// What a button of a question carries before the approval's ID; behind it comes the option, counted from 0.
const ANSWER_PREFIX: &str = "answer:";

/// The choices, with the words on their buttons.
const CHOICES: [(Choice, Text<'static>); 4] = [
    (Choice::Once, Text::ButtonOnce),
    (Choice::Task, Text::ButtonTask),
    (Choice::Chat, Text::ButtonChat),
    (Choice::Deny, Text::ButtonDeny),
];

/// The choices about an approval: a yes for a task needs a task, and some calls can be allowed one by one
/// alone.
pub fn offered(approval: &Approval) -> impl Iterator<Item = (Choice, Text<'static>)> {
    let lasts = approval.covers.is_some();
    let has_task = approval.task_id.is_some();
    CHOICES.into_iter().filter(move |(choice, _)| match choice {
        Choice::Once | Choice::Deny => true,
        Choice::Task => lasts && has_task,
        Choice::Chat => lasts,
    })
}

/// The choice and the approval of a button's data.
pub(crate) fn pressed(data: &str) -> Option<(Choice, &str)> {
    let (id, letter) = data.strip_prefix(PREFIX)?.rsplit_once(':')?;
    Some((Choice::of_letter(letter)?, id))
}

/// The option and the approval of a button's data.
pub(crate) fn answered(data: &str) -> Option<(usize, &str)> {
    let (id, option) = data.strip_prefix(ANSWER_PREFIX)?.rsplit_once(':')?;
    Some((option.parse().ok()?, id))
}

/// The most UTF-16 units of one message with a question.
const MAX_UNITS: usize = 3900;
/// A phone cuts the words of more.
const BUTTONS_IN_A_ROW: usize = 2;
/// The most characters of a call in a line.
const MAX_LINE_CHARS: usize = 300;
/// The most characters of a question and of its answer in one message.
const MAX_SHOWN_CHARS: usize = 900;

/// A question whose answer is the result of a call, with a button for each option.
fn asked(approval: &Approval, question: &Question, language: Language) -> Content {
    let mut text = formatting::render(&question.text).text;
    if units(&text) > MAX_UNITS {
        text = text.chars().take(MAX_UNITS / 2).collect();
    }
    let hint = if question.options.is_empty() { Text::AskReply } else { Text::AskReplyInstead };
    if question.takes_text {
        text.push_str(&format!("\n\n{}", hint.to(language)));
    }
    let text = FormattedText::plain(text);
    let button = |(at, option): (usize, &String)| {
        vec![Button::new(option, format!("{ANSWER_PREFIX}{}:{at}", approval.id))]
    };
    match question.options.iter().enumerate().map(button).collect::<Vec<_>>() {
        none if none.is_empty() => Content::Formatted(text),
        buttons => Content::Question { text, buttons },
    }
}

/// A question as a terminal shows it, with its options in a numbered list.
fn numbered(question: &Question) -> String {
    let options = question.options.iter().enumerate();
    let options = options.map(|(at, option)| format!("\n  {}. {}", at + 1, visible(option)));
    format!("{}{}", visible(&question.text), options.collect::<String>())
}

/// The question as messages in a chat with this session: the whole text, as a file first if it is too long
/// for one message; the buttons are below the last.
pub(crate) fn question(approval: &Approval, session: &SessionId, language: Language) -> Vec<Content> {
    if let Some(question) = &approval.question {
        return vec![asked(approval, question, language)];
    }
    let head = head(approval, Some(session), language);
    let whole = whole(approval);
    let button = |(choice, label): (Choice, Text<'_>)| {
        Button::new(&label.to(language), format!("{PREFIX}{}:{}", approval.id, choice.letter()))
    };
    let buttons: Vec<Button> = offered(approval).map(button).collect();
    let buttons = buttons.chunks(BUTTONS_IN_A_ROW).map(<[Button]>::to_vec).collect();
    if units(&head) + units(&whole) < MAX_UNITS {
        return vec![Content::Question { text: with_code(&head, &whole), buttons }];
    }
    let file = File {
        name: format!("{}.txt", approval.tool),
        caption: FormattedText::plain(Text::ApprovalFile { tool: &approval.tool }.to(language)),
        body: FileBody::Bytes(format!("{head}\n{whole}").into_bytes()),
        media: None,
    };
    let bytes = i64::try_from(whole.len()).unwrap_or(i64::MAX);
    let beginning: String = whole.chars().take(MAX_UNITS / 4).collect();
    let head = format!("{head}\n{}", Text::ApprovalBeginning { bytes }.to(language));
    vec![Content::Document(file), Content::Question { text: with_code(&head, &beginning), buttons }]
}

/// What is asked, and why. Who asks is said where that is not the chat itself.
fn head(approval: &Approval, asked_in: Option<&SessionId>, language: Language) -> String {
    let asks = Text::ApprovalAsks { tool: &visible(&approval.tool), risk: approval.risk.name() };
    let by = Text::ApprovalBy { session: &visible(approval.session.as_str()) };
    let by = (asked_in != Some(&approval.session)).then(|| by.to(language));
    let reason = Some(approval.reason.trim()).filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| visible(&sentence(&reason_in(reason, language))));
    let reveal = how_to_reveal(approval, language);
    let lines = [Some(asks.to(language)), reason, by, reveal, Some(extent(approval, language))];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The reasons of the default rules; a test compares them with the rules.
const DEFAULT_REASONS: [Text<'static>; 9] = [
    Text::ReasonDryRun,
    Text::ReasonDelete,
    Text::ReasonScript,
    Text::ReasonControlFiles,
    Text::ReasonSendsData,
    Text::ReasonNewHost,
    Text::ReasonOtherChat,
    Text::ReasonNewContact,
    Text::ReasonSeenOutside,
];

/// The reasons of rules, those of default rules in the chat's language. An operator writes the others.
fn reason_in(reasons: &str, language: Language) -> String {
    let known = |reason: &str| {
        let text = DEFAULT_REASONS.into_iter().find(|text| text.to(Language::English) == reason);
        text.map_or_else(|| reason.to_owned(), |text| text.to(language))
    };
    reasons.split("; ").map(known).collect::<Vec<_>>().join("; ")
}

/// The reason of a rule, or an error in the words of the log, as a sentence.
pub(crate) fn sentence(words: &str) -> String {
    let mut characters = words.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if words.ends_with(['.', '!', '?', '…', '。']) { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}

/// The further calls that a yes for the task or the chat would let run; none if it can be for one call alone.
fn covers(approval: &Approval, language: Language) -> Option<String> {
    approval.covers.as_ref()?;
    let rules: Vec<String> = approval.rules.iter().map(|rule| asked_by(rule, approval, language)).collect();
    let (last, others) = rules.split_last()?;
    let first = others.join("; ");
    let rules =
        if others.is_empty() { last.clone() } else { Text::CoversBoth { first: &first, last }.to(language) };
    let hosts = approval.hosts.join(", ");
    let all =
        if hosts.is_empty() { rules } else { Text::CoversAt { calls: &rules, hosts: &hosts }.to(language) };
    Some(visible(&all))
}

/// The calls that a rule asks about, and where it is written.
fn asked_by(rule: &AskingRule, approval: &Approval, language: Language) -> String {
    let mut words = Text::CoversCalls { tool: &approval.tool }.to(language);
    for Condition { kind, any_of } in &rule.conditions {
        let list = &format!("`{}`", any_of.join("`, `"));
        let text = match kind {
            ConditionKind::Commands => Text::CoversCommands { list },
            ConditionKind::Paths => Text::CoversPaths { list },
            ConditionKind::Hosts => Text::CoversHosts { list },
            ConditionKind::Circumstances => Text::CoversCircumstances { list },
            ConditionKind::Arguments => Text::CoversArguments { list },
        };
        words.push_str(&text.to(language));
    }
    let number = rule.rule.strip_prefix("default rule ");
    let origin = number.map(|number| Text::CoversDefaultRule { number }.to(language));
    format!("{words} ({})", origin.as_deref().unwrap_or(&rule.rule))
}

/// What each yes would let run.
fn extent(approval: &Approval, language: Language) -> String {
    let Some(covers) = &covers(approval, language) else { return Text::ApprovalOnceOnly.to(language) };
    let text = match approval.task_id {
        Some(_) => Text::ApprovalExtentTask { covers },
        None => Text::ApprovalExtentChat { covers },
    };
    text.to(language)
}

/// How the approver sees what the question hides: no chat should have it.
fn how_to_reveal(approval: &Approval, language: Language) -> Option<String> {
    let id = approval.id.as_str();
    let text = Text::ApprovalReveal { id: &id[id.len().saturating_sub(8)..] };
    whole(approval).contains(HIDDEN).then(|| text.to(language))
}

/// The arguments and what they would do.
fn whole(approval: &Approval) -> String {
    let arguments = serde_json::to_string_pretty(&approval.arguments).unwrap_or_default();
    let preview = approval.preview.trim_end();
    let text = if preview.is_empty() { arguments } else { format!("{arguments}\n\n{preview}") };
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

/// The call in a block of code, and the names in the head between backticks as code.
fn with_code(head: &str, code: &str) -> FormattedText {
    let mut text = FormattedText { text: String::new(), entities: Vec::new() };
    let pieces: Vec<&str> = head.split('`').collect();
    let is_paired = pieces.len() % 2 == 1;
    for (at, piece) in pieces.iter().enumerate() {
        let is_code = is_paired && at % 2 == 1 && !piece.is_empty() && piece.trim() == *piece;
        if is_code {
            let (offset, length) = (units(&text.text), units(piece));
            text.entities.push(Entity { offset, length, style: Style::Code });
        } else if !is_paired && at > 0 {
            text.text.push('`');
        }
        text.text.push_str(piece);
    }
    text.text.push('\n');
    let (offset, length) = (units(&text.text), units(code));
    text.text.push_str(code);
    if !code.is_empty() {
        text.entities.push(Entity { offset, length, style: Style::Pre { language: None } });
    }
    text
}

/// The whole call, as a terminal shows it.
pub fn described(approval: &Approval) -> String {
    if let Some(question) = &approval.question {
        return numbered(question);
    }
    format!("{}\n{}", head(approval, None, Language::English), whole(approval))
}

/// What became of an approval, for those who were asked.
pub fn outcome(approval: &Approval, language: Language) -> String {
    if let Some(question) = &approval.question {
        let question = bounded(&formatting::render(&question.text).text);
        return format!("{question}\n\n{}", answered_in_words(approval, language));
    }
    let decided = match &approval.decision {
        Some(decided) if decided.decision == ApprovalDecision::Deny => denied(decided, language),
        Some(decided) => allowed(decided, approval, language),
        None => Text::OutcomeExpired.to(language),
    };
    format!("{decided}\n\n{}", in_a_line(approval))
}

/// A no, with who said it and why.
fn denied(decided: &Decided, language: Language) -> String {
    let (by, reason) = (decided.by.as_deref().map(visible), decided.reason.as_deref().map(visible));
    let text = match (&by, &reason) {
        (None, None) => Text::OutcomeDenied,
        (Some(by), None) => Text::OutcomeDeniedBy { by },
        (None, Some(reason)) => Text::OutcomeDeniedWhy { reason },
        (Some(by), Some(reason)) => Text::OutcomeDeniedByWhy { by, reason },
    };
    text.to(language)
}

/// A yes, with who said it and what runs from now on.
fn allowed(decided: &Decided, approval: &Approval, language: Language) -> String {
    let by = decided.by.as_deref().map(visible);
    let covers = &covers(approval, language).unwrap_or_default();
    let (text, covered) = match (decided.scope, &by) {
        (ApprovalScope::Call, None) => return Text::OutcomeOnce.to(language),
        (ApprovalScope::Call, Some(by)) => return Text::OutcomeOnceBy { by }.to(language),
        (ApprovalScope::Task, None) => (Text::OutcomeTask, Text::CoversTask { covers }),
        (ApprovalScope::Task, Some(by)) => (Text::OutcomeTaskBy { by }, Text::CoversTask { covers }),
        (ApprovalScope::Chat, None) => (Text::OutcomeChat, covered_until(decided, covers)),
        (ApprovalScope::Chat, Some(by)) => (Text::OutcomeChatBy { by }, covered_until(decided, covers)),
    };
    Text::Sentences { first: &text.to(language), second: &covered.to(language) }.to(language)
}

/// What became of a question.
fn answered_in_words(approval: &Approval, language: Language) -> String {
    let Some(decided) = &approval.decision else { return Text::OutcomeNoAnswer.to(language) };
    let answer = decided.answer.as_deref().map(bounded);
    let by = decided.by.as_deref().map(visible);
    let text = match (&answer, &by) {
        (Some(answer), Some(by)) => Text::OutcomeAnsweredBy { by, answer },
        (Some(answer), None) => Text::OutcomeAnswered { answer },
        (None, _) => Text::OutcomeWithdrawn,
    };
    text.to(language)
}

fn bounded(text: &str) -> String {
    elide(&text.lines().map(visible).collect::<Vec<_>>().join("\n"), MAX_SHOWN_CHARS)
}

/// How long a yes for a chat holds.
fn covered_until<'a>(decided: &Decided, covers: &'a str) -> Text<'a> {
    let minutes = decided.until_ms.map_or(0, |until| (until - decided.decided_at_ms) / 60_000);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => Text::CoversMinutes { minutes, covers },
        (hours, 0) => Text::CoversHours { hours, covers },
        (hours, minutes) => Text::CoversHoursAndMinutes { hours, minutes, covers },
    }
}

/// A call in one short line.
pub fn in_a_line(approval: &Approval) -> String {
    let arguments = serde_json::to_string(&approval.arguments).unwrap_or_default();
    let line = visible(&format!("{} {arguments}", approval.tool));
    elide(line.trim_end(), MAX_LINE_CHARS)
}

fn visible(text: &str) -> String {
    protocol::visible::escaped(text).into_owned()
}

#[cfg(test)]
pub(crate) mod tests;
