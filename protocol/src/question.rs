//! What a call asks a person whose answer is its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most characters of an answer: as many as one message of a chat has.
pub const MAX_ANSWER_CHARS: usize = 4096;

/// A question whose answer is the result of its call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The question.
    pub text: String,
    /// What can be chosen, in order; empty if only a text of the person's own is an answer.
    pub options: Vec<String>,
    /// Whether a text of the person's own is an answer.
    pub takes_text: bool,
}

impl Question {
    /// The option that a text chooses: by its words, in whatever case, or by its number, counted from 1.
    pub fn option_of(&self, text: &str) -> Option<usize> {
        let text = text.trim().to_lowercase();
        let named = self.options.iter().position(|option| option.trim().to_lowercase() == text);
        let numbered = || text.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < self.options.len());
        named.or_else(numbered)
    }

    /// What a text answers: an option as it is written, or else the text itself, if that is allowed.
    pub fn answer_of(&self, text: &str) -> Option<String> {
        match self.option_of(text) {
            Some(option) => self.options.get(option).cloned(),
            None => self.takes_text.then(|| text.trim().to_owned()).filter(|text| !text.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_an_option_by_its_words_or_number_and_else_itself() {
        let options = ["Red", "2", "Blue"].map(str::to_owned).to_vec();
        let mut question = Question { text: String::new(), options, takes_text: false };
        for (text, option, own) in [
            (" red ", Some("Red"), None),
            ("2", Some("2"), None),
            ("3", Some("Blue"), None),
            ("4", None, Some("4")),
            ("0", None, Some("0")),
            (" green\n", None, Some("green")),
            ("  ", None, None),
        ] {
            question.takes_text = false;
            assert_eq!(question.answer_of(text).as_deref(), option, "{text:?}");
            question.takes_text = true;
            assert_eq!(question.answer_of(text).as_deref(), option.or(own), "{text:?}");
        }
    }
}
