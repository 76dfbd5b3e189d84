//! What ARCHITECTURE.md promises about the source: the imports of crates and modules, and how files begin.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use harness::project_copy;

use crate::docs::files_below;

mod chat_texts;
mod circles;
mod functions;

/// Which crates of this workspace each crate may import; the measurements may import any, and every crate's
/// tests may import the harness.
const ALLOWED: [(&str, &str); 25] = [
    ("protocol", ""),
    ("process", "protocol"),
    ("http-port", "process"),
    ("progress-line", ""),
    ("manual", ""),
    ("redaction", "protocol"),
    ("sandbox", "protocol process"),
    ("settings", "process"),
    ("models", "process settings"),
    ("toolkit", "protocol settings redaction"),
    ("mcp", "protocol toolkit"),
    ("command-policy", "protocol toolkit"),
    ("files", "protocol settings redaction sandbox toolkit"),
    ("cage", "protocol settings files sandbox toolkit"),
    ("fetcher", "protocol process settings"),
    (
        "tool-server",
        "protocol process settings http-port progress-line manual redaction toolkit mcp command-policy \
         files cage sandbox fetcher",
    ),
    ("agent-worker", "protocol process settings models redaction texts toolkit"),
    ("texts", "settings"),
    ("channel", "protocol settings texts"),
    ("telegram", "protocol process settings texts channel http-port"),
    ("store", "protocol settings texts channel"),
    ("page", "protocol redaction settings toolkit channel store"),
    (
        "supervisor",
        "protocol process settings models http-port progress-line redaction toolkit texts channel telegram \
         store page",
    ),
    (
        "command-line",
        "protocol process settings progress-line manual toolkit texts channel telegram store page supervisor",
    ),
    (HARNESS, "protocol store"),
];

const HARNESS: &str = "e2e";

/// How a program reads its environment or its current directory.
const READING: [&str; 5] = ["env::var(", "env::vars(", "env::var_os(", "env::vars_os(", "env::current_dir("];

/// Each crate of the workspace with the crates of the workspace that it imports, tests and build included,
/// but for the harness in its tests.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = harness::binaries::cargo();
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = cargo.output().expect("cargo runs this test, so it is there");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    let packages = metadata["packages"].as_array().expect("cargo lists packages");
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut imports = BTreeMap::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies.filter(|d| d["name"] != HARNESS || d["kind"] != "dev");
        let ours = dependencies.filter_map(|d| d["name"].as_str()).filter(|name| names.contains(name));
        let name = package["name"].as_str().unwrap_or_default().to_owned();
        imports.insert(name, ours.map(str::to_owned).collect());
    }
    imports
}

