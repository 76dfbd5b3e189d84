//! All that a call printed, or a part of it where it is long.

use maud::{Markup, html};
use store::queries::audit::Call;

use crate::diff::diff_or_text;
use crate::words::{bytes, encoded};

/// A part of an output, as it is shown.
#[derive(Debug)]
pub struct OutputPart {
    pub text: String,
    /// Which one, from 1.
    pub number: u64,
    /// How many there are.
    pub count: u64,
    /// How long the whole output is.
    pub bytes: u64,
}

/// A part of the output of a call, with the way to the others.
pub fn output_page(call: &Call, part: &OutputPart) -> Markup {
    html! {
        p {
            a href={ "/calls/" (encoded(&call.id)) } { "Back to the call" }
            ", " (bytes(part.bytes)) " in all"
        }
        (ways(call, part))
        @if part.text.is_empty() {
            p.empty { "Nothing was printed so far." }
        } @else {
            (diff_or_text(&part.text))
        }
        (ways(call, part))
    }
}

fn ways(call: &Call, part: &OutputPart) -> Markup {
    let address = |number: u64| format!("/calls/{}/output?part={number}", encoded(&call.id));
    html! {
        @if part.count > 1 {
            nav.pages aria-label="Parts of the output" {
                @if part.number > 1 { a href=(address(part.number - 1)) rel="prev" { "Earlier" } }
                span { "Part " (part.number) " of " (part.count) }
                @if part.number < part.count { a href=(address(part.number + 1)) rel="next" { "Later" } }
            }
        }
    }
}
