//! Compares the documents with the code: the error table, variables, paths and links. The pages of docs/ stay
//! short, in one order.
//!
//! `make docs` regenerates the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use harness::project_copy::workspace;
use protocol::ErrorCode;

/// The crates that read settings.
const CONFIGURED: [&str; 8] =
    ["settings", "models", "fetcher", "toolkit", "tool-server", "agent-worker", "telegram", "supervisor"];

/// Variables that the programs set for each other.
const INTERNAL: [&str; 1] = ["AUTONOUS_SECRETS_FD"];

/// Pages whose bytes the code gives, without links to their neighbours.
const GENERATED: [&str; 2] = ["command-policy.md", "errors.md"];

/// Pages in which people look things up.
const LOOKED_UP: [&str; 2] = ["reference.md", "errors.md"];

/// The most words of any other page.
const MAX_WORDS: usize = 2500;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks that the code gives this text of a page; with `UPDATE_DOCS=1`, writes it.
pub(crate) fn assert_generated(page: &str, text: &str) {
    let path = workspace().join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).expect("the page can be written");
    }
    assert!(read(&path) == text, "{page} is out of date: run `make docs`");
}

/// All files below a directory.
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("the directory is readable").flatten() {
            let path = entry.path();
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    files
}

fn documents() -> Vec<PathBuf> {
    let top = "README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md Dockerfile compose.yaml";
    let mut documents = files_below(&workspace().join("docs"));
    documents.retain(|path| path.extension().is_none_or(|kind| kind != "png"));
    documents.extend(top.split(' ').map(|name| workspace().join(name)));
    documents
}

/// The texts in backticks in a document, outside code blocks.
fn quoted(document: &str) -> Vec<&str> {
    let prose = document.split("```").step_by(2);
    prose.flat_map(|text| text.split('`').skip(1).step_by(2)).collect()
}

/// What the links of a document name.
fn targets(document: &str) -> impl Iterator<Item = &str> {
    document.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// The pages of docs/ with their texts, by name, without the index.
fn pages() -> BTreeMap<String, String> {
    let docs = workspace().join("docs");
    let entries = fs::read_dir(&docs).expect("docs/ is readable").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let pages = names.filter(|name| name.ends_with(".md") && name != "README.md");
    pages.map(|name| (name.clone(), read(&docs.join(name)))).collect()
}

/// The anchors of a page's headings, by GitHub's rule.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut open_fence = 0;
    for line in page.lines() {
        let fence = line.trim_start().chars().take_while(|letter| *letter == '`').count();
        if fence >= 3 && fence >= open_fence {
            open_fence = if open_fence == 0 { fence } else { 0 };
        } else if open_fence == 0 && line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
            anchors.insert(heading.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect());
        }
    }
    anchors
}

/// All names of variables in a source file, without its tests.
fn variables_in(text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let ends = text.split("AUTONOUS_").skip(1);
    let names = ends.map(|end| end.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap_or(""));
    names
        .filter(|name| !name.is_empty())
        .map(|name| format!("AUTONOUS_{}", name.trim_end_matches('_')))
        .collect()
}

fn error_table() -> String {
    let mut table = "# Errors\n\n\
        Every way in which a call can fail, as it stands in `meta.error.code` of the envelope.\n\
        This file is generated from `protocol/src/error.rs` by `make docs`.\n\n\
        | code | class | HTTP | meaning | what to do |\n|---|---|---|---|---|\n"
        .to_owned();
    for code in ErrorCode::ALL {
        let class = serde_json::to_value(code.class()).expect("a class is a word");
        let class = class.as_str().unwrap_or_default();
        let (status, meaning, hint) = (code.http_status(), code.meaning().trim(), code.hint());
        let _ = writeln!(table, "| `{code}` | {class} | {status} | {meaning} | {hint} |");
    }
    table
}

#[test]
fn the_error_table_is_the_one_that_the_code_gives() {
    assert_generated("docs/errors.md", &error_table());
}

