//! `grep`: ripgrep's searcher and pattern engine in this process, so that no argument can become an option.

mod files;
mod page;

use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use protocol::{Annotations, ErrorCode, Risk, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, PathText, Scope, Slot, Success, Tool, names_no_files};

use self::files::{Files, Tree};
use self::page::Position;
use crate::search::{
    self, AbortedReason, FileSearcher, PageCollector, PathDisplay, PathGlob, SearchBudget, SearchMode,
    SearchScope, Skipped, walk,
};
use crate::tool_context::ToolContext;
use ::files::roots::{Opened, Roots, names};

/// Searches files for a regular expression: `file:line:text` per line.
///
/// Hidden, ignored and binary files are skipped. `files` and `count` are cheaper to read.
///
/// # Details
///
/// Sorted by path and line. The pattern has Rust's syntax and matches within a line. `files` gives the names
/// of the files that match, `count` the number of matching lines of each. `context` adds lines around each
/// match, as `file-line-text`. Paths in the first root are relative to it, others absolute, so every tool
/// accepts them as they are. Hidden names begin with a dot; ignored names are those in `.ignore` and, in a
/// git repository, `.gitignore` and `.git/info/exclude`. The notices say what was skipped. Links are not
/// followed. No match is a success with no output. A line over 500 characters is cut around its match. If
/// there is more, the result has `next_page_cursor`: call again with the same arguments and that `cursor`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrepArguments {
    /// What to look for.
    #[schemars(length(max = 10_000))]
    pattern: String,
    /// The directory or file to search, absolute or relative to the first root.
    #[serde(default = "super::first_root")]
    path: PathText,
    /// Which files, such as `*.rs`, or `src/**/*.rs` below `path`.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    glob: Option<String>,
    /// The pattern is plain text.
    #[serde(default)]
    literal: bool,
    /// Whether case matters.
    #[serde(default = "super::yes")]
    case_sensitive: bool,
    /// How many lines to show before and after each match, with `output` `content`.
    #[serde(default)]
    #[schemars(range(max = 50))]
    context: usize,
    /// What to show: the matching lines, the names of files with a match, or how many lines match in each.
    #[serde(default)]
    output: Form,
    /// The maximum number of matching lines per page, or of files with the outputs `files` and `count`.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000))]
    limit: usize,
    /// Whether to search names that begin with a dot, and the entries below them.
    #[serde(default)]
    include_hidden: bool,
    /// Whether to search what ignore files name.
    #[serde(default)]
    include_ignored: bool,
    /// The `next_page_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

// Its default is in the schema because it can be serialized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Form {
    #[default]
    Content,
    Files,
    Count,
}

const fn default_limit() -> usize {
    100
}

/// One page; the lists of other `output` forms are empty.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct GrepData {
    /// The matching lines.
    matches: Vec<MatchingLine>,
    /// The lines around them.
    context_lines: Vec<ContextLine>,
    /// The files with a match, with `output` `files`.
    files: Vec<String>,
    /// The numbers of matching lines, with `output` `count`.
    counts: Vec<FileCount>,
    /// Which limit stopped the search early; absent when it finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    aborted_reason: Option<AbortedReason>,
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
struct MatchingLine {
    /// The file, as shown.
    path: String,
    /// The line's number, from 1.
    line: u64,
    /// Where the first match begins: a byte of the line's text in UTF-8, from 1.
    column: usize,
    /// The line, cut around the match when it is long.
    text: String,
}

/// A line before or after a match.
#[derive(Debug, Serialize, JsonSchema)]
struct ContextLine {
    /// The file, as shown.
    path: String,
    /// The line's number, from 1.
    line: u64,
    /// The line, cut when it is long.
    text: String,
}

/// How often a file matches.
#[derive(Debug, Serialize, JsonSchema)]
struct FileCount {
    /// The file, as shown.
    path: String,
    /// How many of its lines match.
    matching_lines: usize,
}

pub(crate) struct Grep(pub(super) ToolContext);

impl Tool for Grep {
    type Arguments = GrepArguments;
    type Data = GrepData;
    const NAME: &'static str = "grep";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["path", "glob", "literal"];

    fn example(&self) -> Value {
        json!({"pattern": "TODO", "literal": true})
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        Touches { reads_below: true, ..self.0.touches(arguments, scope) }
    }

    names_no_files!();

    fn run(&self, arguments: GrepArguments, call: &Call) -> Outcome<GrepData> {
        let matcher = search::compile(&arguments.pattern, arguments.literal, arguments.case_sensitive)?;
        let glob = arguments.glob.as_deref().map(|glob| PathGlob::new("glob", glob)).transpose()?;
        let roots = self.0.workspaces.of(&call.scope)?;
        let (opened, is_file) = open(&roots, &arguments.path)?;
        let path = names::path_to_text(&opened.path);
        let searched = arguments.describe(&path);
        let position = Position::read(&searched, arguments.cursor.as_deref())?;

        let budget = SearchBudget::new(call, self.0.search.max_entries);
        let room = page::room(arguments.limit, call.bounds);
        let found = PageCollector::new(position.bound(arguments.output), room);
        let files = || FileSearcher::new(matcher.clone(), arguments.mode(), room, &budget);
        let (shown, mut skipped) = if is_file {
            let shown = PathDisplay::beneath(&roots, opened.path.parent().unwrap_or(&opened.path));
            let mut files = Files { files: files(), position: &position, found: &found, shown: &shown };
            let mut skipped = Skipped::default();
            let name = opened.path.file_name().unwrap_or_default().as_bytes();
            files.search(name, File::from(opened.handle), &mut skipped);
            (shown, skipped)
        } else {
            let scope =
                SearchScope::of(&roots, &opened, call, arguments.include_hidden, arguments.include_ignored);
            let visitors = (0..self.0.search.threads.get())
                .map(|_| Files { files: files(), position: &position, found: &found, shown: &scope.shown })
                .map(|files| Tree { files, glob: glob.as_ref() })
                .collect();
            let skipped = walk(&scope, &budget, opened.handle, visitors);
            (scope.shown, skipped)
        };
        skipped.is_incomplete |= position.is_late();

        let aborted = budget.into_outcome()?;
        let page = page::Filled::new(&arguments, call.bounds, &shown, found);
        let untrusted = self.0.is_from_outside(&opened.path);
        Ok(Success { path_resolved: Some(path), untrusted, ..page.into_output(&searched, &skipped, aborted) })
    }
}

/// Opens the file or directory to search; true for a file.
fn open(roots: &Roots, path: &str) -> Result<(Opened, bool), ToolError> {
    match roots.open_file(path) {
        Err(error) if error.code == ErrorCode::IsDirectory => Ok((roots.open_directory(path)?, false)),
        opened => Ok((opened?, true)),
    }
}

impl GrepArguments {
    /// What a cursor belongs to.
    fn describe(&self, path: &str) -> String {
        format!(
            "grep {path} {:?} {:?} {} {} {} {:?} {} {}",
            self.pattern,
            self.glob,
            self.literal,
            self.case_sensitive,
            self.context,
            self.output,
            self.include_hidden,
            self.include_ignored
        )
    }

    fn mode(&self) -> SearchMode {
        match self.output {
            Form::Content => SearchMode::Lines { context: self.context },
            Form::Files => SearchMode::AnyMatch,
            Form::Count => SearchMode::Count,
        }
    }
}
