//! Replaces literal text in bytes, so that everything else stays exactly as it is.
//!
//! Every edit is matched against the original. Without `all` it must match exactly once, and overlapping
//! matches count. An error shows the nearest text, or the lines of all matches.

use std::ops::Range;

use memchr::memmem;
use protocol::{ErrorCode, ToolError, visible};
use toolkit::arguments::{elide, invalid};

/// The most lines that an error lists.
const MAX_LISTED: usize = 20;

/// How many lines are searched for similar text.
const MAX_NEAR_LINES: usize = 20_000;

/// The most replacements in one call; more would need more memory than the file.
const MAX_REPLACEMENTS: usize = 1_000_000;

/// How many bytes a call can add to a file. Many matches times a long text quickly exceeds memory.
const MAX_GROWTH_BYTES: usize = 16 << 20;

/// One replacement.
#[derive(Debug, Clone, Copy)]
pub struct Edit<'a> {
    /// What to look for.
    pub find: &'a str,
    /// Its replacement.
    pub replace: &'a str,
    /// Whether to replace every match.
    pub all: bool,
}

/// A content with its replacements.
#[derive(Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The content after the edits.
    pub content: Vec<u8>,
    /// How many places were replaced.
    pub replacements: usize,
    /// What was assumed.
    pub notices: Vec<String>,
}

/// Makes all edits or none. `name` is the prefix of errors about the edit with an index.
pub fn replace(
    original: &[u8],
    edits: &[Edit<'_>],
    name: impl Fn(usize) -> String,
) -> Result<Replaced, ToolError> {
    require_text(original)?;
    let line_endings = LineEndings::of(original);
    let mut places: Vec<Place> = Vec::new();
    let mut puts: Vec<Vec<u8>> = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let named =
            |error: ToolError| ToolError { message: format!("{}{}", name(index), error.message), ..error };
        let (find, put) = (line_endings.adapt(edit.find), line_endings.adapt(edit.replace));
        require_change(edit).map_err(named)?;
        require_same_encoding(original, &put).map_err(named)?;
        let found = matches(original, &find, edit).map_err(named)?;
        places.extend(found.into_iter().map(|place| (place, index)));
        puts.push(put);
        require_few(&places)?;
    }
    places.sort_by_key(|(place, _)| (place.start, place.end));
    require_apart(original, &places)?;
    let mut content = Vec::with_capacity(length_after(original, &places, &puts)?);
    let mut done = 0;
    for (place, index) in &places {
        content.extend_from_slice(&original[done..place.start]);
        content.extend_from_slice(&puts[*index]);
        done = place.end;
    }
    content.extend_from_slice(&original[done..]);
    if content == original {
        return Err(invalid("The edits together change nothing."));
    }
    Ok(Replaced { content, replacements: places.len(), notices: line_endings.notice(edits) })
}

/// A match, and the index of its edit.
type Place = (Range<usize>, usize);

fn require_few(places: &[Place]) -> Result<(), ToolError> {
    if places.len() <= MAX_REPLACEMENTS {
        return Ok(());
    }
    let message = format!("The call would replace more than {MAX_REPLACEMENTS} places.");
    Err(invalid(message).with_hint("Use a longer `find`, or rewrite the file with `write`."))
}

/// The length of the new content, if it is within the limit.
fn length_after(original: &[u8], places: &[Place], puts: &[Vec<u8>]) -> Result<usize, ToolError> {
    let taken: usize = places.iter().map(|(place, _)| place.len()).sum();
    let put: usize = places.iter().map(|(_, index)| puts[*index].len()).sum();
    let length = original.len() - taken + put;
    if length <= original.len() + MAX_GROWTH_BYTES {
        return Ok(length);
    }
    let message = format!(
        "The file would have {length} bytes after {} replacements; an edit can add at most {} MiB.",
        places.len(),
        MAX_GROWTH_BYTES >> 20
    );
    Err(ToolError::new(ErrorCode::FileTooLarge, message)
        .with_hint("Use a shorter `replace`, or a longer `find`."))
}

fn require_text(original: &[u8]) -> Result<(), ToolError> {
    let encoding = match original {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
        _ if memchr::memchr(0, original).is_some() => "binary",
        _ => return Ok(()),
    };
    Err(ToolError::new(
        ErrorCode::BinaryFile,
        format!("The file is {encoding}; only ASCII-compatible text can be edited."),
    )
    .with_hint("Use a program that understands the format."))
}

fn require_change(edit: &Edit<'_>) -> Result<(), ToolError> {
    if edit.find.is_empty() {
        return Err(invalid("`find` is empty; it must be the text to replace."));
    }
    if edit.find == edit.replace {
        return Err(invalid("`find` and `replace` are the same, so nothing would change."));
    }
    Ok(())
}

