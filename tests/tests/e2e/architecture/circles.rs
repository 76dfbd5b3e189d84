//! No files of a crate import each other in a circle, neither two nor several.
//!
//! A file may import what its own directory's `mod.rs` defines, and that file what its parts do: they are one
//! module. An item that a `mod.rs` passes on counts as an import of the file that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use harness::project_copy;

use super::{crate_folders, cycle, source_files, without_tests};

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    for folder in crate_folders() {
        let imports = Crate::read(&project_copy::workspace().join(folder).join("src")).imports();
        let is_one_file = imports.len() == 1;
        let has_imports = imports.values().any(|imports| !imports.is_empty());
        assert!(is_one_file || has_imports, "{folder} imports nothing: {imports:?}");
        if let Some(circle) = cycle(&imports) {
            panic!("files of {folder} import each other: {}", circle.join(" -> "));
        }
    }
}

#[test]
fn a_circle_of_files_is_found_through_what_a_module_passes_on() {
    let files = [
        ("", "mod a;\nmod b;\n"),
        ("a", "pub use one::One;\nmod one;\nmod two;\n"),
        ("a::one", "use super::two::{Two, self as other};\npub struct One;\n"),
        ("a::two", "use super::Other;\nfn f() -> crate::b::B { todo!() }\n"),
        ("b", "use crate::{\n    a::{One},\n};\n"),
    ];
    let files = files.map(|(path, code)| (path.to_owned(), code.to_owned()));
    let imports = Crate { files: files.into() }.imports();
    assert_eq!(imports["a::two"], BTreeSet::from(["b".to_owned()]), "its own module does not count");
    assert_eq!(cycle(&imports).unwrap(), ["a::one", "a::two", "b", "a::one"]);
}

/// The code of each file by its module's path, such as `a::b`; that of the root is empty.
struct Crate {
    files: BTreeMap<String, String>,
}

/// A path in a file, from the crate's root.
struct Import {
    path: String,
    is_passed_on: bool,
}

impl Crate {
    fn read(src: &Path) -> Self {
        let mut files = BTreeMap::new();
        for file in source_files().into_iter().filter(|file| file.starts_with(src)) {
            let path = file.strip_prefix(src).expect("it is below").with_extension("");
            let mut parts: Vec<String> =
                path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            let is_further_program = parts.first().is_some_and(|first| first == "bin");
            let last = parts.last().map(String::as_str).unwrap_or_default();
            if is_further_program || last == "tests" {
                continue;
            }
            if ["mod", "lib", "main"].contains(&last) {
                parts.pop();
            }
            let (code, _) = without_tests(&fs::read_to_string(&file).expect("sources are readable"));
            files.entry(parts.join("::")).or_insert_with(String::new).push_str(&code);
        }
        Self { files }
    }

    /// Each file with the others that it imports.
    fn imports(&self) -> BTreeMap<String, BTreeSet<String>> {
        let all: Vec<(&String, Vec<Import>)> =
            self.files.iter().map(|(path, code)| (path, self.paths(path, code))).collect();
        let mut passed_on = BTreeMap::new();
        for (module, imports) in &all {
            for import in imports.iter().filter(|import| import.is_passed_on) {
                let name = import.path.rsplit("::").next().unwrap_or_default();
                passed_on.insert(joined(module, name), import.path.clone());
            }
        }
        let mut imports = BTreeMap::new();
        for (module, paths) in all {
            let is_own =
                |file: &String| file.is_empty() || file == module || module.starts_with(&format!("{file}::"));
            let files = paths.iter().filter(|import| !import.is_passed_on);
            let files = files.filter_map(|import| self.file_of(&import.path, &passed_on));
            imports.insert(module.clone(), files.filter(|file| !is_own(file)).collect());
        }
        imports
    }

    /// The file that defines what a path names.
    fn file_of(&self, path: &str, passed_on: &BTreeMap<String, String>) -> Option<String> {
        let parts: Vec<&str> = path.split("::").collect();
        for length in (0..=parts.len()).rev() {
            let module = parts[..length].join("::");
            if !self.files.contains_key(&module) {
                continue;
            }
            let item = parts.get(length).map(|item| joined(&module, item));
            let original = item.and_then(|item| passed_on.get(&item).filter(|original| **original != item));
            return match original {
                Some(original) => self.file_of(original, passed_on),
                None => Some(module),
            };
        }
        None
    }

    fn paths(&self, module: &str, code: &str) -> Vec<Import> {
        let (mut paths, mut rest) = (Vec::new(), String::new());
        let mut statements = code.lines();
        while let Some(line) = statements.next() {
            let Some((before, begins)) = line.split_once("use ").filter(|(before, _)| {
                let before = before.trim();
                before.is_empty() || before.starts_with("pub")
            }) else {
                rest.push_str(line);
                rest.push('\n');
                continue;
            };
            let mut tree = begins.to_owned();
            while !tree.contains(';') {
                tree.push_str(statements.next().expect("an import ends"));
            }
            let tree = tree.split(';').next().unwrap_or_default().replace(' ', "");
            let is_passed_on = before.contains("pub");
            paths.extend(leaves(&tree).into_iter().map(|path| (path, is_passed_on)));
        }
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
        let words = rest.split(|letter| !is_part(letter));
        let inline = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
        paths.extend(inline.map(|word| (word.trim_end_matches(':').to_owned(), false)));
        let at_root = |(path, is_passed_on): (String, bool)| {
            Some(Import { path: self.at_root(module, &path)?, is_passed_on })
        };
        paths.into_iter().filter_map(at_root).collect()
    }

    /// A path of a module, from the crate's root; none if it leads to another crate.
    fn at_root(&self, module: &str, path: &str) -> Option<String> {
        if let Some(path) = path.strip_prefix("crate::") {
            return Some(path.to_owned());
        }
        let (mut module, mut path) = (module, path);
        if let Some(rest) = path.strip_prefix("self::") {
            return Some(joined(module, rest));
        }
        let is_above = path.starts_with("super::");
        while let Some(rest) = path.strip_prefix("super::") {
            module = module.rsplit_once("::").map_or("", |(above, _)| above);
            path = rest;
        }
        let child = joined(module, path.split("::").next().unwrap_or_default());
        (is_above || self.files.contains_key(&child)).then(|| joined(module, path))
    }
}

fn joined(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// The paths of an import's tree, without spaces: of `a::{b,c::{d}}` these are `a::b` and `a::c::d`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((before, group)) = tree.split_once('{') else {
        return vec![tree.trim_end_matches("::self").to_owned()];
    };
    let group = group.strip_suffix('}').unwrap_or(group);
    let (mut depth, mut items, mut item) = (0, Vec::new(), String::new());
    for letter in group.chars() {
        match letter {
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            _ => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                item.push(letter);
            }
        }
    }
    items.push(item);
    let items = items.iter().filter(|item| !item.is_empty());
    let named = items.map(|item| if item.starts_with("self") { "self" } else { item });
    named.flat_map(|item| leaves(&format!("{before}{item}"))).collect()
}
