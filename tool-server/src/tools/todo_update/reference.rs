//! References to people in a text: `Anna (tg:@anna)`.

/// The schemes of references.
const SCHEMES: [&str; 5] = ["tg", "slack", "discord", "maep", "telegram"];

/// The text in parentheses that looks like a reference, in its order, valid or not.
pub(super) fn references(text: &str) -> Vec<&str> {
    spans(text).map(|(start, end)| &text[start + 1..end - 1]).collect()
}

/// The text without its references and the space before them.
pub(super) fn without_references(text: &str) -> String {
    let (mut rest, mut from) = (String::with_capacity(text.len()), 0);
    for (start, end) in spans(text) {
        rest.push_str(text[from..start].trim_end_matches(' '));
        from = end;
    }
    rest + &text[from..]
}

/// Whether a reference has one of the forms `tg:<int64>`, `tg:@<username>`, `slack:<id>`, `discord:<id>`,
/// `maep:<id>`.
pub(super) fn is_valid(reference: &str) -> bool {
    let Some((scheme, id)) = reference.split_once(':') else { return false };
    let is_word = |id: &str| {
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    match (scheme, id.strip_prefix('@')) {
        ("tg", Some(name)) => {
            name.len() >= 3 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        }
        ("tg", None) => id.parse::<i64>().is_ok_and(|number| number != 0),
        ("slack" | "discord" | "maep", None) => is_word(id),
        _ => false,
    }
}

/// Parentheses whose content begins like a reference, or is empty, with their ends.
pub(super) fn spans(text: &str) -> impl Iterator<Item = (usize, usize)> {
    text.match_indices('(').filter_map(|(start, _)| {
        let end = start + 1 + text[start + 1..].find([')', '('])?;
        let inside = &text[start + 1..end];
        let is_closed = text[end..].starts_with(')');
        let is_one = inside.trim().is_empty()
            || inside.split_once(':').is_some_and(|(scheme, _)| SCHEMES.contains(&scheme.trim()));
        (is_closed && is_one).then_some((start, end + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_and_taken_out() {
        let text = "Ask Anna (tg:@anna) and Bob (slack:U1) (soon) about it ()";
        assert_eq!(references(text), ["tg:@anna", "slack:U1", ""]);
        assert_eq!(without_references(text), "Ask Anna and Bob (soon) about it");
        assert_eq!(without_references("nothing (at all) here"), "nothing (at all) here");
        assert_eq!(references("((tg:1) (tg:2"), ["tg:1"]);
    }

    #[test]
    fn only_the_forms_of_the_contract_are_valid() {
        for valid in ["tg:1001", "tg:-1001", "tg:@anna_b", "slack:U01", "discord:12", "maep:a.b-c"] {
            assert!(is_valid(valid), "{valid}");
        }
        for not in
            ["", "tg:", "tg:0", "tg:anna", "tg:@", "tg:@a b", "slack:", "telegram:1", "mail:a@b", "tg: 1"]
        {
            assert!(!is_valid(not), "{not}");
        }
    }
}
