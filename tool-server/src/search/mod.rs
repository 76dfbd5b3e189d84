//! Search: what `find` and `grep` share. ripgrep's crates do the matching: patterns, globs, ignore rules.
//!
//! The walk is by handle, as everything that reaches the disk here: a directory is opened beneath its
//! parent's handle, a file beneath its directory's, and no link is ever followed. A result is sorted by
//! path bytes whatever the threads did, ends in a cursor that the next page starts after, and costs the
//! memory of one page.

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
pub(crate) use output::{more, output};
pub(crate) use page_collector::{PageCollector, PageUsage};
pub(crate) use pattern::compile;
pub(crate) use scope::{PathDisplay, Scope};
pub(crate) use search_budget::{AbortedReason, SearchBudget};
pub(crate) use skipped::Skipped;
pub(crate) use walk::{Entry, Visitor, walk};
