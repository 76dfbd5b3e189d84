//! From text to a syntax tree, within bounds.
//!
//! The grammar is tree-sitter's for bash. It always gives a tree; where it did not understand the text,
//! the tree says so. Work is bounded by counted steps, not by the clock, so the same line gets the same
//! answer on every machine.

use std::ops::ControlFlow;

use protocol::{ErrorCode, ToolError};
use tree_sitter::{ParseOptions, Parser, Tree};

use super::complexity::simplify;

/// A longer line is a script, and belongs in a file. The number is ours.
const MAX_BYTES: usize = 64 * 1024;

/// How often the parser may report progress; it does so about every hundred steps. A line of 64 KiB of
/// ordinary code stays below a tenth of this.
const MAX_REPORTS: usize = 20_000;

const AS_A_FILE: &str = "Put the script into a file with `write`, then run it with `bash <file>`.";

/// The tree of a command line.
///
/// # Errors
/// `INVALID_ARGUMENT` for a NUL byte or too long a line; `COMMAND_DENIED` where parsing takes too long.
pub(super) fn parse(code: &str) -> Result<Tree, ToolError> {
    if code.contains('\0') {
        return Err(ToolError::new(ErrorCode::InvalidArgument, "The command line contains a NUL byte."));
    }
    if code.len() > MAX_BYTES {
        let message = format!("The command line has {} bytes; the limit is {MAX_BYTES}.", code.len());
        return Err(ToolError::new(ErrorCode::InvalidArgument, message).with_hint(AS_A_FILE));
    }
    let text = simplify(code).ok_or_else(too_complex)?;
    bounded(&ascii_only(&text)).ok_or_else(too_complex)
}

/// The text with every character beyond ASCII as letters, every byte in its place.
///
/// The grammar's scanner calls C's `isdigit` on any code point; beyond 255 that reads outside of a table, and
/// can crash the process. Bash takes such characters for letters of a word, so nothing else changes.
fn ascii_only(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'w' }).collect()
}

/// The refusal of a line that takes too much work to understand.
pub(super) fn too_complex() -> ToolError {
    ToolError::new(ErrorCode::CommandDenied, "The command line is too complex to check.").with_hint(AS_A_FILE)
}

fn bounded(code: &[u8]) -> Option<Tree> {
    let mut parser = Parser::new();
    let language = parser.set_language(&tree_sitter_bash::LANGUAGE.into());
    language.expect("parser and grammar are built from versions that are tested together");
    let mut reports = 0usize;
    let mut count = |_: &tree_sitter::ParseState| {
        reports += 1;
        if reports > MAX_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut count);
    parser.parse_with_options(&mut |at, _| code.get(at..).unwrap_or_default(), None, Some(options))
}
