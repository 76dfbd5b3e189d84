//! The pattern of a search, compiled by ripgrep's own builder: limited in size, matched in linear time.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use protocol::ToolError;
use toolkit::arguments::invalid;

/// The largest compiled pattern. ripgrep allows ten times as much, for pattern files.
const MAX_COMPILED_BYTES: usize = 10 << 20;

/// The most memory that one thread's lazily built automaton may take.
const MAX_AUTOMATON_BYTES: usize = 4 << 20;

/// How deep groups may nest.
const MAX_NESTING: u32 = 100;

/// Compiles a pattern that matches within lines.
pub(crate) fn compile(pattern: &str, literal: bool, case_sensitive: bool) -> Result<RegexMatcher, ToolError> {
    if pattern.is_empty() {
        return Err(invalid("The pattern is empty and would match every line.")
            .with_hint("Name what to search for; `read` shows all lines of a file, `find` lists files."));
    }
    if literal && pattern.contains('\n') {
        return Err(invalid("The pattern contains a newline, but grep searches line by line.")
            .with_hint("Search for one of the lines."));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(!case_sensitive)
        .fixed_strings(literal)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_AUTOMATON_BYTES)
        .nest_limit(MAX_NESTING)
        .build(pattern)
        .map_err(|error| refusal(pattern, error.kind()))
}

fn refusal(pattern: &str, kind: &ErrorKind) -> ToolError {
    match kind {
        ErrorKind::Regex(fault) => {
            // The builder wraps the pattern; parsed alone, the error shows the caller's own text.
            let parsed = regex_syntax::ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(pattern);
            let fault = parsed.err().map_or_else(|| fault.clone(), |error| error.to_string());
            invalid(format!("The pattern is not a valid regular expression.\n{fault}")).with_hint(
                "Set `literal: true` to search for literal text, or correct the expression (Rust regex \
                     syntax: no look-around, no backreferences).",
            )
        }
        ErrorKind::NotAllowed(_) => {
            invalid("The pattern requires a line end within a match, but grep searches line by line.")
                .with_hint("Search for one of the lines; with `literal: true` a backslash is literal.")
        }
        other => {
            tracing::warn!(?other, "refused a pattern for an unknown reason");
            invalid("The pattern is not a valid regular expression.")
                .with_hint("Set `literal: true` to search for literal text.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(pattern: &str, literal: bool) -> ToolError {
        compile(pattern, literal, true).err().unwrap()
    }

    #[test]
    fn a_pattern_that_would_grow_too_large_or_spans_lines_is_refused() {
        assert!(fault("(?:a{1,1000}){1,1000}", false).message.contains("size limit"));
        assert!(fault(&format!("{}a{}", "(".repeat(200), ")".repeat(200)), false).message.contains("nest"));
        assert!(fault("a\\nb", false).message.contains("line end"));
        assert!(fault("a\nb", true).message.contains("newline"));
        assert!(fault("", false).message.contains("empty"));
    }
}
