//! Search: what `find` and `grep` share. ripgrep's crates do the matching: patterns, globs, ignore rules.
//!
//! The walk is by handle, as everything that reaches the disk here: a directory is opened beneath its
//! parent's handle, a file beneath its directory's, and no link is ever followed. A result is sorted by
//! path bytes whatever the threads did, ends in a cursor that the next page starts after, and costs the
//! memory of one page.

mod answer;
mod contents;
mod folder;
mod found;
mod fuse;
mod glob;
mod left_out;
mod limits;
mod line;
mod pattern;
mod queue;
mod rules;
mod scope;
mod walk;

pub(crate) use answer::output;
pub(crate) use contents::{FileSearch, Hits, Line, Role, Searched, Wanted};
pub(crate) use found::{Found, Load};
pub(crate) use fuse::{AbortedReason, Fuse};
pub(crate) use glob::PathGlob;
pub(crate) use left_out::LeftOut;
pub use limits::SearchLimits;
pub(crate) use line::MAX_LINE_CHARS;
pub(crate) use pattern::compile;
pub(crate) use scope::{Scope, Shown};
pub(crate) use walk::{Entry, Visitor, walk};
