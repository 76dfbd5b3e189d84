//! A tool's doc comment, divided by reader: what models get, and what only people get.

/// The heading in a doc comment from which on the text is for people.
const DETAILS: &str = "# Details";

pub(crate) struct Description {
    /// For models.
    pub(crate) text: String,
    /// For people; may be empty.
    pub(crate) details: String,
}

impl Description {
    /// Divides a doc comment. `more` ends its first paragraph.
    pub(crate) fn of(comment: &str, more: Option<&str>) -> Self {
        let (text, details) = comment.split_once(DETAILS).unwrap_or((comment, ""));
        let mut text = text.trim_end().to_owned();
        if let Some(more) = more {
            let end = text.find("\n\n").unwrap_or(text.len());
            text.insert_str(end, &format!("\n{more}"));
        }
        Self { text, details: details.trim().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(comment: &str, more: Option<&str>, text: &str, details: &str) {
        let description = Description::of(comment, more);
        assert_eq!((description.text.as_str(), description.details.as_str()), (text, details), "{comment}");
    }

    #[test]
    fn what_follows_the_heading_is_for_people() {
        check("Lists.", None, "Lists.", "");
        check(
            "Lists.\n\nSorted.\n\n# Details\nBy bytes.\n\nReally.",
            None,
            "Lists.\n\nSorted.",
            "By bytes.\n\nReally.",
        );
    }

    #[test]
    fn what_the_server_adds_is_in_the_first_paragraph() {
        check("Reads a skill.", Some("- a: b"), "Reads a skill.\n- a: b", "");
        check("Reads a skill.\n\nUse it.", Some("- a: b"), "Reads a skill.\n- a: b\n\nUse it.", "");
    }
}
