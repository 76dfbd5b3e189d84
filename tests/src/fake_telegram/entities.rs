//! What Telegram accepts as a formatted text (<https://core.telegram.org/bots/api#formatting-options>).
//!
//! Where the real server repairs, this one refuses: what a person sees must be what the bot meant.

use serde_json::Value;

const MAX_TEXT_UNITS: usize = 4096;
const MAX_ENTITIES: usize = 100;

const SIMPLE: [&str; 5] = ["bold", "italic", "underline", "strikethrough", "spoiler"];
const QUOTES: [&str; 2] = ["blockquote", "expandable_blockquote"];
const OTHERS: [&str; 3] = ["code", "pre", "text_link"];

struct Entity<'a> {
    kind: &'a str,
    start: usize,
    end: usize,
}

/// Why Telegram would refuse this text with these entities.
pub fn check(text: &str, entities: &Value) -> Result<(), String> {
    let units: Vec<u16> = text.encode_utf16().collect();
    if text.trim().is_empty() {
        return Err("Bad Request: message text is empty".to_owned());
    }
    if units.len() > MAX_TEXT_UNITS {
        return Err("Bad Request: message is too long".to_owned());
    }
    let none = Vec::new();
    let entities = entities.as_array().unwrap_or(&none);
    if entities.len() > MAX_ENTITIES {
        return refused(&format!("{} entities", entities.len()));
    }
    let entities = entities.iter().map(|entity| read(entity, &units)).collect::<Result<Vec<_>, _>>()?;
    for (number, one) in entities.iter().enumerate() {
        for other in &entities[number + 1..] {
            check_pair(one, other)?;
        }
    }
    Ok(())
}

fn read<'a>(entity: &'a Value, units: &[u16]) -> Result<Entity<'a>, String> {
    let number = |name: &str| entity[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let (Some(kind), Some(start), Some(length)) =
        (entity["type"].as_str(), number("offset"), number("length"))
    else {
        return refused(&format!("malformed entity {entity}"));
    };
    let end = start + length;
    if length == 0 || end > units.len() {
        return refused(&format!("{entity} ends after the end of the text at {}", units.len()));
    }
    let is_half = |at: usize| units.get(at).is_some_and(|unit| (0xdc00..=0xdfff).contains(unit));
    if is_half(start) || is_half(end) {
        return refused(&format!("{entity} begins or ends in the middle of a UTF-16 symbol"));
    }
    let is_blank = |at: usize| matches!(units[at], 0x20 | 0x0a);
    let may_begin_blank = matches!(kind, "pre" | "code") || QUOTES.contains(&kind);
    if (start..end).all(is_blank) || is_blank(end - 1) || (is_blank(start) && !may_begin_blank) {
        return refused(&format!("{entity} has blanks at its ends"));
    }
    let fields: Vec<&str> = entity.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let is_known = SIMPLE.iter().chain(&QUOTES).chain(&OTHERS).any(|known| *known == kind);
    let may_have = |field: &str| match field {
        "type" | "offset" | "length" => true,
        "url" => kind == "text_link",
        "language" => kind == "pre" && entity["language"].as_str().is_some_and(|name| !name.is_empty()),
        _ => false,
    };
    if !is_known || !fields.iter().all(|field| may_have(field)) {
        return refused(&format!("unsupported entity {entity}"));
    }
    let url = entity["url"].as_str().unwrap_or_default();
    let has_host = ["http://", "https://"].iter().any(|scheme| {
        url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
    });
    if kind == "text_link" && (!has_host || url.contains(char::is_whitespace)) {
        return refused(&format!("{entity} has an invalid URL"));
    }
    Ok(Entity { kind, start, end })
}

fn check_pair(one: &Entity<'_>, other: &Entity<'_>) -> Result<(), String> {
    if one.end <= other.start || other.end <= one.start {
        return Ok(());
    }
    let contains =
        |outer: &Entity<'_>, inner: &Entity<'_>| outer.start <= inner.start && inner.end <= outer.end;
    let is_simple = |entity: &Entity<'_>| SIMPLE.contains(&entity.kind);
    let is_code = |entity: &Entity<'_>| matches!(entity.kind, "code" | "pre");
    let is_quote = |entity: &Entity<'_>| QUOTES.contains(&entity.kind);
    let is_other = |entity: &Entity<'_>| OTHERS.contains(&entity.kind);
    let problem = if !contains(one, other) && !contains(other, one) {
        "overlap"
    } else if one.kind == other.kind || (is_quote(one) && is_quote(other)) {
        "are nested in their own kind"
    } else if (is_code(one) && is_simple(other)) || (is_simple(one) && is_code(other)) {
        "mix code and a style"
    } else if is_other(one) && is_other(other) {
        "cannot contain each other"
    } else {
        return Ok(());
    };
    refused(&format!("{} at {} and {} at {} {problem}", one.kind, one.start, other.kind, other.start))
}

fn refused<T>(why: &str) -> Result<T, String> {
    Err(format!("Bad Request: can't parse entities: {why}"))
}
