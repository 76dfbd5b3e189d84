//! Aliases of directories as words of a command line, replaced by the directories' paths.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use tree_sitter::Node;

use super::parse::parse;

/// The line with each word that begins with an alias and a slash, or is one, beginning with its directory
/// instead. A word is what the shell makes one of, in quotes or not; text in here-documents, comments and
/// code within a quoted word is none. A line that cannot be read stays as it is.
///
/// # Errors
/// What `directory` says about an alias that a word has.
pub fn expand_aliases<'l, E>(
    line: &'l str,
    aliases: &[&str],
    directory: impl Fn(&str) -> Result<PathBuf, E>,
) -> Result<Cow<'l, str>, E> {
    if !aliases.iter().any(|alias| line.contains(alias)) {
        return Ok(Cow::Borrowed(line));
    }
    let Ok(tree) = parse(line) else { return Ok(Cow::Borrowed(line)) };
    let mut expanded = String::with_capacity(line.len());
    let mut from = 0;
    for Found { at, quote, alias } in find(tree.root_node(), line, aliases) {
        let path = quoted(&directory(alias)?);
        // The quote goes behind the path, which has its own.
        expanded.push_str(&line[from..at]);
        expanded.push_str(&path);
        expanded.push_str(quote);
        from = at + quote.len() + alias.len();
    }
    expanded.push_str(&line[from..]);
    Ok(Cow::Owned(expanded))
}

/// A word that begins with an alias, behind its opening quote.
struct Found<'l> {
    at: usize,
    quote: &'l str,
    alias: &'l str,
}

/// The words in their order. A stack of our own, since nesting has no bound here.
fn find<'l>(root: Node<'_>, line: &'l str, aliases: &[&str]) -> Vec<Found<'l>> {
    let (mut found, mut nodes) = (Vec::new(), vec![root]);
    while let Some(node) = nodes.pop() {
        match node.kind() {
            "heredoc_body" | "heredoc_start" | "comment" => continue,
            "word" | "string" | "raw_string" if begins_a_word(node) => {
                found.extend(alias_at(node.start_byte(), node.end_byte(), line, aliases));
            }
            _ => {}
        }
        nodes.extend(node.named_children(&mut node.walk()));
    }
    found.sort_unstable_by_key(|found: &Found<'_>| found.at);
    found
}

/// Whether nothing of the same word stands before it.
fn begins_a_word(node: Node<'_>) -> bool {
    let is_part = node.parent().is_some_and(|parent| parent.kind() == "concatenation");
    !is_part || node.prev_sibling().is_none()
}

fn alias_at<'l>(at: usize, end: usize, line: &'l str, aliases: &[&str]) -> Option<Found<'l>> {
    let text = line.get(at..end)?;
    let quote = &text[..usize::from(text.starts_with(['"', '\'']))];
    let text = &text[quote.len()..];
    let alias = aliases.iter().find(|alias| {
        let rest = text.strip_prefix(**alias);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == quote)
    })?;
    Some(Found { at, quote, alias: &text[..alias.len()] })
}

/// A path as one part of a word, plain where it can be.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@%".contains(&byte));
    if is_plain { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_replaced_where_it_begins_a_word_and_nowhere_else() {
        for (line, expected) in [
            ("cat file_state_dir/a.txt", "cat /s/a.txt"),
            ("cat 'file_state_dir/a b' \"file_cache_dir/$x\"", "cat /s'/a b' '/c d'\"/$x\""),
            ("ls file_state_dir; cd file_cache_dir && pwd", "ls /s; cd '/c d' && pwd"),
            ("ls 'file_state_dir'", "ls /s''"),
            ("cat < file_state_dir/a >file_cache_dir/b", "cat < /s/a >'/c d'/b"),
            ("X=file_state_dir/a cmd $(cat file_state_dir/n)", "X=/s/a cmd $(cat /s/n)"),
            ("file_state_dir/tool \"$A\"/file_state_dir/x", "/s/tool \"$A\"/file_state_dir/x"),
            ("cat file_state_dir/\"a b\"/c", "cat /s/\"a b\"/c"),
            ("for f in file_state_dir/*.md; do echo \"$f\"; done", "for f in /s/*.md; do echo \"$f\"; done"),
            ("grep file_state_directory ./file_state_dir/a", "grep file_state_directory ./file_state_dir/a"),
            (
                "echo it is file_state_dir. # file_state_dir/x",
                "echo it is file_state_dir. # file_state_dir/x",
            ),
            ("cat <<E\nfile_state_dir/a\nE\n", "cat <<E\nfile_state_dir/a\nE\n"),
            ("bash -c 'cat file_state_dir/a'", "bash -c 'cat file_state_dir/a'"),
            ("é=1; cat file_state_dir/ü", "é=1; cat /s/ü"),
        ] {
            let directory = |alias: &str| {
                Ok::<_, ()>(PathBuf::from(if alias == "file_state_dir" { "/s" } else { "/c d" }))
            };
            let expanded = expand_aliases(line, &["file_state_dir", "file_cache_dir"], directory).unwrap();
            assert_eq!(expanded, expected, "{line}");
        }
    }

    #[test]
    fn an_alias_that_stands_for_nothing_is_an_error_only_where_it_is_used() {
        let none = |alias: &str| Err::<PathBuf, String>(alias.to_owned());
        assert_eq!(
            expand_aliases("cat file_state_dir/a", &["file_state_dir"], none).unwrap_err(),
            "file_state_dir"
        );
        assert_eq!(
            expand_aliases("echo xfile_state_dir", &["file_state_dir"], none).unwrap(),
            "echo xfile_state_dir"
        );
    }
}
