//! Chats of the page: what was said in one, and the form that adds to it.

use maud::{Markup, html};
use store::queries::page::{KnownChat, Said};
use store::queries::tasks::Task;
use store::said::without_files;
use toolkit::approvals::Approval;

use crate::approval::approval_card;
use crate::formatted::markdown;
use crate::frame::button;
use crate::now::Running;
use crate::task::{file, plan_list, sent};
use crate::tasks::task_state;
use crate::time::{lasting, time};
use crate::words::{beginning, encoded, number, task_link, words};

/// The channel of these chats.
pub const CHANNEL: &str = "page";

/// What is shown of a chat.
#[derive(Debug)]
pub struct Talk {
    pub chat: String,
    pub said: Vec<Said>,
    /// What runs for it.
    pub running: Option<Running>,
    /// What the model has written so far, in Markdown.
    pub growing: Option<String>,
    /// The calls of this chat that wait.
    pub waiting: Vec<Approval>,
    pub now_ms: i64,
}

/// The chats that there are, and a form that begins one.
pub fn chats(known: &[KnownChat]) -> Markup {
    let is_own = |chat: &&KnownChat| chat.channel == CHANNEL;
    html! {
        form.filter method="get" action="/chat/open" {
            div {
                label for="chat" { "Name of a chat" }
                input id="chat" name="chat" value="main" required pattern="[A-Za-z][A-Za-z0-9._\\-]{0,63}"
                    autocomplete="off";
                small {
                    "A letter, then letters, digits, " code { "." } ", " code { "_" } " and " code { "-" }
                }
            }
            button.good { "Open" }
        }
        p { "Each person can have a chat; each has its own memory and its own line of tasks." }
        ul.chats {
            @for chat in known.iter().filter(is_own) {
                li {
                    a href={ "/chat/" (encoded(&chat.chat_id)) } { (words(&chat.chat_id)) }
                    " " small { (number(chat.tasks)) " messages, the last one " (time(chat.last_ms)) }
                }
            }
        }
    }
}

/// One chat.
pub fn talk(talk: &Talk) -> Markup {
    html! {
        div.talk id="part-talk" aria-live="polite" { (said(talk)) }
        form.compose method="post" action={ "/chat/" (encoded(&talk.chat)) } enctype="multipart/form-data"
            data-compose {
            label.unseen for="text" { "Message" }
            textarea id="text" name="text" rows="3" placeholder="Write a message; /help lists commands" {}
            div.row {
                label for="files" { "Files" }
                input id="files" name="files" type="file" multiple;
                button.good { "Send" }
            }
        }
    }
}

/// The part that changes.
pub fn parts(talk: &Talk) -> Vec<(&'static str, Markup)> {
    vec![("part-talk", said(talk))]
}

fn said(talk: &Talk) -> Markup {
    html! {
        @if talk.said.is_empty() { p.empty { "Nothing was said yet." } }
        @for one in &talk.said { (bubble(one)) }
        @for one in &talk.waiting { (approval_card(one, talk.now_ms)) }
        @if let Some(running) = &talk.running { (progress(running, talk)) }
    }
}

fn bubble(said: &Said) -> Markup {
    html! {
        @match said {
            Said::Person { task, files, has_changes } => {
                div.bubble.ours id={ "said-" (task.id) } {
                    @let text = without_files(&task.text);
                    @if !text.is_empty() { p.said { (words(&text)) } }
                    @for one in files {
                        (file(&one.name, one.file_id.as_deref(), one.size_bytes))
                        @if let Some(error) = &one.error { p.notice.bad { (words(error)) } }
                    }
                    (foot(task, *has_changes))
                }
            }
            Said::Agent(reply) => (sent(reply, false)),
        }
    }
}

fn foot(task: &Task, has_changes: bool) -> Markup {
    let back = &format!("/chat/{}", encoded(&task.chat_id));
    html! {
        small.foot {
            (time(task.created_at_ms)) " · " (task_link(&task.id)) " "
            @if task.state != "skipped" { (task_state(task)) }
            @if task.is_open() {
                @let action = format!("/act/tasks/{}/cancel", encoded(&task.id));
                (button(&action, "Stop", "plain", &[("back", back)]))
            }
            @if has_changes {
                (button("/act/undo", "Undo file changes", "plain", &[("id", &task.id), ("back", back)]))
            }
        }
    }
}

fn progress(running: &Running, talk: &Talk) -> Markup {
    let activity = &running.activity;
    html! {
        div.bubble.theirs.growing {
            @if let Some(text) = &talk.growing { (markdown(text)) }
            @if let Some(plan) = &running.plan { (plan_list(plan)) }
            p {
                (lasting(activity.since_ms, talk.now_ms)) " · turn " (activity.turn) " · "
                (number(activity.tokens)) " tokens"
                @if activity.is_stopping { " · being stopped" }
            }
            @if let Some((tool, arguments)) = &activity.call {
                p { code { (words(tool)) " " (beginning(arguments, 120)) } }
            }
        }
    }
}
