//! From text to a syntax tree, within bounds.
//!
//! The grammar is tree-sitter's for bash. It always gives a tree; where it did not understand, the tree
//! says so. The work is bounded by counted steps and not by the clock, so that the same line always gets
//! the same answer on a machine of any speed.

use std::cell::RefCell;
use std::ops::ControlFlow;

use protocol::{ErrorCode, ToolError};
use tree_sitter::{ParseOptions, Parser, Tree};

use super::tangle::untangled;

/// A longer line is a script, and belongs in a file. The number is ours.
const MAX_BYTES: usize = 64 * 1024;

/// How often the parser may report progress; it does so about every hundred steps. A line of 64 KiB of
/// ordinary code stays below a tenth of this.
const MAX_REPORTS: usize = 20_000;

thread_local! {
    /// One parser a thread: it keeps its memory from call to call.
    static PARSER: RefCell<Parser> = RefCell::new(bash_parser());
}

/// The tree of a command line.
///
/// # Errors
/// `INVALID_ARGUMENT` for a NUL byte or too long a line; `COMMAND_DENIED` where parsing takes too long.
pub(super) fn parse(code: &str) -> Result<Tree, ToolError> {
    if code.contains('\0') {
        let message = "the command line has a NUL byte, which no program can be given";
        return Err(ToolError::new(ErrorCode::InvalidArgument, message));
    }
    if code.len() > MAX_BYTES {
        let message = format!("the command line has {} bytes; at most {MAX_BYTES} can be judged", code.len());
        return Err(ToolError::new(ErrorCode::InvalidArgument, message).with_hint(AS_A_FILE));
    }
    let text = untangled(code).ok_or_else(too_complex)?;
    PARSER.with_borrow_mut(|parser| bounded(parser, &text)).ok_or_else(too_complex)
}

/// The refusal of a line that takes more work to understand than a command line deserves.
pub(super) fn too_complex() -> ToolError {
    let message = "the command line is too tangled to be judged";
    ToolError::new(ErrorCode::CommandDenied, message).with_hint(AS_A_FILE)
}

const AS_A_FILE: &str = "Put the script into a file with `write`, then run it with `bash <file>`.";

fn bash_parser() -> Parser {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .expect("parser and grammar are built from versions that are tested together");
    parser
}

fn bounded(parser: &mut Parser, code: &str) -> Option<Tree> {
    let mut reports = 0usize;
    let mut count = |_: &tree_sitter::ParseState| {
        reports += 1;
        if reports > MAX_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut count);
    let bytes = code.as_bytes();
    let tree =
        parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
    if tree.is_none() {
        // A parser that was stopped would go on with the old text.
        parser.reset();
    }
    tree
}
