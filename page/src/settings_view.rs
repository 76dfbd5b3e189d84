//! The settings that hold, and where each comes from.

use maud::{Markup, html};

use crate::formatted::markdown;
use crate::table::cards;
use crate::words::words;

/// A setting that holds.
#[derive(Debug)]
pub struct Held {
    pub name: String,
    pub value: String,
    /// Where it comes from, in words.
    pub from: String,
    /// What it is, as Markdown of one line.
    pub meaning: String,
}

pub fn settings(held: &[Held], version: &str) -> Markup {
    html! {
        p {
            "Autonous " (version) ". Settings are read at the start, some of them again at SIGHUP, and "
            "cannot be changed here; secrets are left out."
        }
        (cards("Settings", &["Variable", "Value", "From", "What it is"], &html! {
            @for one in held {
                tr {
                    th scope="row" { code { (words(&one.name)) } }
                    td { code { (words(&one.value)) } }
                    td { (words(&one.from)) }
                    td.wide { (markdown(&one.meaning)) }
                }
            }
        }))
    }
}
