//! The schedules of the chats, and the people that they can write to.

use maud::{Markup, html};
use store::schedules::Schedule;
use toolkit::contacts::Contacts;

use crate::frame::button;
use crate::table::cards;
use crate::time::time;
use crate::words::words;

/// Schedules, and the file of contacts if it can be read.
pub fn schedules(all: &[Schedule], contacts: &Result<Option<Contacts>, String>) -> Markup {
    html! {
        @if all.is_empty() { p.empty { "Nothing is scheduled." } }
        @else { (table(all)) }
        h2 { "Contacts" }
        @match contacts {
            Err(why) => p.notice.bad { (words(why)) },
            Ok(None) => p.empty { "There is no file of contacts." },
            Ok(Some(contacts)) => (people(contacts)),
        }
    }
}

fn table(all: &[Schedule]) -> Markup {
    let columns = ["Next", "Chat", "Every", "Left", "Text", "Do"];
    let rows = html! {
        @for schedule in all {
            tr {
                td { (time(schedule.next_at_ms)) }
                td { (words(&schedule.chat.address())) }
                td {
                    (words(schedule.every.as_deref().unwrap_or("once")))
                    @if schedule.every.is_some() { " " small { (words(&schedule.timezone)) } }
                }
                td { @if let Some(left) = schedule.times_left { (left) } }
                td.wide { (words(&schedule.text)) }
                td {
                    (button("/act/schedules/cancel", "Cancel", "plain",
                        &[("id", &schedule.id), ("chat", &schedule.chat.address())]))
                }
            }
        }
    };
    cards("Schedules, the next one first", &columns, &rows)
}

fn people(contacts: &Contacts) -> Markup {
    html! {
        @if contacts.known.is_empty() { p.empty { "The file has no contact." } }
        ul {
            @for contact in &contacts.known {
                li {
                    strong { (words(&contact.nickname)) } " " code { (words(&contact.contact_id)) }
                    @if let Some(until) = &contact.cooldown_until { " · gets nothing until " (words(until)) }
                }
            }
        }
        @for bad in &contacts.misunderstood {
            p.notice.bad { "Line " (bad.line) ", " (words(&bad.heading)) ": " (words(&bad.what)) }
        }
    }
}
