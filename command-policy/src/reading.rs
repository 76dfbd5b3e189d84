//! Reading commands for which one of our tools does exactly the same.
//!
//! Only a literal single command gets here. Each function names the tool call that replaces it, with its main
//! arguments, or nothing where an option, a pattern or a path needs more than those.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::arguments::Arguments;
use super::settings::PolicySettings;
use super::single_command::SingleCommand;
use super::word::Word;

/// The most lines that one call of `read` shows.
const MAX_LINES: u64 = 2000;

/// A single command, and where its relative paths start.
pub(super) struct Reading<'a> {
    pub(super) name: &'a str,
    arguments: &'a [Word],
    directory: PathBuf,
    roots: &'a [PathBuf],
}

/// The call to make instead.
pub(super) struct ToolCall {
    pub(super) tool: &'static str,
    arguments: Value,
}

impl ToolCall {
    /// A call with these arguments, without those that are null.
    fn new(tool: &'static str, mut arguments: Value) -> Self {
        arguments.as_object_mut().into_iter().for_each(|keys| keys.retain(|_, value| !value.is_null()));
        Self { tool, arguments }
    }

    pub(super) fn hint(&self) -> String {
        format!("Call `{}` with {}.", self.tool, self.arguments)
    }
}

impl<'a> Reading<'a> {
    /// The command as the file tools would see it; nothing when no root is known.
    pub(super) fn new(
        single: &'a SingleCommand,
        workdir: Option<&str>,
        settings: &'a PolicySettings,
    ) -> Option<Self> {
        let (name, arguments) = single.words.split_first()?;
        let start = settings.roots.first()?.join(workdir.unwrap_or_default());
        let directory = start.join(single.directory.as_ref().map_or("", Word::text));
        Some(Self { name: name.text(), arguments, directory, roots: &settings.roots })
    }

    /// A path as the tools take it: relative to the first root, or absolute in another root.
    fn path(&self, text: &str) -> Option<String> {
        let full = self.directory.join(text);
        // Behind a link, `..` leads elsewhere than the text says.
        let climbs = full.components().any(|component| component == Component::ParentDir);
        let is_in_root = self.roots.iter().any(|root| full.starts_with(root));
        let shown: PathBuf = full.strip_prefix(&self.roots[0]).unwrap_or(&full).components().collect();
        let shown = if shown == Path::new("") { "." } else { shown.to_str()? };
        (!climbs && is_in_root && !text.is_empty()).then(|| shown.to_owned())
    }

    /// The path of the only operand, or of the current directory if there is none.
    fn path_of(&self, operands: &[&Word]) -> Option<String> {
        match operands {
            [] => self.path("."),
            [path] => self.path(path.text()),
            _ => None,
        }
    }
}

/// `ls`, as far as names go. The tool lists directories alone, and a name with an extension is rarely one.
pub(super) fn ls(reading: &Reading<'_>) -> Option<ToolCall> {
    let arguments = Arguments::of(reading.arguments, "");
    let path = reading.path_of(&arguments.operands)?;
    let is_same = arguments.has_only("-1 -F -p -a -A") && Path::new(&path).extension().is_none();
    let hidden = arguments.has("-a -A").then_some(true);
    is_same.then(|| ToolCall::new("ls", json!({"path": path, "include_hidden": hidden})))
}

/// `cat FILE`, which `less FILE` is without a terminal, the first lines of a file or those from one on, and
/// `sed -n 'A,Bp' FILE`.
pub(super) fn read(reading: &Reading<'_>) -> Option<ToolCall> {
    let (file, options) = reading.arguments.split_last()?;
    let options: Vec<&str> = options.iter().map(Word::text).collect();
    let (start, limit) = match (reading.name, options.as_slice()) {
        ("cat" | "less", []) => (None, None),
        ("head", []) => (None, Some(10)),
        // `-n 20`, `-n20` and `-20`.
        ("head", ["-n", count]) => (None, Some(count.parse().ok()?)),
        ("head", [count]) if count.starts_with('-') => {
            (None, Some(count.trim_start_matches("-n").trim_start_matches('-').parse().ok()?))
        }
        // `read` does not count from the end.
        ("tail", ["-n", start]) => (Some(start.strip_prefix('+')?.parse().ok()?), None),
        ("sed", ["-n", script]) => {
            let range = script.strip_suffix('p')?;
            let (first, last) = range.split_once(',').unwrap_or((range, range));
            let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
            (Some(first), Some(last.checked_sub(first)?.checked_add(1)?))
        }
        _ => return None,
    };
    let can_read = start != Some(0) && limit.is_none_or(|limit| (1..=MAX_LINES).contains(&limit));
    let path = reading.path(file.text()).filter(|_| can_read && !file.text().starts_with('-'))?;
    Some(ToolCall::new("read", json!({"path": path, "start_line": start, "limit": limit})))
}

/// `grep PATTERN FILE`, `grep -r PATTERN DIRECTORY` and `rg PATTERN PATH`.
pub(super) fn grep(reading: &Reading<'_>) -> Option<ToolCall> {
    let is_ripgrep = reading.name == "rg";
    let arguments = Arguments::of(reading.arguments, "");
    let (pattern, paths) = arguments.operands.split_first()?;
    let literal = arguments.has("-F").then_some(true);
    // grep's own recursion skips nothing.
    let everything = arguments.has("-r").then_some(true);
    let call = json!({
        "pattern": pattern.text(),
        "path": reading.path_of(paths)?,
        "literal": literal,
        "case_sensitive": arguments.has("-i").then_some(false),
        "include_hidden": everything,
        "include_ignored": everything,
    });
    // A pattern in another syntax than the tool's may mean something else there.
    let is_plain = !pattern.text().contains(|c| "\\*^$[]+?(){}|".contains(c));
    let is_same = (is_plain || is_ripgrep || literal.is_some())
        && (is_ripgrep || everything.is_some() || !paths.is_empty())
        && arguments.has_only(if is_ripgrep { "-n -i -F" } else { "-n -i -F -r" });
    is_same.then(|| ToolCall::new("grep", call))
}

/// `find DIRECTORY` with `-name` and `-type f|d`.
pub(super) fn find(reading: &Reading<'_>) -> Option<ToolCall> {
    let is_start = |word: &&Word| !word.text().starts_with(['-', '(', '!']);
    let starts: Vec<&Word> = reading.arguments.iter().take_while(is_start).collect();
    // find tests the start itself, too.
    let start = starts.first().and_then(|start| Path::new(start.text()).file_name());
    let mut call =
        json!({"path": reading.path_of(&starts)?, "include_hidden": true, "include_ignored": true});
    let tests: Vec<&str> = reading.arguments[starts.len()..].iter().map(Word::text).collect();
    for test in tests.chunks(2) {
        let (key, value) = match test {
            ["-type", "f"] => ("type", "file"),
            ["-type", "d"] => ("type", "dir"),
            // What is no simple pattern may mean something else to the tool.
            ["-name", glob] if !glob.contains(|c| "/[]{}\\".contains(c)) && !glob.contains("**") => {
                let matcher = globset::Glob::new(glob).ok()?.compile_matcher();
                if start.is_some_and(|start| matcher.is_match(start)) {
                    return None;
                }
                ("name_pattern", *glob)
            }
            _ => return None,
        };
        if std::mem::replace(&mut call[key], json!(value)) != Value::Null {
            return None;
        }
    }
    Some(ToolCall::new("find", call))
}
