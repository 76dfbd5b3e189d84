//! What the model is asked about items: who is meant, which one, and whether it is there already.

use protocol::ToolError;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::Call;
use toolkit::contacts::Contacts;

use super::list::Item;
use super::reference::{is_valid, references, without_references};
use crate::model::ReplySchema;
use crate::tools::link::TaskLink;
use crate::tools::question::Question;

const REFERENCES: &str = include_str!("../../../prompts/todo_references.md");
const MATCH: &str = include_str!("../../../prompts/todo_match.md");
const DEDUP: &str = include_str!("../../../prompts/todo_dedup.md");

/// The most items, and the most contacts, that the model reads: the first.
const MOST: usize = 200;

/// A text with references, and who has none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) text: String,
    pub(super) unresolved: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct WrittenReferences {
    content: String,
    #[serde(default)]
    unresolved: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Matches {
    matches: Vec<usize>,
}

/// Which items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    /// That the person says is done.
    Meant,
    /// That says the same as a new one.
    Duplicate,
}

/// Puts references to contacts into a text.
pub(super) fn resolve(
    link: &TaskLink,
    call: &Call,
    text: &str,
    people: &[String],
    contacts: &Contacts,
) -> Result<Resolved, ToolError> {
    let known = contacts.known.iter().take(MOST).map(|contact| {
        json!({
            "name": contact.nickname,
            "username": contact.tg_username,
            "about": contact.persona_brief,
            "references": reachable(contact),
        })
    });
    let told = json!({"text": text, "people": people, "contacts": known.collect::<Vec<_>>()});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let question = Question {
        purpose: super::NAME,
        model: None,
        system: REFERENCES,
        text: told.to_string(),
        schema: schema("reference_resolve", &json!({"content": {"type": "string"}, "unresolved": texts})),
    };
    question.ask(link, call, |written| accepted(written, text, contacts))
}

/// References of the forms of the contract.
fn reachable(contact: &toolkit::contacts::Contact) -> Vec<String> {
    contact.references().into_iter().filter(|reference| is_valid(reference)).collect()
}

pub(super) fn is_reachable(contacts: &Contacts, reference: &str) -> bool {
    contacts.known.iter().any(|contact| contact.references().iter().any(|known| known == reference))
}

fn accepted(written: WrittenReferences, text: &str, contacts: &Contacts) -> Result<Resolved, String> {
    let plain = |text: &str| without_references(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let resolved = written.content.split_whitespace().collect::<Vec<_>>().join(" ");
    if plain(&resolved) != plain(text) {
        return Err("`content` has other words than the text".to_owned());
    }
    for reference in references(&resolved) {
        if !is_valid(reference) || !is_reachable(contacts, reference) {
            return Err(format!("({reference}) is no reference of a contact"));
        }
    }
    Ok(Resolved { text: resolved, unresolved: written.unresolved })
}

/// The items that are sought, by their places among `items`.
pub(super) fn find(
    link: &TaskLink,
    call: &Call,
    sought: Sought,
    text: &str,
    items: &[(usize, Item)],
) -> Result<Vec<usize>, ToolError> {
    let items = &items[..items.len().min(MOST)];
    let numbered =
        items.iter().enumerate().map(|(at, (_, item))| json!({"number": at + 1, "text": item.text}));
    let (name, system, key) = match sought {
        Sought::Meant => ("semantic_match", MATCH, "done"),
        Sought::Duplicate => ("semantic_dedup", DEDUP, "new"),
    };
    let numbers = json!({"type": "array", "items": {"type": "integer"}});
    let question = Question {
        purpose: super::NAME,
        model: None,
        system,
        text: json!({key: text, "open": numbered.collect::<Vec<_>>()}).to_string(),
        schema: schema(name, &json!({"matches": numbers})),
    };
    question.ask(link, call, |Matches { mut matches }| {
        matches.sort_unstable();
        matches.dedup();
        match matches.iter().find(|number| **number == 0 || **number > items.len()) {
            Some(number) => Err(format!("there is no item {number}")),
            None => Ok(matches.into_iter().map(|number| number - 1).collect()),
        }
    })
}

fn schema(name: &'static str, properties: &Value) -> ReplySchema {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|names| names.keys()).collect();
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    ReplySchema { name, schema }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_may_only_add_references_of_contacts() {
        let block = "## Anna\n```yaml\ncontact_id: tg:@anna\ntg_username: anna\ntg_private_chat_id: 7\n```\n";
        let contacts = Contacts::parse(block);
        let check = |content: &str| {
            let written = WrittenReferences { content: content.to_owned(), unresolved: Vec::new() };
            accepted(written, "Call Anna  today", &contacts).map(|resolved| resolved.text)
        };
        assert_eq!(check("Call Anna (tg:7) today"), Ok("Call Anna (tg:7) today".to_owned()));
        assert_eq!(check("Call Anna today"), Ok("Call Anna today".to_owned()));
        for (content, part) in [
            ("Call Anna (tg:7) tomorrow", "other words"),
            ("Call Anna (tg:8) today", "(tg:8) is no reference"),
            ("Call Anna () today", "() is no reference"),
        ] {
            assert!(check(content).unwrap_err().contains(part), "{content}");
        }
    }
}
