//! What a case wants to be true after its call, besides the outcome.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use super::Case;
use super::placeholders::Placeholders;
use crate::Answer;

/// What was seen of a call.
#[derive(Debug)]
pub struct Observed<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// How long it took.
    pub took: Duration,
    /// What the files said before, by path.
    pub before: HashMap<String, Vec<u8>>,
}

/// The contents of the files that must stay as they are, read before the call.
pub fn remember(case: &Case, placeholders: &Placeholders) -> Result<HashMap<String, Vec<u8>>, String> {
    let Some(paths) = case.check.get("file_unchanged") else { return Ok(HashMap::new()) };
    texts(paths)?
        .into_iter()
        .map(|path| {
            let path = placeholders.fill(path)?;
            let content = std::fs::read(&path).map_err(|error| format!("{path} before: {error}"))?;
            Ok((path, content))
        })
        .collect()
}

/// Judges all checks of a case.
pub fn all(case: &Case, placeholders: &Placeholders, observed: &Observed<'_>) -> Result<(), String> {
    for (name, wanted) in &case.check {
        let wanted = placeholders.fill_value(wanted)?;
        one(case, name, &wanted, observed).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn one(case: &Case, name: &str, wanted: &Value, observed: &Observed<'_>) -> Result<(), String> {
    let body = observed.answer.text();
    match name {
        // The trial asks the server for honest work after every case.
        "server_alive" => Ok(()),
        "status_in" => holds(contains_number(wanted, observed.answer.status.into()), &body),
        "body_contains" => every(wanted, |text| body.contains(text), &body),
        "body_not_contains" => every(wanted, |text| !body.contains(text), &body),
        "body_not_contains_secret" => holds(!body.contains(&case.secret()), "the secret is in the answer"),
        "valid_json" => holds(serde_json::from_slice::<Value>(&observed.answer.body).is_ok(), &body),
        "body_max_bytes" => holds(at_most(observed.answer.body.len(), wanted), "the answer is too long"),
        "max_ms" => {
            let took = usize::try_from(observed.took.as_millis()).unwrap_or(usize::MAX);
            holds(at_most(took, wanted), &format!("it took {took} ms"))
        }
        "file_unchanged" => every(wanted, |path| is_as_before(path, observed), "a file was changed"),
        "file_absent" => every(wanted, |path| !std::path::Path::new(path).exists(), "a file is there"),
        "file_exists" => every(wanted, |path| std::path::Path::new(path).exists(), "a file is missing"),
        _ => Err("the runner does not know this check".to_owned()),
    }
}

fn is_as_before(path: &str, observed: &Observed<'_>) -> bool {
    std::fs::read(path).ok().as_ref() == observed.before.get(path)
}

fn holds(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

fn every(wanted: &Value, is_right: impl Fn(&str) -> bool, why: &str) -> Result<(), String> {
    for text in texts(wanted)? {
        holds(is_right(text), &format!("{text}: {why}"))?;
    }
    Ok(())
}

fn texts(value: &Value) -> Result<Vec<&str>, String> {
    let items = value.as_array().ok_or("a list is needed")?;
    items.iter().map(|item| item.as_str().ok_or_else(|| "a text is needed".to_owned())).collect()
}

fn contains_number(list: &Value, number: u64) -> bool {
    list.as_array().is_some_and(|items| items.iter().any(|item| item.as_u64() == Some(number)))
}

fn at_most(number: usize, wanted: &Value) -> bool {
    wanted.as_u64().and_then(|most| usize::try_from(most).ok()).is_some_and(|most| number <= most)
}
