//! Options and operands, told apart the way most programs do.
//!
//! `-rf` is two options, `-n5` and `-n 5` are one with a value, `--` ends them. Which options take a
//! value is the program's own matter and comes in from outside.

use super::word::Word;

/// The arguments of one command, told apart.
pub(super) struct Arguments<'a> {
    /// `-r` and `--recursive` alike, without values.
    options: Vec<String>,
    /// What is no option and no option's value, in order.
    pub(super) operands: Vec<&'a Word>,
}

impl<'a> Arguments<'a> {
    /// Tells apart; `valued` are the options that take the next word as their value.
    pub(super) fn of(words: &'a [Word], valued: &[&str]) -> Self {
        let mut arguments = Self { options: Vec::new(), operands: Vec::new() };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.text() {
                "--" => {
                    arguments.operands.extend(rest);
                    break;
                }
                text if !is_option(text) => arguments.operands.push(word),
                text => {
                    if arguments.note(text, valued) {
                        rest.next();
                    }
                }
            }
        }
        arguments
    }

    /// Whether any of these options is given.
    pub(super) fn has(&self, options: &[&str]) -> bool {
        self.options.iter().any(|option| options.contains(&option.as_str()))
    }

    /// The operand at a place, if it is known.
    pub(super) fn known(&self, index: usize) -> Option<&'a str> {
        self.operands.get(index).and_then(|word| word.known())
    }

    /// Notes an option word; true if the next word is its value.
    fn note(&mut self, text: &str, valued: &[&str]) -> bool {
        let (options, takes_next) = read_option(text, valued);
        self.options.extend(options);
        takes_next
    }
}

/// How many words at the front are options and their values, `--` included.
pub(super) fn options_at_front(words: &[Word], valued: &[&str]) -> usize {
    let mut index = 0;
    while let Some(text) = words.get(index).map(Word::text).filter(|text| text.starts_with('-')) {
        index += 1;
        match text {
            "--" => break,
            "-" => return index - 1,
            _ => index += usize::from(read_option(text, valued).1),
        }
    }
    index.min(words.len())
}

fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

/// The options in a word that begins with a dash, and whether the last of them takes the next word.
fn read_option(text: &str, valued: &[&str]) -> (Vec<String>, bool) {
    if text.starts_with("--") {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        return (vec![name.to_owned()], value.is_none() && valued.contains(&name));
    }
    let mut options = Vec::new();
    let mut letters = text.chars().skip(1);
    while let Some(letter) = letters.next() {
        let option = format!("-{letter}");
        let takes_value = valued.contains(&option.as_str());
        options.push(option);
        if takes_value {
            return (options, letters.next().is_none());
        }
    }
    (options, false)
}