/// UTF-8 characters would corrupt a file in an old eight-bit encoding.
fn require_same_encoding(original: &[u8], put: &[u8]) -> Result<(), ToolError> {
    if put.is_ascii() || std::str::from_utf8(original).is_ok() {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::BinaryFile,
        "The file is not UTF-8, but `replace` has non-ASCII characters.",
    )
    .with_hint("Use ASCII in `replace`, or convert the file to UTF-8 first."))
}

fn matches(original: &[u8], find: &[u8], edit: &Edit<'_>) -> Result<Vec<Range<usize>>, ToolError> {
    let range = |start| start..start + find.len();
    if edit.all {
        let found: Vec<_> = memmem::find_iter(original, find).take(MAX_REPLACEMENTS + 1).map(range).collect();
        return if found.is_empty() { Err(no_match(original, edit.find)) } else { Ok(found) };
    }
    let finder = memmem::Finder::new(find);
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&original[from..]) {
        starts.push(from + at);
        from += at + 1;
        if starts.len() > MAX_LISTED {
            break;
        }
    }
    match starts.as_slice() {
        [] => Err(no_match(original, edit.find)),
        [start] => Ok(vec![range(*start)]),
        several => Err(not_unique(original, several)),
    }
}

fn not_unique(original: &[u8], starts: &[usize]) -> ToolError {
    let listed: Vec<String> =
        starts.iter().take(MAX_LISTED).map(|start| line_number(original, *start).to_string()).collect();
    let more = if starts.len() > MAX_LISTED { " and more" } else { "" };
    let number =
        if starts.len() > MAX_LISTED { format!("more than {MAX_LISTED}") } else { starts.len().to_string() };
    let message = format!("`find` matches {number} times, at lines {}{more}.", listed.join(", "));
    ToolError::new(ErrorCode::NotUnique, message)
}

fn no_match(original: &[u8], find: &str) -> ToolError {
    let message = match nearest(original, find) {
        Some((line, text)) => {
            format!("`find` is not in the file. The nearest text is at line {line}:\n{}", elide(&text, 300))
        }
        None => "`find` is not in the file, nor is any similar text.".to_owned(),
    };
    let error = ToolError::new(ErrorCode::NoMatch, message);
    let real = visible::unescaped(find);
    if real.is_some_and(|real| memmem::find(original, real.as_bytes()).is_some()) {
        return error.with_hint(
            "`find` has an escape such as \\u{1b} where the file has the character itself: write it as JSON \
             does, \\u001b.",
        );
    }
    error
}

/// The line most similar to the first non-blank line of `find`.
fn nearest(original: &[u8], find: &str) -> Option<(usize, String)> {
    let wanted = find.lines().map(str::trim).find(|line| !line.is_empty())?;
    let wanted = elide(wanted, 200);
    original
        .split(|byte| *byte == b'\n')
        .take(MAX_NEAR_LINES)
        .enumerate()
        .map(|(index, line)| {
            (index + 1, String::from_utf8_lossy(&line[..line.len().min(400)]).trim_end().to_owned())
        })
        .map(|(number, line)| (strsim::sorensen_dice(line.trim(), &wanted), number, line))
        .filter(|(similarity, ..)| *similarity > 0.5)
        .max_by(|left, right| left.0.total_cmp(&right.0).then(right.1.cmp(&left.1)))
        .map(|(_, number, line)| (number, line))
}

fn require_apart(original: &[u8], places: &[Place]) -> Result<(), ToolError> {
    for pair in places.windows(2) {
        let [(left, first), (right, second)] = pair else { continue };
        if right.start < left.end {
            let (low, high) = (first.min(second), first.max(second));
            let line = line_number(original, right.start);
            return Err(invalid(format!(
                "edits[{low}] and edits[{high}] overlap at line {line}; no edit was made."
            ))
            .with_hint("Merge the two into one edit."));
        }
    }
    Ok(())
}

/// The line number of an offset, from 1.
fn line_number(content: &[u8], offset: usize) -> usize {
    memchr::memchr_iter(b'\n', &content[..offset]).count() + 1
}

/// How the lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEndings {
    /// With a line feed, or mixed: text is used as given.
    AsGiven,
    /// All with carriage return and line feed.
    CrLf,
}

impl LineEndings {
    /// Those of this content.
    pub fn of(content: &[u8]) -> Self {
        if memchr::memchr(b'\r', content).is_none() {
            return Self::AsGiven;
        }
        let ends = memchr::memchr_iter(b'\n', content).count();
        let pairs = memmem::find_iter(content, b"\r\n").count();
        if pairs > 0 && pairs == ends { Self::CrLf } else { Self::AsGiven }
    }

