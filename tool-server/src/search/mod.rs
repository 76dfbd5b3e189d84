//! Search: what `find` and `grep` share. ripgrep's crates do the matching: patterns, globs, ignore rules.
//!
//! The walk opens each directory beneath its parent's handle and each file beneath its directory's, and never
//! follows a link. Results are sorted by path bytes whatever the threads did, and a search needs the memory
//! of one page.

mod directory;
mod display_line;
mod file_search;
mod glob;
mod ignore_rules;
mod limits;
mod output;
mod page_collector;
mod pattern;
mod scope;
mod search_budget;
mod skipped;
mod walk;
mod work_queue;

pub(crate) use display_line::MAX_LINE_CHARS;
pub(crate) use file_search::{FileMatches, FileSearcher, Line, Role, SearchMode, SearchOutcome};
pub(crate) use glob::PathGlob;
pub(crate) use limits::MAX_DEPTH;
pub use limits::SearchLimits;
pub(crate) use output::output;
pub(crate) use page_collector::{PageCollector, PageUsage};
pub(crate) use pattern::compile;
pub(crate) use scope::{PathDisplay, SearchScope};
pub(crate) use search_budget::{AbortedReason, SearchBudget};
pub(crate) use skipped::Skipped;
pub(crate) use walk::{Entry, Visitor, walk};
