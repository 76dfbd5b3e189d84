//! Policies and lines by chance: a yes never widens what runs. The oracle judges each part by the first rule
//! about it, and takes the strictest.

use std::collections::BTreeSet;
use std::thread;

use harness::ToolServer;
use harness::random::Random;
use serde_json::json;

use super::{Met, Whose, builder, grant, run, tree};

/// Harmless commands that leave something.
const COMMANDS: [&str; 4] = ["touch", "mkdir", "mkfifo", "ln"];
const DECISIONS: [&str; 3] = ["allow", "ask", "deny"];
const POLICIES: u64 = 40;
const LINES: usize = 14;

/// A rule about the first word of a command, or about all.
#[derive(Debug, Clone, Copy)]
struct Rule {
    decision: &'static str,
    command: Option<&'static str>,
}

/// A part of a line: a command whose word is known, or one whose word only the shell knows.
#[derive(Debug, Clone, Copy)]
struct Part {
    command: &'static str,
    is_hidden: bool,
}

/// What the oracle expects: whether a yes may last, and which rules it answers.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Runs,
    Asks { rules: BTreeSet<usize>, can_last: bool },
    Denied,
}

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len())]
}

fn rules(random: &mut Random) -> Vec<Rule> {
    let rule = |random: &mut Random| Rule {
        decision: pick(random, &DECISIONS),
        command: (random.below(6) > 0).then(|| pick(random, &COMMANDS)),
    };
    (0..1 + random.below(5)).map(|_| rule(random)).collect()
}

fn written(rules: &[Rule]) -> String {
    let rule = |(number, rule): (usize, &Rule)| {
        let about =
            rule.command.map_or("tools = [\"bash\"]".to_owned(), |word| format!("commands = [{word:?}]"));
        let Rule { decision, .. } = rule;
        format!("[[rule]]\n{about}\ndecision = \"{decision}\"\nreason = \"rule {number}\"\n")
    };
    rules.iter().enumerate().map(rule).collect()
}

/// A line of one to three parts; each leaves something with a name of its own.
fn line(random: &mut Random, count: &mut usize) -> (String, Vec<Part>) {
    let parts: Vec<Part> = (0..1 + random.below(3))
        .map(|_| Part { command: pick(random, &COMMANDS), is_hidden: random.below(4) == 0 })
        .collect();
    let mut text = String::new();
    for part in &parts {
        *count += 1;
        if !text.is_empty() {
            text.push_str(pick(random, &["; ", " && ", " | ", "\n"]));
        }
        let word = part.command;
        let rest = if word == "ln" { format!("-s x n{count}") } else { format!("n{count}") };
        let known = [
            format!("{word} {rest}"),
            format!("({word} {rest})"),
            format!("env A=1 {word} {rest}"),
            format!("sh -c '{word} {rest}'"),
            format!("if true; then '{word}' {rest}; fi"),
        ];
        let hidden = [
            format!("\"`echo {word}`\" {rest}"),
            format!("$(echo {word}) {rest}"),
            format!("echo '{word} {rest}' | sh"),
            format!("eval \"$(echo {word} {rest})\""),
        ];
        let form = random.below(if part.is_hidden { hidden.len() } else { known.len() });
        text.push_str(if part.is_hidden { &hidden[form] } else { &known[form] });
    }
    // What runs beside the parts: `true`, `echo` and the shells, which no rule names.
    (text, parts)
}

/// What decides about a part: the rules, each with whether it is certainly about it.
fn deciding(rules: &[Rule], part: Part) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        match rule.command {
            None => {
                found.push((number, true));
                break;
            }
            Some(_) if part.is_hidden && rule.decision != "allow" => found.push((number, false)),
            Some(word) if !part.is_hidden && word == part.command => {
                found.push((number, true));
                break;
            }
            Some(_) => {}
        }
    }
    found
}

/// Lines have other commands as well (`echo`, `true`, `sh`), about which only rules about all of bash are.
fn expected(rules: &[Rule], parts: &[Part], answered: &BTreeSet<usize>) -> Expected {
    let beside = rules.iter().position(|rule| rule.command.is_none());
    let parts = parts.iter().map(|part| deciding(rules, *part));
    let all: Vec<Vec<(usize, bool)>> = parts.chain(beside.map(|number| vec![(number, true)])).collect();
    let is = |decision: &str, number: usize| rules[number].decision == decision;
    if all.iter().flatten().any(|(number, _)| is("deny", *number)) {
        return Expected::Denied;
    }
    let asking: Vec<(usize, bool)> =
        all.iter().flatten().copied().filter(|(number, _)| is("ask", *number)).collect();
    let can_last = asking.iter().all(|(_, is_certain)| *is_certain);
    let asked: BTreeSet<usize> = asking.iter().map(|(number, _)| *number).collect();
    if can_last && asked.is_subset(answered) {
        Expected::Runs
    } else {
        Expected::Asks { rules: asked, can_last }
    }
}

fn play(seed: u64) {
    let mut random = Random::new(seed);
    let rules = rules(&mut random);
    let server = builder(&written(&rules)).start();
    let (mut answered, mut count) = (BTreeSet::new(), 0);
    for _ in 0..LINES {
        let (line, parts) = line(&mut random, &mut count);
        let what = format!("seed {seed}, {rules:?}, answered {answered:?}: {line}");
        let before = tree(&server);
        let found = run(&server, &line, Whose::Mine);
        match (expected(&rules, &parts, &answered), found) {
            (Expected::Runs, Met::Ran) => continue,
            (Expected::Denied, Met::Denied) => {}
            (Expected::Asks { rules, can_last }, Met::Asked(id)) => {
                assert_eq!(tree(&server), before, "{what}: it did something");
                decide_somehow(&server, &id, can_last, random.below(3), &what);
                if can_last && answered_for_the_chat(&server, &id) {
                    answered.extend(rules);
                }
                continue;
            }
            (expected, found) => panic!("{what}: expected {expected:?}, found {found:?}"),
        }
        assert_eq!(tree(&server), before, "{what}: it did something");
    }
}

/// For the chat, for the call, or not at all. What may not last is not taken for the chat.
fn decide_somehow(server: &ToolServer, id: &str, can_last: bool, choice: usize, what: &str) {
    match choice {
        0 => {
            let answer = grant(server, id, "chat");
            assert_eq!(answer.status == 200, can_last, "{what}: {}", answer.text());
            if can_last {
                return;
            }
        }
        1 => {
            assert_eq!(grant(server, id, "call").status, 200, "{what}");
            return;
        }
        _ => {}
    }
    assert_eq!(server.decide(id, &json!({"decision": "deny"})).status, 200, "{what}");
}

fn answered_for_the_chat(server: &ToolServer, id: &str) -> bool {
    server.approval(id)["decision"]["scope"] == "chat"
}

#[test]
fn a_yes_never_widens_what_runs() {
    thread::scope(|scope| {
        for part in 0..4 {
            scope.spawn(move || (0..POLICIES).filter(|seed| seed % 4 == part).for_each(play));
        }
    });
}