    /// A text with the file's line endings, unless it has its own.
    pub fn adapt(self, text: &str) -> Vec<u8> {
        match self {
            Self::CrLf if !text.contains('\r') => text.replace('\n', "\r\n").into_bytes(),
            Self::CrLf | Self::AsGiven => text.as_bytes().to_vec(),
        }
    }

    fn notice(self, edits: &[Edit<'_>]) -> Vec<String> {
        let adapted = edits.iter().any(|edit| [edit.find, edit.replace].iter().any(|text| self.adapts(text)));
        let notice = "The file uses CRLF line endings; the edit was converted to them.".to_owned();
        if adapted { vec![notice] } else { Vec::new() }
    }

    /// Whether this text gets other line ends in such a file.
    pub fn adapts(self, text: &str) -> bool {
        self == Self::CrLf && text.contains('\n') && !text.contains('\r')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit<'a>(find: &'a str, replace: &'a str) -> Edit<'a> {
        Edit { find, replace, all: false }
    }

    fn edited(original: &str, find: &str, put: &str, all: bool) -> Result<String, (ErrorCode, String)> {
        replace(original.as_bytes(), &[Edit { find, replace: put, all }], |_| String::new())
            .map(|replaced| String::from_utf8(replaced.content).unwrap())
            .map_err(|error| (error.code, error.message))
    }

    #[test]
    fn text_is_literal_and_may_span_lines() {
        assert_eq!(edited("a.b\nc", ".b\nc", "$1", false).unwrap(), "a$1");
        assert_eq!(edited("axb", "a.b", "", false).unwrap_err().0, ErrorCode::NoMatch);
    }

    #[test]
    fn overlapping_matches_count() {
        let (code, message) = edited("aaa", "aa", "b", false).unwrap_err();
        assert_eq!(code, ErrorCode::NotUnique);
        assert_eq!(message, "`find` matches 2 times, at lines 1, 1.");
        assert_eq!(edited("aaa", "aa", "b", true).unwrap(), "ba");
    }

    #[test]
    fn a_miss_shows_the_nearest_line() {
        let (code, message) =
            edited("fn main() {\n    run();\n}\n", "fn  main () {", "x", false).unwrap_err();
        assert_eq!(code, ErrorCode::NoMatch);
        assert!(message.ends_with("at line 1:\nfn main() {"), "{message}");
    }

    #[test]
    fn an_edit_that_changes_nothing_is_refused() {
        assert_eq!(edited("a", "a", "a", false).unwrap_err().0, ErrorCode::InvalidArgument);
        assert_eq!(edited("a", "", "b", false).unwrap_err().0, ErrorCode::InvalidArgument);
    }

    #[test]
    fn crlf_and_what_is_not_utf8_survive() {
        assert_eq!(edited("a\r\nb\r\n", "a\nb", "x\ny", false).unwrap(), "x\r\ny\r\n");
        assert_eq!(edited("a\r\nb\n", "b\n", "c\n", false).unwrap(), "a\r\nc\n");
        let latin = replace(b"caf\xe9", &[edit("caf", "tea")], |_| String::new());
        assert_eq!(latin.unwrap().content, b"tea\xe9");
        let mixed = replace(b"caf\xe9", &[edit("caf", "té")], |_| String::new());
        assert_eq!(mixed.unwrap_err().code, ErrorCode::BinaryFile);
    }

    #[test]
    fn several_edits_match_the_original_and_overlaps_refuse_all() {
        let name = |index: usize| format!("edits[{index}]: ");
        let swapped = replace(b"a b", &[edit("a", "b"), edit("b", "a")], name).unwrap();
        assert_eq!((swapped.content.as_slice(), swapped.replacements), (b"b a".as_slice(), 2));
        let error = replace(b"abc", &[edit("ab", "x"), edit("bc", "y")], name).unwrap_err();
        assert!(error.message.starts_with("edits[0] and edits[1] overlap at line 1"), "{}", error.message);
        let error = replace(b"abc", &[edit("ab", "x"), edit("zz", "y")], name).unwrap_err();
        assert!(error.message.starts_with("edits[1]: `find` is not in the file"), "{}", error.message);
    }

    #[test]
    fn an_edit_cannot_ask_for_more_memory_than_there_is() {
        let many = "a".repeat(MAX_REPLACEMENTS);
        assert_eq!(edited(&many, "a", "b", true).unwrap(), "b".repeat(MAX_REPLACEMENTS));
        let (code, _) = edited(&many, "a", &"b".repeat(1 << 20), true).unwrap_err();
        assert_eq!(code, ErrorCode::FileTooLarge);
        let (code, message) = edited(&(many + "a"), "a", "b", true).unwrap_err();
        assert_eq!(code, ErrorCode::InvalidArgument, "{message}");
    }
}