#[test]
fn crates_import_only_what_their_power_needs() {
    let imports = imports();
    for (name, found) in &imports {
        if name == "bench" {
            continue;
        }
        let allowed = ALLOWED.iter().find(|(known, _)| known == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{name} is new: add what it may import"));
        for import in found.iter().filter(|import| *import != name) {
            assert!(allowed.split(' ').any(|one| one == import), "{name} must not import {import}");
        }
    }
    for (name, _) in ALLOWED {
        assert!(imports.contains_key(name), "{name} is no longer in the workspace");
    }
}

#[test]
fn every_source_file_opens_with_what_it_is() {
    let files = source_files();
    assert!(files.len() > 50, "the workspace has source files: {}", files.len());
    let silent: Vec<&PathBuf> = files
        .iter()
        .filter(|file| !fs::read_to_string(file).is_ok_and(|text| text.starts_with("//! ")))
        .collect();
    assert!(silent.is_empty(), "these files do not open with `//! `: {silent:#?}");
}

/// rustfmt keeps code within its `max_width`, but not strings and comments.
#[test]
fn no_line_is_wider_than_110_columns() {
    let mut wide = Vec::new();
    for file in source_files() {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().enumerate().filter(|(_, line)| line.chars().count() > 110);
        wide.extend(lines.map(|(index, _)| format!("{}:{}", file.display(), index + 1)));
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn nothing_but_main_and_configuration_reads_the_environment() {
    let workspace = project_copy::workspace();
    for file in source_files() {
        let path = file.strip_prefix(&workspace).unwrap().display().to_string();
        let may_read = path.starts_with("process/")
            || path == "settings/src/source.rs"
            || path == "store/src/fixture.rs"
            || path.ends_with("main.rs")
            || path.contains("/config");
        if may_read || !path.contains("/src/") || path.starts_with("tests/") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let read = READING.iter().find(|call| text.contains(*call));
        assert!(read.is_none(), "{path} reads the environment: {read:?}");
    }
}

#[test]
fn modules_do_not_import_each_other_in_a_cycle() {
    let sources =
        crate_folders().map(|folder| format!("{folder}/src")).chain(["sandbox/src/inside".to_owned()]);
    for source in sources {
        let source = project_copy::workspace().join(source);
        let imports = module_imports(&source);
        let is_one_file = fs::read_dir(&source).unwrap().count() == 1;
        let has_imports = imports.values().any(|imports| !imports.is_empty());
        assert!(is_one_file || has_imports, "{} has no modules: {imports:?}", source.display());
        if let Some(cycle) = cycle(&imports) {
            panic!("modules of {} import each other in a cycle: {}", source.display(), cycle.join(" -> "));
        }
    }
}

#[test]
fn an_import_is_read_from_any_path_to_the_root_and_a_cycle_is_found() {
    let text = "use crate::{b::{x, y}, c};\n// crate::no\nfn f() -> crate::d::T { super::super::e::g() }\n\
                #[cfg(test)]\nmod tests {\n    use crate::no;\n}\n#[cfg(test)]\npub(crate) mod proofs;\n";
    let (code, test_modules) = without_tests(text);
    assert_eq!(names_at_root(&code, 2), ["b", "c", "d", "e"]);
    assert_eq!(test_modules, ["proofs"]);
    let graph = |edges: &[(&str, &str)]| {
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in edges {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    };
    assert_eq!(cycle(&graph(&[("a", "b"), ("a", "c"), ("b", "c")])), None);
    let found = cycle(&graph(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")])).unwrap();
    assert_eq!(found, ["b", "c", "d", "b"]);
}

/// Each top-level module of a crate with the others that it imports outside of its tests.
fn module_imports(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = BTreeMap::new();
    let mut test_files = BTreeSet::new();
    for file in source_files().into_iter().filter(|file| file.starts_with(src)) {
        let (code, test_modules) = without_tests(&fs::read_to_string(&file).unwrap());
        let folder = file.parent().expect("a file is in a directory");
        test_files.extend(test_modules.iter().map(|name| folder.join(format!("{name}.rs"))));
        files.insert(file, code);
    }
    let modules: BTreeSet<String> = files.keys().filter_map(|file| module_of(src, file)).collect();
    let reexports = files.get(&src.join("lib.rs")).map(|code| reexports(code, &modules)).unwrap_or_default();
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, code) in files.iter().filter(|(file, _)| !test_files.contains(*file)) {
        let Some(module) = module_of(src, file) else { continue };
        let parts = file.strip_prefix(src).unwrap().components().count();
        let depth = if file.ends_with("mod.rs") { parts - 1 } else { parts };
        let names = names_at_root(code, depth).into_iter();
        let imported = names.map(|name| reexports.get(&name).cloned().unwrap_or(name));
        let others = imported.filter(|name| *name != module && modules.contains(name));
        imports.entry(module.clone()).or_default().extend(others.collect::<Vec<_>>());
    }
    imports
}

/// The top-level module that a file belongs to; none for the roots and for further programs.
fn module_of(src: &Path, file: &Path) -> Option<String> {
    let first = file.strip_prefix(src).ok()?.components().next()?.as_os_str().to_str()?;
    let module = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main", "bin", "mod"].contains(&module)).then(|| module.to_owned())
}

/// Source without comments and without items of tests, and the names of the files that are tests alone.
fn without_tests(text: &str) -> (String, Vec<String>) {
    let (mut code, mut test_modules) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if line.trim() == "#[cfg(test)]" {
            let item = lines.find(|line| !line.trim_start().starts_with("#[")).unwrap_or_default();
            let module = item.strip_suffix(';').and_then(|item| item.split_once("mod "));
            test_modules.extend(module.map(|(_, name)| name.to_owned()));
            if !item.ends_with([';', '}']) {
                let is_last =
                    |rest: &str| rest.starts_with('}') || rest.ends_with(';') && !rest.starts_with(' ');
                lines.find(|line| line.get(indent..).is_some_and(is_last));
            }
        } else if !line.trim_start().starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    (code, test_modules)
}

/// The first names of all paths that begin at the crate's root, in a file so many modules below it.
fn names_at_root(code: &str, depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    for root in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&root) {
            let is_inside =
                code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$'));
            if !is_inside {
                names.extend(first_names(&code[at + root.len()..]));
            }
        }
    }
    names
}

/// The names that an import begins with: one, or those of a group.
fn first_names(tree: &str) -> Vec<String> {
    let name = |tree: &str| {
        tree.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let Some(group) = tree.strip_prefix('{') else { return vec![name(tree)] };
    let (mut depth, mut names, mut begins) = (0, Vec::new(), true);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ if begins && !character.is_whitespace() => {
                names.push(name(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

/// What a crate's root offers under names of its own, with the modules that it comes from.
fn reexports(code: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut reexports = BTreeMap::new();
    for (_, path) in code.split(';').filter_map(|text| text.split_once("use ")) {
        let mut names = path.split(|c: char| !c.is_alphanumeric() && c != '_');
        let Some(module) = names.find(|name| modules.contains(*name)) else { continue };
        reexports
            .extend(names.filter(|name| !name.is_empty()).map(|name| (name.to_owned(), module.to_owned())));
    }
    reexports
}

/// A cycle in a graph, its first module again at its end.
fn cycle(graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit<'a>(
        node: &'a str,
        graph: &'a BTreeMap<String, BTreeSet<String>>,
        path: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> Option<Vec<String>> {
        if let Some(start) = path.iter().position(|seen| *seen == node) {
            return Some(path[start..].iter().chain(&[node]).map(|name| (*name).to_owned()).collect());
        }
        if !done.insert(node) {
            return None;
        }
        path.push(node);
        let found = graph.get(node).into_iter().flatten().find_map(|next| visit(next, graph, path, done));
        path.pop();
        found
    }
    let (mut path, mut done) = (Vec::new(), BTreeSet::new());
    graph.keys().find_map(|node| visit(node, graph, &mut path, &mut done))
}

fn crate_folders() -> impl Iterator<Item = &'static str> {
    ALLOWED.map(|(name, _)| if name == HARNESS { "tests" } else { name }).into_iter().chain(["bench"])
}

/// All Rust files of the workspace, whether under version control yet or not.
fn source_files() -> Vec<PathBuf> {
    let workspace = project_copy::workspace();
    let files = crate_folders().flat_map(|name| files_below(&workspace.join(name)));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}