/// The constants of the rows of the table of settings.
fn rows(table: &str) -> Vec<&str> {
    let rows = table.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(": "));
    let rows = rows.filter(|(_, rest)| rest.starts_with("Setting<") || rest.starts_with("Optional<"));
    rows.map(|(constant, _)| constant).collect()
}

#[test]
fn every_setting_is_read_and_no_text_names_another_one() {
    let path = workspace().join("settings/src/table.rs");
    let table = read(&path);
    let (rows, listed) = (rows(&table), variables_in(&table));
    assert!(rows.len() > 80, "the rows are found: {rows:?}");
    let sources = CONFIGURED.iter().flat_map(|name| files_below(&workspace().join(name).join("src")));
    let mut words = BTreeSet::new();
    let mut named = BTreeSet::new();
    for file in sources.filter(|file| *file != path && !file.ends_with("tests.rs")) {
        let text = read(&file);
        words.extend(text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_owned));
        named.extend(variables_in(&text).into_iter().map(|name| (name, file.clone())));
    }
    let unread: Vec<_> = rows.iter().filter(|row| !words.contains(**row)).collect();
    assert!(unread.is_empty(), "no program reads {unread:?}");
    for document in documents() {
        named.extend(variables_in(&read(&document)).into_iter().map(|name| (name, document.clone())));
    }
    let is_prefix = |name: &str| listed.iter().any(|known| known.starts_with(&format!("{name}_")));
    let invented = named.iter().filter(|(name, _)| {
        let variable = variable_of(name, &listed);
        !listed.contains(&variable) && !is_prefix(&variable) && !INTERNAL.contains(&variable.as_str())
    });
    let invented: Vec<_> = invented.collect();
    assert!(invented.is_empty(), "these are no settings: {invented:#?}");
}

/// The variable of which this one names the file.
fn variable_of(name: &str, listed: &BTreeSet<String>) -> String {
    let secret = name.strip_suffix("_FILE").filter(|_| !listed.contains(name));
    secret.unwrap_or(name).to_owned()
}

#[test]
fn every_path_that_the_map_or_a_recipe_names_exists() {
    // In a recipe, NAME stands for what the reader adds.
    let is_path = |text: &&str| {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c));
        plain && text.contains('/') && !text.starts_with(['/', '.']) && !text.contains("NAME")
    };
    for (name, more_than) in [("ARCHITECTURE.md", 40), ("CONTRIBUTING.md", 20)] {
        let document = read(&workspace().join(name));
        let paths: Vec<&str> = quoted(&document).into_iter().filter(is_path).collect();
        assert!(paths.len() > more_than, "{name} names places of the tree: {paths:?}");
        let missing: Vec<&&str> = paths.iter().filter(|path| !workspace().join(path).exists()).collect();
        assert!(missing.is_empty(), "{name} names paths that do not exist: {missing:?}");
    }
}

#[test]
fn every_crate_is_on_the_map() {
    let map = read(&workspace().join("ARCHITECTURE.md"));
    let manifest = read(&workspace().join("Cargo.toml"));
    let members = manifest.split("members = [").nth(1).and_then(|rest| rest.split(']').next());
    let members: Vec<&str> =
        members.expect("the workspace has members").split('"').skip(1).step_by(2).collect();
    assert!(members.len() >= 8, "{members:?}");
    for member in members {
        assert!(quoted(&map).contains(&format!("{member}/").as_str()), "ARCHITECTURE.md lacks `{member}/`");
    }
}

#[test]
fn every_link_to_a_file_of_this_project_leads_there() {
    let mut links = 0;
    for document in documents() {
        let text = read(&document);
        for target in targets(&text) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            links += 1;
            let path = document.parent().expect("a document lies in a directory").join(file);
            assert!(path.exists(), "{} links to {target}", document.display());
        }
    }
    assert!(links > 5, "the documents link to each other: {links}");
}

