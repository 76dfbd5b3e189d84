//! What surrounds each view: the head, the places to go, and what the last action led to.

use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::words::words;

/// A view's place in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Now,
    Talk,
    Tasks,
    Approvals,
    Files,
    Tools,
    Usage,
    Schedules,
    Settings,
}

const PLACES: [(Place, &str, &str); 9] = [
    (Place::Now, "/", "Now"),
    (Place::Talk, "/chat", "Talk"),
    (Place::Tasks, "/tasks", "Tasks"),
    (Place::Approvals, "/approvals", "Approvals"),
    (Place::Files, "/files", "Files"),
    (Place::Tools, "/tools", "Tools"),
    (Place::Usage, "/usage", "Usage"),
    (Place::Schedules, "/schedules", "Schedules"),
    (Place::Settings, "/settings", "Settings"),
];

/// What stands around a view.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub title: &'a str,
    pub place: Place,
    /// The address of its events, where it changes while somebody looks.
    pub live: Option<&'a str>,
    /// What the last action led to, by [`Notice`].
    pub notice: Option<Notice>,
}

/// What an action led to. Only these words can come from an address, so that a link cannot say anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    Cancelling,
    Requeued,
    Decided,
    Undone,
    Resent,
    ScheduleEnded,
}

const NOTICES: [(Notice, &str, &str); 6] = [
    (Notice::Cancelling, "cancelling", "The task is being cancelled."),
    (Notice::Requeued, "requeued", "The task is in the queue again."),
    (Notice::Decided, "decided", "Your decision is on its way to the call."),
    (Notice::Undone, "undone", "The file changes are undone."),
    (Notice::Resent, "resent", "The message is in the queue again."),
    (Notice::ScheduleEnded, "schedule-ended", "The schedule is cancelled."),
];

impl Notice {
    /// The notice of this name in an address.
    pub fn named(name: &str) -> Option<Self> {
        NOTICES.iter().find(|(_, known, _)| *known == name).map(|(notice, ..)| *notice)
    }

    /// Its name in an address.
    pub fn name(self) -> &'static str {
        NOTICES.iter().find(|(notice, ..)| *notice == self).map_or("", |(_, name, _)| name)
    }

    fn text(self) -> &'static str {
        NOTICES.iter().find(|(notice, ..)| *notice == self).map_or("", |(.., text)| text)
    }
}

/// A whole document.
pub fn document(frame: &Frame<'_>, body: &Markup) -> Markup {
    let Frame { title, place, live, notice } = *frame;
    let main = html! {
        header {
            a.skip href="#main" { "Skip to content" }
            a.brand href="/" { "Autonous" }
            nav aria-label="Places" {
                @for (one, address, name) in PLACES {
                    a href=(address) aria-current=[(one == place).then_some("page")] { (name) }
                }
            }
            form method="post" action="/session/end" { button.plain { "Sign out" } }
        }
        main id="main" data-live=[live] {
            h1 { (words(title)) }
            @if let Some(notice) = notice {
                p.notice role="status" { (notice.text()) }
            }
            (body)
        }
        @if live.is_some() {
            p.lost id="lost" role="status" hidden { "The connection is lost; trying again …" }
        }
    };
    html(title, &main)
}

/// A document without navigation, for those who are not signed in.
pub(crate) fn bare(title: &str, body: &Markup) -> Markup {
    html(title, &html! { main.bare id="main" { h1 { (title) } (body) } })
}

/// A page that says why something was refused, and what to do.
pub fn refusal(title: &str, message: &str, hint: &str) -> Markup {
    let body = html! {
        p { (words(message)) }
        p { (words(hint)) }
        p { a href="/" { "To the overview" } }
    };
    bare(title, &body)
}

fn html(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (words(title)) " · Autonous" }
                link rel="icon" href=(assets::ICON.address());
                link rel="stylesheet" href=(assets::STYLE.address());
                script src=(assets::SCRIPT.address()) defer {}
            }
            body { (body) }
        }
    }
}

/// A form with one button, which does something.
pub(crate) fn button(action: &str, label: &str, class: &str, fields: &[(&str, &str)]) -> Markup {
    html! {
        form.inline method="post" action=(action) {
            @for (name, value) in fields {
                input type="hidden" name=(name) value=(value);
            }
            button class=(class) { (label) }
        }
    }
}
