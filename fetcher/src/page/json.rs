//! JSON with indentation, otherwise as it was sent: no number is rounded, no name reordered, no text
//! unescaped.

use serde::de::IgnoredAny;

/// Deeper structures stay as they are.
const DEEPEST: usize = 100;

/// Indentation of many short values can be most of the text. What would grow more stays as it is.
const MOST_TIMES: usize = 8;
const SPARE_BYTES: usize = 64 << 10;

/// The document with one value on each line; none if it is no JSON.
pub(super) fn indented(text: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let mut out = String::with_capacity(text.len() * 2);
    let most = text.len().saturating_mul(MOST_TIMES) + SPARE_BYTES;
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut characters = text.chars().filter(|c| c != &'\u{feff}').peekable();
    while let Some(character) = characters.next() {
        if in_text {
            out.push(character);
            in_text = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '"' => {
                in_text = true;
                out.push(character);
            }
            '{' | '[' => {
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                out.push(character);
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                    continue;
                }
                depth += 1;
                if depth > DEEPEST {
                    return None;
                }
                line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(character);
                line(&mut out, depth);
                if out.len() > most {
                    return None;
                }
            }
            ':' => out.push_str(": "),
            space if space.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
    out.push('\n');
    Some(out)
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn only_space_outside_of_texts_changes() {
        let given = "{ \"a\\\"{\" : 1e400,\"b\":[ ],\"c\":[1 ,2]}";
        let shown = indented(given).unwrap();
        assert_eq!(shown, "{\n  \"a\\\"{\": 1e400,\n  \"b\": [],\n  \"c\": [\n    1,\n    2\n  ]\n}\n");
        assert_eq!(indented("{"), None);
        let deep = "[".repeat(120) + &"]".repeat(120);
        assert_eq!(indented(&deep), None);
        let wide = "[".repeat(99) + &"1,".repeat(100_000) + "1" + &"]".repeat(99);
        assert_eq!(indented(&wide), None, "it would be a hundred times as long");
    }
}
