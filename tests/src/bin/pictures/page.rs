//! A chat as a page of HTML that is as wide as a phone.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::chat::{Bubble, Scene};

const STYLE: &str = include_str!("page.css");

/// The page of a chat with this title.
pub(crate) fn of(scene: &Scene<'_>, title: &str) -> String {
    let bubbles = scene.bubbles();
    let below = match (scene.is_typing(), scene.chat.id < 0) {
        (true, _) => "typing…",
        (false, true) => "group",
        (false, false) => "bot",
    };
    let shown: String = bubbles.iter().map(|bubble| shown(bubble, &bubbles, scene.chat.id < 0)).collect();
    format!(
        "<!doctype html><html><meta charset=utf-8><title>{title}</title><style>{STYLE}</style><body>\
         <header><b>{title}</b><small>{below}</small></header><main>{shown}</main></body></html>\n"
    )
}

fn shown(bubble: &Bubble, all: &[Bubble], is_group: bool) -> String {
    let mut html = String::new();
    let side = if bubble.by.is_some() { "own" } else { "bot" };
    let state = if bubble.is_draft { " draft" } else { "" };
    let _ = write!(html, "<div class='row {side}'><div class='bubble{state}'>");
    if is_group {
        let _ = write!(html, "<div class=name>{}</div>", bubble.by.unwrap_or("Autonous"));
    }
    let quoted = bubble.answers.and_then(|number| all.iter().find(|other| other.number == number));
    if let Some(quoted) = quoted {
        let name = quoted.by.unwrap_or("Autonous");
        let _ = write!(html, "<div class=quote><b>{name}</b><br>{}</div>", escaped(&quoted.text));
    }
    let files: String = bubble.files.iter().map(|(name, bytes)| file(name, bytes)).collect();
    if bubble.files.len() > 1 {
        let _ = write!(html, "<div class=album>{files}</div>");
    } else {
        html.push_str(&files);
    }
    html.push_str(&formatted(&bubble.text, &bubble.entities));
    if !bubble.reaction.is_empty() {
        let _ = write!(html, "<div class=reaction>{}</div>", bubble.reaction);
    }
    html.push_str("</div>");
    for row in &bubble.buttons {
        let buttons: String = row.iter().map(|text| format!("<span>{}</span>", escaped(text))).collect();
        let _ = write!(html, "<div class=buttons>{buttons}</div>");
    }
    html.push_str("</div>");
    html
}

fn file(name: &str, bytes: &[u8]) -> String {
    if bytes.starts_with(b"\x89PNG") {
        return format!("<img src='data:image/png;base64,{}'>", STANDARD.encode(bytes));
    }
    let size = format!("{:.1} kB", f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX)) / 1000.0);
    format!("<div class=file><i></i><b>{}</b><br><small>{size}</small></div>", escaped(name))
}

/// A text with its entities as tags.
fn formatted(text: &str, entities: &Value) -> String {
    let mut html = String::new();
    let entities: Vec<&Value> = entities.as_array().into_iter().flatten().collect();
    let bounds = |entity: &Value| {
        let start = entity["offset"].as_u64().unwrap_or_default();
        (start, start + entity["length"].as_u64().unwrap_or_default())
    };
    let mut at = 0;
    for character in text.chars() {
        // Outer entities open first, and inner ones close first.
        let mut opening: Vec<&&Value> = entities.iter().filter(|one| bounds(one).0 == at).collect();
        opening.sort_by_key(|one| std::cmp::Reverse(bounds(one).1));
        opening.iter().for_each(|one| html.push_str(&tags(one).0));
        html.push_str(&escaped(&character.to_string()));
        at += u64::try_from(character.len_utf16()).unwrap_or_default();
        let mut closing: Vec<&&Value> = entities.iter().filter(|one| bounds(one).1 == at).collect();
        closing.sort_by_key(|one| std::cmp::Reverse(bounds(one).0));
        closing.iter().for_each(|one| html.push_str(tags(one).1));
    }
    html
}

fn tags(entity: &Value) -> (String, &'static str) {
    let simple = |open: &str, close| (open.to_owned(), close);
    match entity["type"].as_str().unwrap_or_default() {
        "bold" => simple("<b>", "</b>"),
        "italic" => simple("<i>", "</i>"),
        "underline" => simple("<u>", "</u>"),
        "strikethrough" => simple("<s>", "</s>"),
        "spoiler" => simple("<span class=spoiler>", "</span>"),
        "code" => simple("<code>", "</code>"),
        "pre" => simple("<pre>", "</pre>"),
        "text_link" => simple("<a>", "</a>"),
        "blockquote" | "expandable_blockquote" => simple("<blockquote>", "</blockquote>"),
        _ => (String::new(), ""),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
