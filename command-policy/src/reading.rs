//! Reading commands for which one of our tools does exactly the same.
//!
//! Only a literal single command gets here. Each function names the tool call that replaces it, or nothing
//! when an option, a pattern or a path is beyond the tool.

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
    note: String,
}

impl ToolCall {
    /// A call with these arguments, without those that are null.
    fn new(tool: &'static str, mut arguments: Value) -> Self {
        arguments.as_object_mut().into_iter().for_each(|keys| keys.retain(|_, value| !value.is_null()));
        Self { tool, arguments, note: String::new() }
    }

    pub(super) fn hint(&self) -> String {
        format!("Call `{}` with {}.{}", self.tool, self.arguments, self.note)
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

/// `ls`, as far as names go.
pub(super) fn ls(reading: &Reading<'_>) -> Option<ToolCall> {
    let arguments = Arguments::of(reading.arguments, "");
    let path = reading.path_of(&arguments.operands)?;
    let hidden = arguments.has("-a -A --all --almost-all").then_some(true);
    let recursive = arguments.has("-R --recursive").then_some(true);
    let call = json!({"path": path, "include_hidden": hidden, "recursive": recursive});
    let name = arguments.operands.first().map_or("", |word| word.text());
    // The tool lists directories alone, and a name with an extension is rarely one.
    let is_file = Path::new(name).extension().is_some();
    let may_be_file = !name.is_empty() && !name.ends_with(['/', '.']);
    let note = if may_be_file { " If it is a file, use `stat`." } else { "" };
    let is_same = arguments.has_only("-1 -F -p -a -A -R --all --almost-all --recursive");
    (is_same && !is_file).then(|| ToolCall { note: note.to_owned(), ..ToolCall::new("ls", call) })
}

/// `cat FILE`, which `less FILE` is without a terminal, the first lines of a file or those from one on, and
/// `sed -n 'A,Bp' FILE`.
pub(super) fn read(reading: &Reading<'_>) -> Option<ToolCall> {
    // `-20` is `-n 20`.
    let old_count = reading.arguments.first().and_then(|word| word.text().strip_prefix('-'));
    let old_count = old_count.filter(|count| count.parse::<u64>().is_ok());
    let words = &reading.arguments[usize::from(old_count.is_some())..];
    let arguments = Arguments::of(words, if reading.name == "sed" { "" } else { "-n --lines" });
    let (file, others) = arguments.operands.split_last()?;
    let path = reading.path(file.text())?;
    let call = |start: Option<u64>, limit: Option<u64>| {
        ToolCall::new("read", json!({"path": path, "start_line": start, "limit": limit}))
    };
    let limit = |count: u64| Some(count).filter(|count| (1..=MAX_LINES).contains(count));
    match (reading.name, others) {
        ("cat" | "less", []) if reading.arguments.len() == 1 => Some(call(None, None)),
        ("sed", [script]) if arguments.has("-n") && arguments.has_only("-n") => {
            let range = script.text().strip_suffix('p')?;
            let (first, last) = range.split_once(',').unwrap_or((range, range));
            let first = first.parse().ok().filter(|first| *first > 0)?;
            let count = last.parse::<u64>().ok()?.checked_sub(first)?.checked_add(1)?;
            Some(call(Some(first), Some(limit(count)?)))
        }
        ("head" | "tail", []) if arguments.has_only("-n --lines") => {
            let count = old_count.or(arguments.values("-n --lines").last().copied()).unwrap_or("10");
            match (reading.name, count.strip_prefix('+')) {
                ("head", None) => Some(call(None, Some(limit(count.parse().ok()?)?))),
                ("tail", Some(start)) => {
                    Some(call(Some(start.parse().ok()?).filter(|start| *start > 0), None))
                }
                // `read` does not count from the end.
                _ => None,
            }
        }
        _ => None,
    }
}

/// `grep PATTERN FILE`, `grep -r PATTERN DIRECTORY` and `rg PATTERN PATH`.
pub(super) fn grep(reading: &Reading<'_>) -> Option<ToolCall> {
    let is_ripgrep = reading.name == "rg";
    let arguments = Arguments::of(reading.arguments, "--include");
    let (pattern, paths) = arguments.operands.split_first()?;
    let is_literal = reading.name == "fgrep" || arguments.has("-F");
    // grep's own recursion skips nothing.
    let everything = arguments.has("-r").then_some(true);
    let globs = arguments.values("--include");
    let call = json!({
        "pattern": pattern.text(),
        "path": reading.path_of(paths)?,
        "glob": globs.first(),
        "literal": is_literal.then_some(true),
        "case_sensitive": arguments.has("-i").then_some(false),
        "output": arguments.has("-l").then_some("files"),
        "include_hidden": everything,
        "include_ignored": everything,
    });
    let options = if is_ripgrep { "-n -i -l -H -F" } else { "-n -i -l -H -F -E -I -r --include" };
    // A pattern in another syntax than the tool's may mean something else there.
    let is_same_pattern =
        is_literal || is_ripgrep || !pattern.text().contains(|c| "\\*^$[]+?(){}|".contains(c));
    let has_place = is_ripgrep || everything.is_some() || !paths.is_empty() && globs.is_empty();
    let is_same = is_same_pattern && has_place && globs.len() < 2 && globs.into_iter().all(is_simple_glob);
    (is_same && arguments.has_only(options)).then(|| ToolCall::new("grep", call))
}

/// `find DIRECTORY` with `-name`, `-type f|d` and `-maxdepth`.
pub(super) fn find(reading: &Reading<'_>) -> Option<ToolCall> {
    let is_start = |word: &&Word| !word.text().starts_with(['-', '(', '!']);
    let starts: Vec<&Word> = reading.arguments.iter().take_while(is_start).collect();
    // find tests the start itself, too.
    let start = starts.first().and_then(|start| Path::new(start.text()).file_name());
    let mut call =
        json!({"path": reading.path_of(&starts)?, "include_hidden": true, "include_ignored": true});
    let tests: Vec<&str> = reading.arguments[starts.len()..].iter().map(Word::text).collect();
    for test in tests.strip_suffix(&["-print"]).unwrap_or(&tests).chunks(2) {
        let (key, value) = match test {
            ["-type", "f"] => ("type", json!("file")),
            ["-type", "d"] => ("type", json!("dir")),
            ["-name", glob] if is_simple_glob(glob) => {
                let matcher = globset::Glob::new(glob).ok()?.compile_matcher();
                if start.is_some_and(|start| matcher.is_match(start)) {
                    return None;
                }
                ("name_pattern", json!(glob))
            }
            ["-maxdepth", depth] => {
                ("max_depth", json!(depth.parse::<u32>().ok().filter(|depth| *depth > 0)?))
            }
            _ => return None,
        };
        if std::mem::replace(&mut call[key], value) != Value::Null {
            return None;
        }
    }
    Some(ToolCall::new("find", call))
}

/// Whether a glob means the same to `grep` and `find` as to the tools.
fn is_simple_glob(glob: &str) -> bool {
    !glob.is_empty() && !glob.contains("**") && !glob.contains(|c| "/[]{}\\".contains(c))
}
