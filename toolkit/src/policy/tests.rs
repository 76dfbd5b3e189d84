//! What rules match, as data.

use std::cell::Cell;

use serde_json::json;

use super::*;

const TOOLS: &[&str] = &["bash", "write", "ls"];

fn rule(spec: Value) -> Result<Rule, String> {
    Rule::new(serde_json::from_value(spec).unwrap(), "policy.toml, line 1".to_owned(), TOOLS)
}

fn decision(spec: Value, (tool, risk): (&str, Risk), session: &str, touches: &Touches) -> Option<Decision> {
    let policy = Policy::new(vec![rule(spec).unwrap()]);
    let arguments = json!({"path": "a", "deep": true, "mode": "append"});
    let session = session.parse().unwrap();
    let annotations = if tool == "ls" { Annotations::READS } else { Annotations::ACTS };
    let found = || touches.clone();
    let subject = Subject::new((tool, risk, annotations), &arguments, &session, Caller::Token, &found);
    let verdict = policy.decide(&subject);
    (verdict.rule != "none").then_some(verdict.decision)
}

#[test]
fn each_part_of_a_rule_narrows_it() {
    let check = |spec: Value, matches: bool| {
        let found = decision(spec.clone(), ("write", Risk::High), "telegram:4711", &Touches::default());
        assert_eq!(found.is_some(), matches, "{spec}");
    };
    check(json!({"decision": "deny"}), true);
    check(json!({"decision": "deny", "tools": ["ls", "write"]}), true);
    check(json!({"decision": "deny", "tools": ["ls"]}), false);
    check(json!({"decision": "deny", "risk": ["medium", "high"]}), true);
    check(json!({"decision": "deny", "risk": ["low"]}), false);
    check(json!({"decision": "deny", "annotations": ["destructive"]}), true);
    check(json!({"decision": "deny", "annotations": ["read_only", "open_world"]}), false);
    check(json!({"decision": "deny", "sessions": ["telegram:47*"]}), true);
    check(json!({"decision": "deny", "sessions": ["local:*"]}), false);
    check(json!({"decision": "deny", "channels": ["telegram"]}), true);
    check(json!({"decision": "deny", "channels": ["local", "http"]}), false);
    check(json!({"decision": "deny", "tokens": ["caller"]}), true);
    check(json!({"decision": "deny", "tokens": ["none"]}), false);
    check(json!({"decision": "deny", "arguments": {"deep": true, "mode": ["append", "overwrite"]}}), true);
    check(json!({"decision": "deny", "arguments": {"deep": false}}), false);
    check(json!({"decision": "deny", "arguments": {"absent": true}}), false);
    check(json!({"decision": "deny", "tools": ["write"], "channels": ["http"]}), false);
}

#[test]
fn what_is_special_about_a_call_must_all_be_listed_to_allow_it() {
    let special = |circumstances: &[Circumstance]| Touches {
        circumstances: circumstances.to_vec(),
        ..Touches::default()
    };
    let both = [Circumstance::OtherChat, Circumstance::NewContact];
    for (listed, touched, asked, allowed) in [
        (&["other_chat"][..], &[][..], false, false),
        (&["other_chat"], &both[..1], true, true),
        (&["other_chat"], &both[1..], false, false),
        (&["other_chat"], &both[..], true, false),
        (&["new_contact", "other_chat"], &both[..], true, true),
    ] {
        for (decided, expected) in [("ask", asked), ("deny", asked), ("allow", allowed)] {
            let spec = json!({"decision": decided, "circumstances": listed});
            let found = decision(spec.clone(), ("write", Risk::High), "default", &special(touched));
            assert_eq!(found.is_some(), expected, "{spec}: {touched:?}");
        }
    }
}

