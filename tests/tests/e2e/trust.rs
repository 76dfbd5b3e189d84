//! What people read before they trust the project: the threat model names tests that exist, and every crate
//! may come into the programs by `deny.toml`.

use std::collections::BTreeSet;
use std::fs;

use harness::binaries::cargo;
use harness::project_copy::{tracked_files, workspace};
use serde_json::Value;

/// The names of all tests of the workspace.
fn tests() -> BTreeSet<String> {
    let files = tracked_files(&workspace());
    let sources = files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let mut names = BTreeSet::new();
    for text in sources.filter_map(|file| fs::read_to_string(workspace().join(file)).ok()) {
        for after in text.split("#[test]").chain(text.split("#[tokio::test")).skip(1) {
            let name = after.split_once("fn ").map(|(_, rest)| rest.split('(').next().unwrap_or_default());
            names.extend(name.map(str::to_owned));
        }
    }
    names
}

#[test]
fn each_attack_of_the_threat_model_names_a_test_that_exists() {
    let tests = tests();
    assert!(tests.len() > 500, "{} tests were found", tests.len());
    let page = fs::read_to_string(workspace().join("docs/threat-model.md")).unwrap();
    let attacks = page.split("## Attacks").nth(1).unwrap().split("## Known").next().unwrap();
    let is_head = |row: &&str| row.starts_with("| by") || row.starts_with("|--");
    let rows = attacks.lines().filter(|line| line.starts_with('|')).filter(|row| !is_head(row));
    let mut found = 0;
    for row in rows {
        let name = row.rsplit('`').nth(1).unwrap_or_else(|| panic!("no test in: {row}"));
        assert!(tests.contains(name), "there is no test {name}: {row}");
        found += 1;
    }
    assert!(found > 30, "{found} attacks were found");
}

/// Whether an expression of SPDX holds with these licences. `/` is an old form of OR.
fn is_allowed(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = expression.split_whitespace().collect();
    let (holds, rest) = either(&words, allowed);
    assert!(rest.is_empty(), "{expression}");
    holds
}

fn either<'a>(words: &'a [&'a str], allowed: &dyn Fn(&str) -> bool) -> (bool, &'a [&'a str]) {
    let (mut holds, mut rest) = both(words, allowed);
    while let ["OR", after @ ..] = rest {
        let (other, further) = both(after, allowed);
        (holds, rest) = (holds || other, further);
    }
    (holds, rest)
}

fn both<'a>(words: &'a [&'a str], allowed: &dyn Fn(&str) -> bool) -> (bool, &'a [&'a str]) {
    let (mut holds, mut rest) = one(words, allowed);
    while let ["AND", after @ ..] = rest {
        let (other, further) = one(after, allowed);
        (holds, rest) = (holds && other, further);
    }
    (holds, rest)
}

fn one<'a>(words: &'a [&'a str], allowed: &dyn Fn(&str) -> bool) -> (bool, &'a [&'a str]) {
    match words {
        ["(", after @ ..] => {
            let (holds, rest) = either(after, allowed);
            (holds, rest.strip_prefix(&[")"]).expect("the bracket is closed"))
        }
        [name, "WITH", exception, rest @ ..] => (allowed(&format!("{name} WITH {exception}")), rest),
        [name, rest @ ..] => (allowed(name), rest),
        [] => panic!("an expression ends too early"),
    }
}

#[test]
fn an_expression_of_licences_is_read_with_its_brackets() {
    let holds = |expression| is_allowed(expression, &|name| ["MIT", "A WITH B"].contains(&name));
    for expression in ["MIT", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND MIT", "A WITH B OR X", "X AND Y OR MIT"] {
        assert!(holds(expression), "{expression}");
    }
    for expression in ["GPL-3.0", "MIT AND X", "(GPL-3.0 OR MIT) AND X", "A", "X OR Y"] {
        assert!(!holds(expression), "{expression}");
    }
}

fn texts(value: &toml::Value) -> Vec<String> {
    let list = value.as_array().expect("a list");
    list.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
}

#[test]
fn every_crate_comes_from_crates_io_with_a_licence_of_the_list() {
    let rules: toml::Table = fs::read_to_string(workspace().join("deny.toml")).unwrap().parse().unwrap();
    let licences = &rules["licenses"];
    let everywhere = texts(&licences["allow"]);
    let exceptions = licences["exceptions"].as_array().unwrap();
    // Without the machine's own platform, cargo would ask for crates that it never fetched.
    let about = cargo().args(["--version", "--verbose"]).output().unwrap();
    let about = String::from_utf8(about.stdout).unwrap();
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its platform");
    let mut listing = cargo();
    listing.args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", host]);
    let output = listing.current_dir(workspace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{} crates were found", packages.len());
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let mut allowed = everywhere.clone();
        for exception in exceptions.iter().filter(|exception| exception["crate"].as_str() == Some(name)) {
            allowed.extend(texts(&exception["allow"]));
        }
        let licence = package["license"].as_str().unwrap_or_else(|| panic!("{name} names no licence"));
        let holds = is_allowed(licence, &|name| allowed.iter().any(|allowed| allowed == name));
        assert!(holds, "{name} has the licence {licence}, which deny.toml does not allow");
        let source = package["source"].as_str().unwrap_or("this workspace");
        let known = ["this workspace", "registry+https://github.com/rust-lang/crates.io-index"];
        assert!(known.contains(&source), "{name} comes from {source}");
    }
}
