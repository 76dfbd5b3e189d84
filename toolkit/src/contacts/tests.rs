//! Reading files of contacts, and changing one line of them.

use super::*;

const FILE: &str = "---\nupdated_at: 2026-11-22T09:00:00Z\n---\n# Contacts\n\nWho to ask.\n\n\
## Anna Müller\n\n```yaml\ncontact_id: \"tg:@anna\"\nnickname: Anna\nkind: human\nchannel: telegram\n\
tg_username: '@anna'\ntg_private_chat_id: \"12\"   # hers\ntg_group_chat_ids: [-77, \"-100\"]\n\
persona_brief: >\n  Likes\n  short texts.\ntopic_preferences:\n  - trains\n  - \"tea: green\"\n\
cooldown_until: 2026-11-22T10:00:00Z # after a failure\nlast_interaction_at: ~\nmood: {is: good}\n```\n\n\
Anna's sister is in Rome.\n\n## Robot\n~~~yml\ncontact_id: maep:robot\nkind: agent\n~~~\n\
<!--\n## Template\n```yaml\ncontact_id: template\n```\n-->\n## Nobody\n\nno block\n";

fn parsed(block: &str) -> Result<Contact, Misunderstood> {
    let contacts = Contacts::parse(&format!("# C\n\n## X\n\n```yaml\n{block}\n```\n"));
    match contacts.misunderstood.into_iter().next() {
        Some(bad) => Err(bad),
        None => Ok(contacts.known.into_iter().next().expect("there is a block")),
    }
}

#[test]
fn a_file_is_read_with_its_comments_and_front_matter() {
    let contacts = Contacts::parse(FILE);
    assert_eq!(contacts.misunderstood, []);
    let [anna, robot] = contacts.known.as_slice() else { panic!("{contacts:?}") };
    let expected = Contact {
        contact_id: "tg:@anna".to_owned(),
        name: "Anna Müller".to_owned(),
        nickname: "Anna".to_owned(),
        kind: Kind::Human,
        channel: Some("telegram".to_owned()),
        tg_username: Some("anna".to_owned()),
        tg_private_chat_id: Some(12),
        tg_group_chat_ids: vec![-77, -100],
        page_chat: None,
        persona_brief: Some("Likes short texts.".to_owned()),
        topic_preferences: vec!["trains".to_owned(), "tea: green".to_owned()],
        cooldown_until: Some("2026-11-22T10:00:00Z".to_owned()),
        last_interaction_at: None,
    };
    assert_eq!(*anna, expected);
    assert_eq!(anna.references(), ["tg:@anna", "tg:12", "tg:-77", "tg:-100"]);
    assert_eq!((robot.nickname.as_str(), robot.kind), ("Robot", Kind::Agent));
    assert_eq!(contacts.find("tg:@anna"), Ok(Some(anna)));
    assert_eq!(contacts.find("template"), Ok(None), "a comment is no contact");
    for empty in ["", "# Contacts\n", "---\n---\n", "\u{0}", "## A\n```yaml"] {
        assert_eq!(Contacts::parse(empty).known, [], "{empty:?}");
    }
}

#[test]
fn a_block_that_is_not_understood_is_named_with_its_line() {
    for (block, line, what) in [
        ("nickname: A", 5, "`contact_id` is missing"),
        ("contact_id: a\nkind: cat", 7, "`kind` must be human or agent"),
        ("contact_id: a\ntg_private_chat_id: -5", 7, "above 0"),
        ("contact_id: a\ntg_private_chat_id: x", 7, "above 0"),
        ("contact_id: a\n\ntg_group_chat_ids: [5]", 8, "below 0"),
        ("contact_id: [a]", 6, "`contact_id` must be one value"),
        ("contact_id: a\ntg_username: {a: b}", 7, "`tg_username` must be one value"),
        ("contact_id: a\ntg_group_chat_ids: [[1]]", 7, "must be a list"),
        ("contact_id: a\ncontact_id: b", 7, "`contact_id` is there twice"),
        ("contact_id: &x a\nnickname: *x", 7, "aliases"),
        ("contact_id: a\n  b: : c", 7, "no valid YAML"),
        ("- contact_id: a", 6, "no fields"),
        ("just words", 6, "no fields"),
        ("", 6, "no fields"),
    ] {
        let bad = parsed(block).expect_err(block);
        assert!(bad.what.contains(what), "{block:?}: {bad:?}");
        assert!(bad.line.abs_diff(line) <= 1, "{block:?}: {bad:?}");
    }
    let twice = "## A\n```yaml\ncontact_id: a\n```\n## B\n```yaml\ncontact_id: a\n```\n";
    assert!(Contacts::parse(twice).find("a").unwrap_err().what.contains("used twice"));
    let broken = "## A\n```yaml\ncontact_id: \"a\"\nkind: cat\n```\n";
    assert!(Contacts::parse(broken).find("a").unwrap_err().what.contains("kind"));
    let long = format!("contact_id: a\nnickname: {}", "x".repeat(MAX_BLOCK_BYTES));
    assert!(parsed(&long).unwrap_err().what.contains("more than"));
    let deep = format!("contact_id: a\nmood: {}", "[".repeat(8000));
    assert!(parsed(&deep).is_err(), "and no overflow");
}

