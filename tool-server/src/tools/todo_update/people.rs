//! The people that names mean, by the contacts, and their references in a text.

use toolkit::contacts::{Contact, Contacts};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::reference::{is_valid, references, spans, without_references};

/// The warning for a person without a reference.
const WRITE_RAW: &str = "reference_unresolved_write_raw";

/// The text with a reference behind the first mention of each person, and a warning for each without one.
pub(super) fn with_references(text: &str, people: &[String], contacts: &Contacts) -> (String, Vec<String>) {
    let (mut text, mut warnings) = (text.to_owned(), Vec::new());
    for person in people.iter().map(|person| person.trim()).filter(|person| !person.is_empty()) {
        let mut fitting = contacts.known.iter().filter(|contact| is_meant(contact, person));
        let contact = match (fitting.next(), fitting.next()) {
            (Some(contact), None) => Ok(contact),
            (None, _) => Err("is in no contact"),
            (Some(_), Some(_)) => Err("is in several contacts"),
        };
        let reference = |contact: &Contact| contact.references().into_iter().find(|known| is_valid(known));
        match contact
            .and_then(|contact| Ok((contact, reference(contact).ok_or("has no reference in the contacts")?)))
        {
            Ok((contact, reference)) => refer(&mut text, person, contact, &reference),
            Err(why) => warnings.push(format!("{WRITE_RAW}: {person} {why} (missing_reference_id)")),
        }
    }
    (text, warnings)
}

/// Whether a contact has this reference.
pub(super) fn is_reachable(contacts: &Contacts, reference: &str) -> bool {
    contacts.known.iter().any(|contact| contact.references().iter().any(|known| known == reference))
}

/// Whether a person is called by the contact's name, nickname or one of its references.
fn is_meant(contact: &Contact, person: &str) -> bool {
    let known = contact.references();
    let is_known = |given: &str| known.iter().any(|known| folded(known) == folded(given));
    let plain = without_references(person);
    is_known(person)
        || references(person).into_iter().any(is_known)
        || names(contact).any(|name| folded(&name) == folded(&plain))
}

/// What people call a contact in a text.
fn names(contact: &Contact) -> impl Iterator<Item = String> {
    let username = contact.tg_username.iter().map(|name| format!("@{name}"));
    [contact.nickname.clone(), contact.name.clone()].into_iter().chain(username)
}

/// Puts a reference behind the first mention, unless the text refers to the contact already.
fn refer(text: &mut String, person: &str, contact: &Contact, reference: &str) {
    let known = contact.references();
    if references(text).into_iter().any(|given| known.iter().any(|known| known == given)) {
        return;
    }
    let called = [without_references(person)].into_iter().chain(names(contact));
    let end = called.filter(|name| !is_valid(name)).find_map(|name| end_of_mention(text, &name));
    if let Some(end) = end {
        text.insert_str(end, &format!(" ({reference})"));
    }
}

/// Where the first mention of a name ends: whole words, outside references.
fn end_of_mention(text: &str, name: &str) -> Option<usize> {
    let name = folded(name);
    if name.is_empty() {
        return None;
    }
    let (plain, origins) = folded_with_origins(text);
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    plain.match_indices(&name).find_map(|(start, _)| {
        let end = start + name.len();
        let (from, to) = (origins[start], origins[end]);
        let is_whole = !is_word(plain[..start].chars().next_back()) && !is_word(plain[end..].chars().next());
        let is_inside = spans(text).any(|(start, end)| start < to && from < end);
        let rest = text[to..].trim_start();
        let is_referred = spans(rest).next().is_some_and(|(start, _)| start == 0);
        (is_whole && !is_inside && !is_referred).then_some(to)
    })
}

/// A text without letter case and accents.
fn folded(text: &str) -> String {
    folded_with_origins(text.trim()).0
}

/// The same, and where in the text each of its bytes comes from; last the text's end.
fn folded_with_origins(text: &str) -> (String, Vec<usize>) {
    let (mut plain, mut origins) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
    for (at, c) in text.char_indices() {
        let letters =
            std::iter::once(c).nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase);
        plain.extend(letters);
        origins.resize(plain.len(), at);
    }
    origins.push(text.len());
    (plain, origins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contact(name: &str, fields: &str) -> String {
        format!("## {name}\n```yaml\n{fields}\n```\n")
    }

    fn contacts() -> Contacts {
        let anna = "contact_id: tg:@anna\nnickname: Anna\ntg_username: anna\ntg_private_chat_id: 7";
        let blocks = [
            contact("Anna Schmidt", anna),
            contact("José", "contact_id: slack:U1"),
            contact("Max", "contact_id: tg:8"),
            contact("max", "contact_id: tg:9"),
            contact("Mail", "contact_id: mail:a"),
        ];
        Contacts::parse(&blocks.concat())
    }

    fn referred(text: &str, people: &[&str]) -> (String, Vec<String>) {
        let people: Vec<String> = people.iter().map(|person| (*person).to_owned()).collect();
        with_references(text, &people, &contacts())
    }

    #[test]
    fn a_person_whom_one_contact_alone_is_gets_its_reference_behind_the_first_mention() {
        for (text, people, expected) in [
            ("Call Anna, then anna", &["Anna"][..], "Call Anna (tg:@anna), then anna"),
            ("Call ÁNNA today", &["anna"], "Call ÁNNA (tg:@anna) today"),
            ("Call A\u{301}nna\u{301} today", &["Anna"], "Call A\u{301}nna\u{301} (tg:@anna) today"),
            ("Call Anna Schmidt", &["anna schmidt"], "Call Anna Schmidt (tg:@anna)"),
            ("Ask Jose", &["José"], "Ask Jose (slack:U1)"),
            ("Ask Jose and Anna", &["jose", "Anna"], "Ask Jose (slack:U1) and Anna (tg:@anna)"),
            ("Ask Anna", &["tg:@anna"], "Ask Anna (tg:@anna)"),
            ("Ask Anna", &["@anna"], "Ask Anna (tg:@anna)"),
            ("Ask Anna", &["Anna (tg:7)"], "Ask Anna (tg:@anna)"),
            ("Ask Anna (tg:7) and Anna", &["Anna"], "Ask Anna (tg:7) and Anna"),
            ("Ask Annabel and Susanna", &["Anna"], "Ask Annabel and Susanna"),
            ("Ask Anna-Lena", &["Anna"], "Ask Anna (tg:@anna)-Lena"),
            ("Buy milk", &["Anna", " "], "Buy milk"),
        ] {
            assert_eq!(referred(text, people), (expected.to_owned(), Vec::new()), "{people:?}");
        }
    }

    #[test]
    fn who_cannot_be_told_apart_leaves_the_text_as_it_was() {
        for (person, why) in [
            ("Zoe", "is in no contact"),
            ("Ann", "is in no contact"),
            ("Max", "is in several contacts"),
            ("Mail", "has no reference in the contacts"),
        ] {
            let text = format!("Ask {person}");
            let warning = format!("{WRITE_RAW}: {person} {why} (missing_reference_id)");
            assert_eq!(referred(&text, &[person]), (text.clone(), vec![warning]));
        }
    }
}
