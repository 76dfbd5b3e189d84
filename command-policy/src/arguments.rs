//! Options and operands, divided as most programs do.
//!
//! `-rf` is two options, `-n5` and `-n 5` are one with a value, `--` ends them. Lists of options are
//! written as one text, separated by blanks.

use super::word::Word;

pub(super) struct Arguments<'a> {
    /// `-r` and `--recursive` alike, each with its value if it takes one.
    options: Vec<(String, Option<&'a str>)>,
    /// The words that are neither an option nor the value of one, in order.
    pub(super) operands: Vec<&'a Word>,
    /// From the first operand on, all that follows.
    pub(super) rest: &'a [Word],
}

impl<'a> Arguments<'a> {
    /// Tells them apart; `valued` lists the options that take a value.
    pub(super) fn of(words: &'a [Word], valued: &str) -> Self {
        let mut arguments = Self { options: Vec::new(), operands: Vec::new(), rest: &[] };
        let mut index = 0;
        while let Some(word) = words.get(index) {
            let is_end = word.text() == "--";
            let is_option = word.text().len() > 1 && word.text().starts_with('-');
            index += usize::from(is_option);
            if arguments.operands.is_empty() && (is_end || !is_option) {
                arguments.rest = &words[index..];
            }
            if is_end {
                arguments.operands.extend(&words[index..]);
                break;
            } else if !is_option {
                arguments.operands.push(word);
                index += 1;
            } else if let Some(option) = arguments.note(word.text(), valued) {
                arguments.options.push((option, words.get(index).map(Word::text)));
                index += 1;
            }
        }
        arguments
    }

    /// Notes the options in one word; returns the one whose value is the next word.
    fn note(&mut self, text: &'a str, valued: &str) -> Option<String> {
        if text.starts_with("--") {
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            if value.is_none() && listed(valued, name) {
                return Some(name.to_owned());
            }
            self.options.push((name.to_owned(), value));
            return None;
        }
        for (index, letter) in text.char_indices().skip(1) {
            let option = format!("-{letter}");
            let value = &text[index + letter.len_utf8()..];
            match (listed(valued, &option), value) {
                (true, "") => return Some(option),
                (true, value) => {
                    self.options.push((option, Some(value)));
                    return None;
                }
                (false, _) => self.options.push((option, None)),
            }
        }
        None
    }

    /// Whether any of these options is given.
    pub(super) fn has(&self, options: &str) -> bool {
        self.options.iter().any(|(option, _)| listed(options, option))
    }

    /// Whether no other options than these are given.
    pub(super) fn has_only(&self, options: &str) -> bool {
        self.options.iter().all(|(option, _)| listed(options, option))
    }

    /// The values of these options.
    pub(super) fn values(&self, options: &str) -> Vec<&'a str> {
        let given = self.options.iter().filter(|(option, _)| listed(options, option));
        given.filter_map(|(_, value)| *value).collect()
    }
}

/// Whether a list, separated by blanks, has this word.
pub(super) fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}
