//! What people read and press when a call is asked about.

use serde_json::{Value, json};

use super::*;

/// An approval that waits, with these fields in place of others.
pub(crate) fn approval(arguments: Value, fields: Value) -> Approval {
    let mut approval = json!({
        "id": "0197a2a0-0000-7000-8000-000000000001", "state": "pending", "tool": "bash", "risk": "high",
        "arguments": arguments, "preview": "git *push*", "reason": "It sends data out.",
        "covers": "calls of `bash` with commands that begin with `git push` (policy.toml, line 1)",
        "rules": [{
            "rule": "policy.toml, line 1", "digest": "", "about": "", "can_last": true,
            "conditions": [{"kind": "commands", "any_of": ["git push"]}],
        }],
        "session": "telegram:7", "task_id": "0197a2a0-0000-7000-8000-000000000002", "created_at_ms": 1,
        "rule": "policy.toml, line 1", "token": "caller", "digest": "", "expires_at_ms": 2,
    });
    approval.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(approval).unwrap()
}

fn labels(buttons: &[Vec<Button>]) -> Vec<Vec<&str>> {
    buttons.iter().map(|row| row.iter().map(|button| &*button.label).collect()).collect()
}

fn elsewhere() -> SessionId {
    SessionId::default_session()
}

fn asked_elsewhere(arguments: Value, fields: Value) -> Vec<Content> {
    question(&approval(arguments, fields), &elsewhere(), Language::English)
}

#[test]
fn who_asks_is_said_in_other_chats_alone_and_a_reason_is_a_sentence() {
    let asked = approval(json!({}), json!({"reason": "it sends"}));
    assert!(head(&asked, None, Language::English).contains("Asked for by telegram:7."));
    assert!(head(&asked, Some(&elsewhere()), Language::English).contains("Asked for by telegram:7."));
    let own = head(&asked, Some(&asked.session), Language::English);
    assert!(own.starts_with("May I call bash (risk high)?\nIt sends.\n“Once” is"), "{own}");
}

#[test]
fn a_default_rule_has_its_reason_in_the_catalogue() {
    let rules = include_str!("../../../../tool-server/src/call_rules/defaults.toml");
    let reasons = rules.lines().filter_map(|line| line.strip_prefix("reason = \"")?.strip_suffix('"'));
    let known = DEFAULT_REASONS.map(|text| text.to(Language::English));
    assert_eq!(reasons.collect::<Vec<_>>(), known);
}

#[test]
fn a_question_of_default_rules_is_in_the_language_of_the_chat() {
    let rule = |rule: &str, conditions: Value| {
        let about = "calls of `bash`";
        json!({"rule": rule, "digest": "", "about": about, "can_last": true, "conditions": conditions})
    };
    let arguments = json!([{"kind": "arguments", "any_of": ["allow_control_files=true"]}]);
    let commands = json!([{"kind": "commands", "any_of": ["git push", "make"]}]);
    let asked = approval(
        json!({}),
        json!({
            "reason": "it may leave files that other programs execute; mine",
            "rules": [rule("default rule 4", arguments), rule("policy.toml, line 1", commands)],
            "hosts": ["example.org"],
        }),
    );
    let own = Some(&asked.session);
    assert_eq!(
        head(&asked, own, Language::German),
        "Darf ich bash aufrufen (Risiko hoch)?\nEs können Dateien bleiben, die andere Programme \
         ausführen; mine.\n„Einmal“ gilt für diesen Aufruf. Nach „Diese Aufgabe“ oder „Dieser Chat“ \
         laufen dort ohne Frage: Aufrufe von `bash` mit `allow_control_files=true` (Standardregel 4), \
         und Aufrufe von `bash` mit Befehlen, die mit `git push`, `make` beginnen (policy.toml, line 1), \
         nur bei example.org."
    );
    for language in Language::ALL.into_iter().filter(|language| *language != Language::English) {
        let said = head(&asked, own, language);
        assert!(!said.contains("calls of") && !said.contains("other programs"), "{said}");
    }
}

#[test]
fn names_between_backticks_are_code_and_a_single_one_stays() {
    let text = with_code("calls of `write` here", "{}");
    assert_eq!(text.text, "calls of write here\n{}");
    let code = Entity { offset: 9, length: 5, style: Style::Code };
    let pre = Entity { offset: 20, length: 2, style: Style::Pre { language: None } };
    assert_eq!(text.entities, [code, pre]);
    assert_eq!(with_code("one ` alone", "x").text, "one ` alone\nx");
}