#[test]
fn every_link_to_a_heading_leads_to_one() {
    let mut links = 0;
    for document in documents() {
        let text = read(&document);
        for target in targets(&text).filter(|target| !target.contains("://")) {
            let Some((file, anchor)) = target.split_once('#') else { continue };
            let path = match file {
                "" => document.clone(),
                _ => document.parent().expect("a document lies in a directory").join(file),
            };
            if path.extension().is_some_and(|kind| kind == "md") {
                links += 1;
                let found = anchors(&read(&path)).contains(anchor);
                assert!(found, "{} links to {target}", document.display());
            }
        }
    }
    assert!(links > 100, "the documents link to headings: {links}");
}

#[test]
fn a_page_is_short_unless_people_look_things_up_in_it() {
    for (name, text) in pages() {
        let words = text.split_whitespace().count();
        let may_be_long = LOOKED_UP.contains(&name.as_str());
        assert!(words <= MAX_WORDS || may_be_long, "docs/{name} has {words} words; split it");
    }
}

#[test]
fn the_index_lists_each_page_once_in_the_order_of_their_links() {
    let (pages, index) = (pages(), read(&workspace().join("docs/README.md")));
    let order: Vec<&str> = targets(&index).filter(|target| pages.contains_key(*target)).collect();
    let listed: BTreeSet<&str> = order.iter().copied().collect();
    let missing: Vec<_> = pages.keys().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/README.md does not list {missing:?}");
    assert_eq!(order.len(), listed.len(), "docs/README.md lists a page twice: {order:?}");
    let link = |name: &str| {
        let title = pages[name].lines().next().and_then(|line| line.strip_prefix("# "));
        format!("[{}]({name})", title.unwrap_or_else(|| panic!("docs/{name} begins with its title")))
    };
    for (place, &name) in order.iter().enumerate() {
        let line = format!("\n- {}: ", link(name));
        assert!(index.contains(&line), "docs/README.md has no line for docs/{name}");
        if GENERATED.contains(&name) {
            continue;
        }
        let before = place.checked_sub(1).map(|place| format!("Previous: {} · ", link(order[place])));
        let after = order.get(place + 1).map(|next| format!("Next: {} · ", link(next)));
        let end =
            format!("{}{}[All pages](README.md)", before.unwrap_or_default(), after.unwrap_or_default());
        assert_eq!(pages[name].lines().last(), Some(end.as_str()), "the last line of docs/{name}");
    }
}

#[test]
fn how_to_add_a_tool_takes_ten_lines_at_most() {
    let page = read(&workspace().join("docs/adding-a-tool.md"));
    let lines = page.lines().filter(|line| !line.is_empty()).count();
    assert!(lines <= 10, "{lines} lines");
}

#[test]
fn every_recipe_for_a_client_is_the_file_that_is_run() {
    let runners =
        ["clients.py", "recipes.py"].map(|file| read(&workspace().join("tests/clients").join(file)));
    let files = files_below(&workspace().join("tests/clients/recipes"));
    let mut expected = read(&workspace().join("docs/clients.md"));
    for file in &files {
        let name = file.file_name().and_then(|name| name.to_str()).expect("a recipe has a plain name");
        assert!(runners.iter().any(|runner| runner.contains(&format!("{name}\""))), "nothing runs {name}");
        let [before, block] = expected.split(&format!("<!-- {name} -->\n")).collect::<Vec<_>>()[..] else {
            panic!("docs/clients.md shows {name} once, below a comment with its name");
        };
        let (fence, rest) = block.split_once('\n').expect("a block follows");
        let (_, after) = rest.split_once("```\n").expect("the block ends");
        expected = format!("{before}<!-- {name} -->\n{fence}\n{}```\n{after}", read(file));
    }
    assert_generated("docs/clients.md", &expected);
    let fences = expected.matches("\n```").count();
    assert_eq!(fences, 2 * files.len(), "each block of docs/clients.md is a recipe");
}