#[test]
fn another_cooldown_changes_its_line_alone() {
    let later = "2026-11-22T12:30:00Z";
    let changed = with_cooldown(FILE, "tg:@anna", Some(later)).unwrap().unwrap();
    assert_eq!(changed, FILE.replace("2026-11-22T10:00:00Z", later));
    let cleared = with_cooldown(FILE, "tg:@anna", None).unwrap().unwrap();
    assert_eq!(cleared, FILE.replace("2026-11-22T10:00:00Z", "null"));
    assert_eq!(with_cooldown(&cleared, "tg:@anna", None), Ok(None));
    assert_eq!(with_cooldown(&cleared, "tg:@anna", Some(later)).unwrap().unwrap(), changed);
    let robot = with_cooldown(FILE, "maep:robot", Some(later)).unwrap().unwrap();
    assert_eq!(robot, FILE.replace("kind: agent\n", &format!("kind: agent\ncooldown_until: {later}\n")));
    assert_eq!(with_cooldown(FILE, "gone", None), Err(EditError::Unknown));

    let write = |block: &str| {
        let file = format!("## X\r\n```yaml\r\n{block}```\r\nend");
        let changed = with_cooldown(&file, "a", Some("NOW"))?.expect("it changes");
        let block =
            changed.strip_prefix("## X\r\n```yaml\r\n").and_then(|text| text.strip_suffix("```\r\nend"));
        Ok::<_, EditError>(block.expect("the rest stays").to_owned())
    };
    for (block, expected) in [
        ("contact_id: a\r\n", "contact_id: a\r\ncooldown_until: NOW\r\n"),
        ("contact_id: a\r\ncooldown_until:\r\n", "contact_id: a\r\ncooldown_until: NOW\r\n"),
        ("cooldown_until:   # none\r\ncontact_id: a\r\n", "cooldown_until: NOW # none\r\ncontact_id: a\r\n"),
        ("cooldown_until: ~\r\ncontact_id: a\r\n", "cooldown_until: NOW\r\ncontact_id: a\r\n"),
        ("cooldown_until: 'ä x' # ä\r\ncontact_id: a\r\n", "cooldown_until: NOW # ä\r\ncontact_id: a\r\n"),
        ("cooldown_until: \"\"\r\ncontact_id: a\r\n", "cooldown_until: NOW\r\ncontact_id: a\r\n"),
        ("cooldown_until: 'it''s' # y\r\ncontact_id: a\r\n", "cooldown_until: NOW # y\r\ncontact_id: a\r\n"),
        ("cooldown_until: \"a\\\"b\" #c\r\ncontact_id: a\r\n", "cooldown_until: NOW #c\r\ncontact_id: a\r\n"),
        ("\"cooldown_until\" : x\r\ncontact_id: a\r\n", "\"cooldown_until\" : NOW\r\ncontact_id: a\r\n"),
    ] {
        assert_eq!(write(block).unwrap(), expected, "{block}");
    }
    for block in ["{contact_id: a}\r\n", "contact_id: a\r\ncooldown_until: >\r\n  x\r\n"] {
        assert!(matches!(write(block), Err(EditError::Unusual(_))), "{block}");
    }
}

#[test]
fn the_contact_of_the_documents_is_understood() {
    let document = include_str!("../../../docs/telegram-tools.md");
    let shown = document.split("````").nth(1).expect("the page shows a contact");
    let contacts = Contacts::parse(shown);
    assert_eq!(contacts.misunderstood, []);
    assert!(contacts.find("tg:@anna").unwrap().is_some(), "{contacts:?}");
}