#[test]
fn a_question_has_the_whole_call_and_its_buttons_say_which_one() {
    let asked = asked_elsewhere(json!({"cmd": "git push\u{202e}"}), json!({}));
    let [Content::Question { text, buttons }] = asked.as_slice() else { panic!("{asked:?}") };
    for part in [
        "May I call bash (risk high)?",
        "It sends data out.",
        "git push",
        "git *push*",
        "After “This task” or “This chat”, these run there without a question: calls of bash with \
         commands that begin with git push (policy.toml, line 1).",
    ] {
        assert!(text.text.contains(part), "{part}: {text:?}");
    }
    assert!(!text.text.contains('\u{202e}'), "{text:?}");
    assert_eq!(labels(buttons), [vec!["Once", "This task"], vec!["This chat", "Deny"]]);
    let id = "0197a2a0-0000-7000-8000-000000000001";
    let chosen: Vec<_> = buttons.iter().flatten().map(|button| pressed(&button.data).unwrap()).collect();
    assert_eq!(chosen, CHOICES.map(|(choice, _)| (choice, id)));
    assert!(buttons.iter().flatten().all(|button| button.data.len() <= 64));
    assert_eq!(pressed("ask:x:y"), None);

    let alone = asked_elsewhere(json!({}), json!({"task_id": null}));
    let [Content::Question { text, buttons }] = alone.as_slice() else { panic!("{alone:?}") };
    assert_eq!(buttons.concat().len(), 3, "without a task, none can be chosen");
    assert!(!text.text.contains("This task"), "{text:?}");

    let single = asked_elsewhere(json!({}), json!({"covers": null}));
    let [Content::Question { text, buttons }] = single.as_slice() else { panic!("{single:?}") };
    assert_eq!(labels(buttons), [["Once", "Deny"]]);
    assert!(text.text.contains("for this call alone"), "{text:?}");
}

#[test]
fn a_long_call_comes_as_a_file_before_the_buttons() {
    let asked = asked_elsewhere(json!({"cmd": "echo 😀".repeat(3000)}), json!({}));
    let [Content::Document(file), Content::Question { text, .. }] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    let FileBody::Bytes(bytes) = &file.body else { panic!("{file:?}") };
    let whole = std::str::from_utf8(bytes).unwrap();
    assert_eq!(whole.matches("echo 😀").count(), 3000);
    assert!(text.text.contains("only the beginning") && units(&text.text) <= 4096, "{text:?}");
}

#[test]
fn an_outcome_says_what_was_decided_by_whom() {
    let decided = |mut decision: Value, state: &str| {
        if let Some(decision) = decision.as_object_mut() {
            decision.entry("decided_at_ms").or_insert_with(|| 1.into());
        }
        let decided = approval(json!({"cmd": "x"}), json!({"decision": decision, "state": state}));
        outcome(&decided, Language::English)
    };
    let granted = json!({"decision": "grant", "scope": "task", "by": "Ada"});
    let told = decided(granted, "granted");
    assert!(
        told.starts_with("Allowed for this task by Ada. These now run there without a question"),
        "{told}"
    );
    assert!(
        told.contains("until it ends: calls of `bash` with commands that begin with `git push`"),
        "{told}"
    );
    assert!(told.contains(").\n\nbash {\"cmd\""), "{told}");
    let once = json!({"decision": "grant", "scope": "call", "by": "Ada"});
    assert!(decided(once, "granted").starts_with("Allowed once by Ada.\n\nbash {\"cmd\""));
    let (at, hours) = (1_000, 2 * 3_600_000 + 60_000);
    let chat = json!({"decision": "grant", "scope": "chat", "decided_at_ms": at, "until_ms": at + hours});
    assert!(decided(chat, "granted").contains("without a question, for 2 h 1 min: calls of"));
    let denied = json!({"decision": "deny", "scope": "call", "by": "Ada", "reason": "no"});
    assert!(decided(denied, "denied").starts_with("Denied by Ada: no.\n\nbash"));
    assert!(decided(Value::Null, "expired").starts_with("Nobody decided in time"));
}
