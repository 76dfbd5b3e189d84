//! The table of policies: the strictest rule over all parts of a line wins, and a yes answers only the rule
//! that asked.

use std::fs;

use harness::ToolServer;
use serde_json::json;

use super::{Met, Whose, builder, failed, grant, run, tree};

const TABLE: &str = include_str!("policies.txt");

struct Row<'t> {
    name: &'t str,
    rules: String,
    steps: Vec<(&'t str, &'t str)>,
}

fn rows() -> Vec<Row<'static>> {
    let texts = TABLE.split("\n\npolicy: ").skip(1);
    texts.map(row).collect()
}

fn row(text: &'static str) -> Row<'static> {
    let mut lines = text.lines();
    let mut row = Row { name: lines.next().unwrap(), rules: String::new(), steps: Vec::new() };
    for line in lines.filter(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some((kind, step)) if !kind.contains('{') => row.steps.push((kind, step)),
            _ => row.rules.push_str(&rule(line)),
        }
    }
    row
}

/// `ask touch`, or `ask {tools = ["bash"], …}`.
fn rule(text: &str) -> String {
    let (decision, about) = text.split_once(' ').unwrap();
    let conditions = match about.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').unwrap().replace("], ", "]\n"),
        None => format!("commands = [{about:?}]"),
    };
    format!("[[rule]]\n{conditions}\ndecision = \"{decision}\"\nreason = {text:?}\n")
}

fn check(row: &Row<'_>) {
    let server = builder(&row.rules).start();
    fs::create_dir_all(server.root().join("d/e")).unwrap();
    fs::write(server.root().join("s.sh"), "true\n").unwrap();
    for (kind, line) in &row.steps {
        let before = tree(&server);
        let (whose, kind) = match kind.strip_prefix("else ") {
            Some(kind) => (Whose::Another, kind),
            None => (Whose::Mine, *kind),
        };
        let found = run(&server, line, whose);
        let what = format!("{}: {kind}: {line}", row.name);
        match (kind, &found) {
            ("runs", Met::Ran) | ("denied", Met::Denied) => {}
            ("asks", Met::Asked(id)) => assert!(can_last(&server, id), "{what}"),
            ("once", Met::Asked(id)) => {
                assert!(!can_last(&server, id), "{what}");
                for scope in ["task", "chat"] {
                    let answer = grant(&server, id, scope);
                    assert!(answer.status == 400 && answer.text().contains("this call"), "{what}");
                }
            }
            ("yes call" | "yes task" | "yes chat", Met::Asked(id)) => {
                let answer = grant(&server, id, &kind[4..]);
                assert_eq!(answer.status, 200, "{what}: {}", answer.text());
                assert_eq!(run(&server, line, whose), Met::Ran, "{what}: after the yes");
                continue;
            }
            ("no", Met::Asked(id)) => {
                assert_eq!(server.decide(id, &json!({"decision": "deny"})).status, 200, "{what}");
            }
            _ => panic!("{what}: {found:?}"),
        }
        assert!(kind == "runs" || tree(&server) == before, "{what}: it did something");
    }
}

/// Whether a yes may be given for more than the call.
fn can_last(server: &ToolServer, id: &str) -> bool {
    server.approval(id)["covers"].is_string()
}

#[test]
fn the_strictest_rule_wins_and_a_yes_answers_only_the_rule_that_asked() {
    let rows = rows();
    assert!(rows.len() >= 60, "{}", rows.len());
    let failed = failed(&rows, |row| {
        let caught = std::panic::catch_unwind(|| check(row)).err()?;
        Some(caught.downcast_ref::<String>().cloned().unwrap_or_default())
    });
    assert!(failed.is_empty(), "{} of {} policies:\n{}", failed.len(), rows.len(), failed.join("\n"));
}