#[test]
fn one_part_of_a_call_is_enough_to_ask_and_all_of_it_is_needed_to_allow() {
    let path = |path: &str| TouchedPath { path: format!("/w/{path}").into(), beneath: path.into() };
    let touches = |paths: &[&str], hosts: &[&str]| Touches {
        paths: paths.iter().map(|name| path(name)).collect(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ..Touches::nothing()
    };
    let check = |key: &str, glob: &str, touched: &Touches, asked: bool, allowed: bool| {
        for (decided, expected) in [("ask", asked), ("deny", asked), ("allow", allowed)] {
            let spec = json!({"decision": decided, key: [glob]});
            let found = decision(spec.clone(), ("write", Risk::High), "default", touched);
            assert_eq!(found.is_some(), expected, "{spec} {touched:?}");
        }
    };
    check("paths", "src/**", &touches(&["src/a/b"], &[]), true, true);
    check("paths", "src/*", &touches(&["src/a/b"], &[]), false, false);
    check("paths", "/w/src/**", &touches(&["src/a"], &[]), true, true);
    check("paths", "src/**", &touches(&["src/a", "etc/b"], &[]), true, false);
    check("paths", "**", &touches(&[], &[]), false, false);
    check("hosts", "*.example", &touches(&[], &["a.example"]), true, true);
    check("hosts", "*.example", &touches(&[], &["a.example", "b.test"]), true, false);
}

#[test]
fn commands_are_beginnings_of_words() {
    let words = |line: &str| {
        line.split(' ').map(|word| (word != "?").then(|| word.to_owned())).collect::<Vec<Option<String>>>()
    };
    let line = |commands: &[&str]| CommandLine {
        commands: commands
            .iter()
            .map(|line| SimpleCommand { words: words(line), without_options: None })
            .collect(),
        is_understood: true,
        is_plain: true,
    };
    let check = |line: CommandLine, denied: bool, allowed: bool| {
        let touched = Touches { commands: Some(line), ..Touches::default() };
        for (decided, expected) in [("ask", denied), ("deny", denied), ("allow", allowed)] {
            let spec = json!({"decision": decided, "commands": ["git push", "make"]});
            let found = decision(spec, ("bash", Risk::Medium), "default", &touched);
            assert_eq!(found.is_some(), expected, "{decided}: {touched:?}");
        }
    };
    check(line(&["git push origin"]), true, true);
    check(line(&["git push", "make all"]), true, true);
    check(line(&["git push", "rm x"]), true, false);
    check(line(&["git pushy"]), false, false);
    check(line(&["git", "echo git push"]), false, false);
    check(line(&["git ? origin"]), true, false);
    check(line(&["?"]), true, false);
    check(line(&["ls ?"]), false, false);
    check(CommandLine { is_understood: false, ..line(&["make"]) }, true, false);
    check(CommandLine { is_plain: false, ..line(&["make"]) }, true, false);
    let behind = SimpleCommand { words: words("git -C x push"), without_options: Some(words("git push")) };
    check(CommandLine { commands: vec![behind], ..line(&[]) }, true, false);
}

#[test]
fn the_first_rule_that_matches_decides() {
    let rules = [
        json!({"decision": "ask", "tools": ["ls"]}),
        json!({"decision": "deny", "tools": ["write"], "reason": "no writing"}),
        json!({"decision": "allow"}),
    ];
    let policy = Policy::new(rules.into_iter().map(|spec| rule(spec).unwrap()).collect());
    let (arguments, session) = (json!({}), SessionId::default_session());
    let touches = Touches::default;
    let subject =
        Subject::new(("write", Risk::High, Annotations::ACTS), &arguments, &session, Caller::Token, &touches);
    let verdict = policy.decide(&subject);
    assert_eq!((verdict.decision, verdict.reason.as_str()), (Decision::Deny, "no writing"));
    assert_eq!(verdict.rule, "policy.toml, line 1");
}

#[test]
fn a_rule_that_could_not_be_meant_is_refused_with_what_would_be_right() {
    let check = |spec: Value, expected: &str| {
        let error = rule(spec.clone()).unwrap_err();
        assert!(error.contains(expected), "{spec}: {error}");
    };
    check(json!({"decision": "deny", "tools": ["bsh"]}), "\"bsh\", which does not exist: use bash, write");
    check(json!({"decision": "deny", "tools": []}), "`tools` is empty");
    check(json!({"decision": "deny", "risk": []}), "`risk` is empty");
    check(json!({"decision": "deny", "arguments": {}}), "`arguments` is empty");
    check(json!({"decision": "deny", "channels": ["mail"]}), "use telegram, local, page, http");
    check(json!({"decision": "deny", "tokens": ["mine"]}), "use caller, none");
    check(json!({"decision": "deny", "annotations": ["safe"]}), "use read_only");
    check(json!({"decision": "deny", "paths": ["a["]}), "`paths` has no valid glob");
    check(json!({"decision": "deny", "hosts": []}), "`hosts` is empty");
    check(json!({"decision": "deny", "commands": ["  "]}), "a command without words");
    let unknown = serde_json::from_value::<RuleSpec>(json!({"decision": "deny", "tool": ["ls"]}));
    assert!(unknown.unwrap_err().to_string().contains("unknown field `tool`"));
}

#[test]
fn only_rules_about_paths_commands_hosts_and_circumstances_look_at_what_a_call_touches() {
    let looks = |specs: &[Value], tool: &str| {
        let rules = specs.iter().map(|spec| rule(spec.clone()).unwrap()).collect();
        Policy::new(rules).looks_at_touches(tool)
    };
    let plain = json!({"decision": "deny", "sessions": ["telegram:*"], "arguments": {"deep": true}});
    assert!(!looks(&[], "ls") && !looks(std::slice::from_ref(&plain), "ls"));
    for (key, value) in [
        ("paths", "src/**"),
        ("commands", "git push"),
        ("hosts", "*.example"),
        ("circumstances", "sends_data"),
    ] {
        assert!(looks(&[plain.clone(), json!({"decision": "ask", key: [value]})], "ls"), "{key}");
        let of_bash = json!({"decision": "ask", "tools": ["bash"], key: [value]});
        assert!(looks(&[plain.clone(), of_bash.clone()], "bash") && !looks(&[of_bash], "ls"), "{key}");
    }
}

#[test]
fn each_glob_counts_for_its_own_rule_among_many() {
    let about = [
        json!({"paths": ["a/**", "b/*"]}),
        json!({"hosts": ["a.example"]}),
        json!({"paths": ["c/**"], "sessions": ["telegram:*"]}),
        json!({"sessions": ["local:*", "telegram:1"]}),
        json!({"paths": ["/w/d/**"]}),
        json!({"hosts": ["*.example"]}),
    ];
    let rules = (1..).zip(about).map(|(number, mut spec)| {
        spec["decision"] = json!("deny");
        spec["reason"] = json!(number.to_string());
        rule(spec).unwrap()
    });
    let policy = Policy::new(rules.collect());
    let check = |path: &str, host: &str, session: &str, expected: &str| {
        let (arguments, session) = (json!({}), session.parse().unwrap());
        let found = || Touches {
            paths: vec![TouchedPath { path: format!("/w/{path}").into(), beneath: path.into() }],
            hosts: vec![host.to_owned()],
            ..Touches::default()
        };
        let about = ("write", Risk::High, Annotations::ACTS);
        let verdict = policy.decide(&Subject::new(about, &arguments, &session, Caller::Token, &found));
        let reason = if verdict.rule == "none" { "none" } else { verdict.reason.as_str() };
        assert_eq!(reason, expected, "{path} {host} {session}");
    };
    check("a/b/c", "x", "default", "1");
    check("b/c", "a.example", "default", "1");
    check("b/c/d", "a.example", "default", "2");
    check("c/d", "x", "default", "none");
    check("c/d", "x", "telegram:2", "3");
    check("x", "x", "telegram:1", "4");
    check("x", "x", "telegram:2", "none");
    check("d/x", "b.example", "default", "5");
    check("x", "b.example", "default", "6");
}

/// What several rules say about one call of `bash` in `d`, with the rules that ask; `!` marks one that can be
/// answered for a call alone.
fn verdict(rules: &[Value], line: CommandLine) -> (Decision, Vec<String>) {
    let numbered = rules.iter().enumerate().map(|(number, spec)| {
        Rule::new(serde_json::from_value(spec.clone()).unwrap(), number.to_string(), TOOLS).unwrap()
    });
    let policy = Policy::new(numbered.collect());
    let (arguments, session) = (json!({}), SessionId::default_session());
    let path = TouchedPath { path: "/w/d".into(), beneath: "d".into() };
    let found = || Touches { paths: vec![path.clone()], commands: Some(line.clone()), ..Touches::default() };
    let about = ("bash", Risk::Medium, Annotations::ACTS);
    let verdict = policy.decide(&Subject::new(about, &arguments, &session, Caller::Token, &found));
    let mark = |asks: &AskingRule| format!("{}{}", asks.rule, if asks.can_last { "" } else { "!" });
    (verdict.decision, verdict.asks.iter().map(mark).collect())
}

#[test]
fn each_part_is_judged_by_itself_and_the_strictest_decision_wins() {
    let rule = |decision: &str, key: &str, value: &str| json!({"decision": decision, key: [value]});
    let command = |decision: &str, word: &str| rule(decision, "commands", word);
    let line = |commands: &[&str]| CommandLine {
        commands: commands
            .iter()
            .map(|word| SimpleCommand {
                words: vec![(*word != "?").then(|| (*word).to_owned())],
                without_options: None,
            })
            .collect(),
        is_understood: true,
        is_plain: true,
    };
    let unseen = |commands: &[&str]| CommandLine { is_understood: false, ..line(commands) };
    let check = |rules: &[Value], line: CommandLine, decision: Decision, asks: &[&str]| {
        let asks: Vec<String> = asks.iter().map(|asks| (*asks).to_owned()).collect();
        assert_eq!(verdict(rules, line.clone()), (decision, asks), "{rules:?}: {line:?}");
    };
    use Decision::{Allow, Ask, Deny};
    let rules = [command("ask", "a"), command("deny", "b"), command("ask", "c"), command("allow", "d")];
    check(&rules, line(&["a"]), Ask, &["0"]);
    check(&rules, line(&["a", "b"]), Deny, &[]);
    check(&rules, line(&["c", "d", "a", "a"]), Ask, &["0", "2"]);
    check(&rules, line(&["d", "e"]), Allow, &[]);
    check(&rules, line(&["?"]), Deny, &[]);
    let asking = [command("ask", "a"), command("ask", "c")];
    check(&asking, line(&["?"]), Ask, &["0!", "1!"]);
    check(&asking, unseen(&["a"]), Ask, &["0!", "1!"]);
    check(&asking, line(&["d"]), Allow, &[]);
    // The first about one command decides about it, and so does one about all.
    check(&[command("ask", "a"), command("deny", "a")], line(&["a"]), Ask, &["0"]);
    check(&[rule("ask", "tools", "bash"), command("deny", "b")], unseen(&["b"]), Ask, &["0"]);
    check(&[command("ask", "a"), rule("ask", "tools", "bash")], line(&["a", "b"]), Ask, &["0", "1"]);
    // A rule about the place is not the last word about the command.
    let place = |decision| rule(decision, "paths", "d");
    check(&[place("ask"), command("deny", "b")], line(&["b"]), Deny, &[]);
    check(&[place("ask"), rule("deny", "tools", "bash")], line(&["b"]), Ask, &["0"]);
    check(&[place("allow"), command("deny", "b")], line(&["b"]), Allow, &[]);
    check(&[command("allow", "b"), place("deny")], line(&["b"]), Deny, &[]);
    check(
        &[command("allow", "b"), command("allow", "c"), rule("ask", "tools", "bash")],
        line(&["b", "c"]),
        Allow,
        &[],
    );
}

#[test]
fn the_paths_of_a_call_are_followed_once_and_not_for_what_lies_below_them() {
    let rules = [
        json!({"decision": "deny", "paths": ["never/**"]}),
        json!({"decision": "ask", "paths": ["*.key"]}),
        json!({"decision": "deny", "tools": ["bash"], "commands": ["git push"]}),
    ];
    let policy = Policy::new(rules.map(|spec| rule(spec).unwrap()).into());
    let (arguments, session, followed) = (json!({}), "default".parse().unwrap(), Cell::new(0));
    let touches = || {
        followed.set(followed.get() + 1);
        Touches::nothing()
    };
    let about = ("ls", Risk::Low, Annotations::READS);
    let subject = || Subject::new(about, &arguments, &session, Caller::Token, &touches);
    assert_eq!(policy.decide(&subject()).decision, Decision::Allow);
    assert_eq!(followed.get(), 1);
    assert!(policy.below(&subject()).is_some());
    assert_eq!(followed.get(), 1);
}
