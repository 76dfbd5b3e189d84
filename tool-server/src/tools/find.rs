//! `find`: files and directories by name, in a whole tree. It opens no file.

use std::ops::Bound;

use files::roots::names;
use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Page, PathText, Scope, Slot, Success, Tool, names_no_files};

use crate::cursor;
use crate::entry_type::EntryType;
use crate::search::{
    self, AbortedReason, Entry, PageCollector, PageUsage, PathGlob, SearchBudget, SearchScope, Skipped,
    Visitor, walk,
};
use crate::tool_context::ToolContext;

/// Finds files and directories by name in a whole tree.
///
/// Hidden and ignored names are skipped unless you include them.
///
/// # Details
///
/// One path per line, sorted, directories ending in `/`. Paths in the first root are relative to it, others
/// absolute, so every tool accepts them as they are. Hidden names begin with a dot; ignored names are those
/// in `.ignore` and, in a git repository, `.gitignore` and `.git/info/exclude`. The notices say what was
/// skipped. Links are found and not followed. If there is more, the result has `next_page_cursor`: call again
/// with the same arguments and that `cursor`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindArguments {
    /// The directory to search, absolute or relative to the first root.
    #[serde(default = "super::first_root")]
    path: PathText,
    /// A glob such as `*.rs`, or `src/**/*.rs` below `path`.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    name_pattern: Option<String>,
    /// What to find; `file` means regular files.
    #[serde(default, rename = "type")]
    wanted: WantedType,
    /// How many levels below `path` to search; 1 is the directory itself.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    max_depth: Option<usize>,
    /// The maximum number of paths per page.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000))]
    limit: usize,
    /// Whether to include names that begin with a dot, and the entries below them.
    #[serde(default)]
    include_hidden: bool,
    /// Whether to include what ignore files name.
    #[serde(default)]
    include_ignored: bool,
    /// The `next_page_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

// Its default is in the schema because it can be serialized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WantedType {
    #[default]
    Any,
    File,
    Dir,
}

const fn default_limit() -> usize {
    1000
}

/// The entries of one page, in the order of `stdout`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct FindData {
    /// One per line.
    entries: Vec<FoundEntry>,
    /// Which limit stopped the search early; absent when it finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    aborted_reason: Option<AbortedReason>,
}

/// An entry that was found.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundEntry {
    /// Its path as shown, without the `/` of a directory.
    path: String,
    /// What it is; a link is never followed.
    #[serde(rename = "type")]
    entry_type: EntryType,
}

pub(crate) struct Find(pub(super) ToolContext);

impl Tool for Find {
    type Arguments = FindArguments;
    type Data = FindData;
    const NAME: &'static str = "find";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["path", "name_pattern"];

    fn example(&self) -> Value {
        json!({"name_pattern": "*.md"})
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        Touches { reads_below: true, ..self.0.touches(arguments, scope) }
    }

    names_no_files!();

    fn run(&self, arguments: FindArguments, call: &Call) -> Outcome<FindData> {
        let roots = self.0.workspaces.of(&call.scope)?;
        let directory = roots.open_directory(&arguments.path)?;
        let path = names::path_to_text(&directory.path);
        let searched = arguments.describe(&path);
        let after =
            arguments.cursor.as_deref().map(|cursor| cursor::decode(&searched, cursor)).transpose()?;
        let glob =
            arguments.name_pattern.as_deref().map(|glob| PathGlob::new("name_pattern", glob)).transpose()?;

        let mut scope =
            SearchScope::of(&roots, &directory, call, arguments.include_hidden, arguments.include_ignored);
        scope.max_depth = arguments.max_depth.unwrap_or(usize::MAX);
        let page = Page::new(arguments.limit, call.bounds);
        let room = PageUsage { items: page.room(), bytes: usize::MAX };
        let begins_late = after.is_some();
        let found = PageCollector::new(after.map_or(Bound::Unbounded, Bound::Excluded), room);
        let budget = SearchBudget::new(call, self.0.search.max_entries);
        let visitor = || Finder { wanted: arguments.wanted, glob: glob.as_ref(), found: &found };
        let visitors = (0..self.0.search.threads.get()).map(|_| visitor()).collect();
        let mut skipped = walk(&scope, &budget, directory.handle, visitors);
        skipped.is_incomplete |= begins_late;

        let aborted = budget.into_outcome()?;
        Ok(Success { path_resolved: Some(path), ..answer(&searched, &scope, page, found, &skipped, aborted) })
    }
}

impl FindArguments {
    /// What a cursor belongs to.
    fn describe(&self, path: &str) -> String {
        format!(
            "find {path} {:?} {:?} {:?} {} {}",
            self.name_pattern, self.wanted, self.max_depth, self.include_hidden, self.include_ignored
        )
    }
}

/// One thread of the search.
struct Finder<'a> {
    wanted: WantedType,
    glob: Option<&'a PathGlob>,
    found: &'a PageCollector<EntryType>,
}

impl Visitor for Finder<'_> {
    /// Checking a name is so cheap that a whole directory is one job.
    const ENTRIES_PER_JOB: usize = usize::MAX;

    fn may_include_below(&self, directory: &[u8]) -> bool {
        self.found.may_include_below(directory)
    }

    fn visit(&mut self, entry: &Entry<'_>, _: &mut Skipped) {
        let is_wanted = match self.wanted {
            WantedType::Any => true,
            WantedType::File => entry.entry_type == EntryType::File,
            WantedType::Dir => entry.entry_type == EntryType::Dir,
        };
        let matches = is_wanted && self.glob.is_none_or(|glob| glob.matches(entry.path, entry.name));
        if matches && self.found.may_include(entry.path) {
            self.found.add(entry.path, PageUsage { items: 1, bytes: entry.path.len() }, entry.entry_type);
        }
    }
}

fn answer(
    searched: &str,
    scope: &SearchScope<'_>,
    mut page: Page,
    found: PageCollector<EntryType>,
    skipped: &Skipped,
    aborted: Option<AbortedReason>,
) -> Success<FindData> {
    let mut entries = Vec::new();
    let mut last = Vec::new();
    for (path, entry_type) in found.into_sorted() {
        let shown = scope.shown.path(&path);
        if !page.push(&shown) {
            break;
        }
        entries.push(FoundEntry { path: shown.strip_suffix('/').unwrap_or(&shown).to_owned(), entry_type });
        last = path;
    }
    let shown = format!("{} paths", entries.len());
    let next = || cursor::encode(searched, &last);
    let data = FindData { entries, aborted_reason: aborted };
    let mut output = search::output(page, data, &shown, next, skipped, aborted);
    output.notices.extend(names::escape_notice(&output.stdout));
    output
}
