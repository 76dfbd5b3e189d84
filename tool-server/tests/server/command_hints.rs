//! The call that a refused command line is answered with shows what the command prints.

use std::fs;
use std::path::Path;

use crate::support::TestServer;
use command_policy::{Policy, PolicySettings};

/// What the data file says of each line, and the line.
fn one_liners() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../command-policy/tests/data/one_liners.txt");
    let list = fs::read_to_string(path).expect("the list of one-liners is part of the repository");
    let lines = list.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(verdict, line)| (verdict.to_owned(), line.to_owned())).collect()
}

/// A refusal says that a tool does the same: the call that it names must show what the command prints.
#[tokio::test]
async fn the_call_that_a_refusal_names_shows_what_the_command_prints() {
    let numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let data: String = (0..30).map(|row| format!("{row},{}\n", numbers[row % 10])).collect();
    let server = TestServer::holding(&[
        ("a.txt", "one\n\ttwo\n"),
        ("README.md", "# Title\n\nText about main.\n"),
        ("data.csv", &data),
        (".hidden", "main\n"),
        ("docs/guide.md", "guide\n"),
        ("src/main.rs", "fn main() {\n    // Main\n}\n"),
        ("src/sub/lib.rs", "pub fn f() {}\n"),
    ])
    .await;
    let settings = PolicySettings { roots: vec![server.root.clone()], ..PolicySettings::default() };
    let policy = Policy::new(settings);
    for (verdict, line) in one_liners() {
        if !matches!(verdict.as_str(), "ls" | "read" | "grep" | "find") {
            continue;
        }
        let hint = policy.judge(&line, None).expect_err("a refusal").hint;
        let call = hint.split_once(" with ").expect("a call").1;
        let arguments = serde_json::Deserializer::from_str(call).into_iter().next().unwrap().unwrap();
        let answer = server.call(&verdict, arguments).await;
        assert!(answer.ok, "{line}: {}", answer.stderr);
        let ran = std::process::Command::new("bash").args(["-c", &line]).current_dir(&server.root).output();
        let printed = String::from_utf8(ran.unwrap().stdout).unwrap();
        let (printed, shown) =
            (comparable(&verdict, &line, &printed), comparable(&verdict, &line, &answer.stdout));
        assert_eq!(printed, shown, "{line}");
    }
}

/// What counts in a tool's answer and in a command's output alike: not the order, nor how paths begin.
fn comparable(tool: &str, line: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.is_empty())
        .map(|shown| {
            let path = shown.strip_prefix("./").unwrap_or(shown);
            match tool {
                "read" => shown.split_once('\t').filter(|(number, _)| number.parse::<u32>().is_ok()),
                // The text after the path and the number, whichever of them there are.
                "grep" => Some(("", path.rsplit(':').next().unwrap_or(path))),
                _ => None,
            }
            .map_or(path, |(_, text)| text)
            .trim_end_matches(['/', '*'])
            .to_owned()
        })
        // The start of a search, and the entries that every directory has.
        .filter(|shown| {
            !["", ".", ".."].contains(&shown.as_str()) && !line.ends_with(&format!("find {shown}"))
        })
        .filter(|shown| !(tool == "find" && line.starts_with(&format!("find {shown} "))))
        .collect();
    if tool != "read" {
        lines.sort();
    }
    lines
}
