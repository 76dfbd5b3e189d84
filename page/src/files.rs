//! What tasks changed, and what the directories of a chat hold.

use maud::{Markup, html};
use store::changes::ChangedFile;
use store::queries::page::KnownChat;

use crate::frame::button;
use crate::table::{cards, heads, numbers, table};
use crate::time::time;
use crate::words::{bytes, encoded, task_link, words};

/// More of a file is not shown; it can be downloaded.
pub const MOST_SHOWN: usize = 128 * 1024;

/// An entry of a directory.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    pub is_directory: bool,
    pub is_file: bool,
    pub size_bytes: u64,
    pub mtime_ms: i64,
}

/// What a path of a session is.
#[derive(Debug)]
pub enum Content {
    Directory {
        entries: Vec<Entry>,
        has_more: bool,
    },
    Text(String),
    /// No text, or too long a one.
    Other {
        size_bytes: Option<u64>,
    },
    /// Why it cannot be shown, in words.
    Refused(String),
}

/// A place in the directories of a session.
#[derive(Debug)]
pub struct Shown<'a> {
    pub session: &'a str,
    pub path: &'a str,
    pub content: Content,
}

/// The chats, the newest changes, and what was opened.
pub fn files(chats: &[KnownChat], changes: &[(i64, ChangedFile)], shown: Option<&Shown<'_>>) -> Markup {
    html! {
        @if let Some(shown) = shown { (opened(shown)) }
        h2 { "Directories of a chat" }
        @if chats.is_empty() { p.empty { "No chat has written yet." } }
        ul.chats {
            @for chat in chats {
                @let session = format!("{}:{}", chat.channel, chat.chat_id);
                li { a href={ "/files?session=" (encoded(&session)) "&path=." } { (words(&session)) } }
            }
        }
        h2 { "Changed by tasks" }
        @if changes.is_empty() {
            p.empty { "No tool has changed a file that can be undone." }
        } @else {
            (changed(changes))
        }
    }
}

fn changed(changes: &[(i64, ChangedFile)]) -> Markup {
    let rows = html! {
        @for (at, change) in changes {
            tr {
                td { (time(*at)) }
                td.wide {
                    a href={ "/calls/" (encoded(change.call_id.as_str())) } { code { (words(&change.path)) } }
                }
                td { @if let Some(task) = &change.task_id { (task_link(task.as_str())) } }
                td {
                    @if change.holds {
                        (button("/act/undo", "Undo", "plain", &[("id", change.call_id.as_str())]))
                    } @else { "undone" }
                }
            }
        }
    };
    cards("Changed files, newest first", &["When", "File", "Task", "Do"], &rows)
}

fn opened(shown: &Shown<'_>) -> Markup {
    let Shown { session, path, content } = shown;
    let address = |path: &str| format!("/files?session={}&path={}", encoded(session), encoded(path));
    let download = format!("/files/raw?session={}&path={}", encoded(session), encoded(path));
    html! {
        section.card aria-labelledby="opened" {
            h2 id="opened" { code { (words(path)) } }
            p {
                "Session " (words(session))
                @if let Some((parent, _)) = path.rsplit_once('/') { " · " a href=(address(parent)) { "Up" } }
            }
            @match content {
                Content::Directory { entries, has_more } => {
                    (listing(entries, path, &address))
                    @if *has_more { p.empty { "There are more entries than these." } }
                }
                Content::Text(text) => {
                    p { a href=(download) download { "Download" } }
                    pre tabindex="0" { (words(text)) }
                }
                Content::Other { size_bytes } => p {
                    "Not shown: it is no text, or longer than "
                    (bytes(u64::try_from(MOST_SHOWN).unwrap_or(0))) ". "
                    a href=(download) download { "Download" }
                    @if let Some(size) = size_bytes { " (" (bytes(*size)) ")" }
                },
                Content::Refused(why) => p.notice.bad { (words(why)) },
            }
        }
    }
}

fn listing(entries: &[Entry], path: &str, address: &dyn Fn(&str) -> String) -> Markup {
    let below = |name: &str| {
        if path == "." { name.to_owned() } else { format!("{}/{name}", path.trim_end_matches('/')) }
    };
    let columns = html! { (heads(&["Name"])) (numbers(&["Size"])) (heads(&["Changed"])) };
    let rows = html! {
        @for entry in entries {
            tr {
                th scope="row" {
                    @if entry.is_directory || entry.is_file {
                        a href=(address(&below(&entry.name))) {
                            (words(&entry.name)) @if entry.is_directory { "/" }
                        }
                    } @else { (words(&entry.name)) }
                }
                td.number { @if !entry.is_directory { (bytes(entry.size_bytes)) } }
                td { (time(entry.mtime_ms)) }
            }
        }
    };
    html! {
        @if entries.is_empty() { p.empty { "The directory is empty." } }
        @else { (table("Entries", &columns, &rows)) }
    }
}
