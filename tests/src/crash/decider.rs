//! A person in each chat, who answers every question once: mostly with a yes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::fake_telegram::update::Chat;
use crate::{FakeTelegram, wait};

/// How long a slow answer takes: more than a worker waits.
const SLOW: Duration = Duration::from_secs(3);

const PAUSE: Duration = Duration::from_millis(50);

/// The rules of the test: half of the words need a yes.
pub(super) const RULES: &str = r#"
[[rule]]
tools = ["write"]
decision = "ask"
reason = "it writes"
[[rule]]
tools = ["telegram_send_file"]
paths = ["asked.txt"]
decision = "ask"
reason = "it sends"
"#;

/// What messages about approvals begin with.
const ABOUT_APPROVALS: [&str; 5] =
    ["May I call", "Allowed", "Denied", "Nobody decided in time", "This is not waited for"];

/// Whether a message is about an approval, and no reply.
pub(super) fn is_about_approval(text: &str) -> bool {
    ABOUT_APPROVALS.iter().any(|beginning| text.starts_with(beginning))
}

/// Presses a button of each question until `done`. A press is never repeated: none may be lost.
pub(super) fn decide_all(telegram: &FakeTelegram, done: &AtomicBool) {
    let mut pressed = BTreeSet::new();
    while !done.load(Ordering::Relaxed) {
        for sent in telegram.sent() {
            let buttons = sent.buttons();
            let Some(((_, yes), (_, no))) = buttons.first().zip(buttons.last()) else { continue };
            let is_slow = yes.trim_end_matches(":o").ends_with(['1', '4', '8', 'b', 'd']);
            let is_due = !is_slow || sent.at.elapsed() >= SLOW;
            if !yes.starts_with("ask:") || !is_due || !pressed.insert(sent.number) {
                continue;
            }
            let is_refused = yes.trim_end_matches(":o").ends_with(['0', '7', 'e']);
            let chosen = if is_refused { no } else { yes };
            telegram.press(Chat { id: sent.chat_id }, sent.chat_id, sent.number, chosen);
        }
        wait::out(PAUSE);
    }
}
