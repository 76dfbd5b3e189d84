//! The values that a setting can have, as data: its type, its bounds, and how a text becomes a value.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use process::Secret;

use crate::row::Form;
use crate::source::Source;

/// The values of a setting.
pub enum Values<T: 'static> {
    /// Whole numbers in a range.
    Number {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
        /// The value of a number in the range.
        of: fn(u64) -> T,
    },
    /// One of these words.
    Choice(&'static [(&'static str, T)]),
    /// A text.
    Text {
        /// Its value; none if it is wrong.
        of: fn(&str) -> Option<T>,
        /// In words, what it must be.
        expected: &'static str,
    },
    /// A list, separated by commas in a variable. An empty one is no absent one.
    List {
        /// Its value, or the item that is wrong.
        of: fn(&[String]) -> Result<T, String>,
        /// What of an item may be shown.
        shown: fn(&str) -> &str,
        /// In words, what the items must be.
        expected: &'static str,
    },
    /// A text that is never shown.
    Secret {
        /// Whether it can be used.
        is_right: fn(&str) -> bool,
        /// Its value.
        of: fn(Secret) -> T,
        /// In words, what it must be.
        expected: &'static str,
    },
}

impl<T: Clone + 'static> Values<T> {
    /// The value in a source; none if it has none.
    ///
    /// # Errors
    /// With the reason.
    pub(crate) fn read(&self, name: &str, source: &Source) -> Result<Option<T>, String> {
        match self {
            Self::List { of, .. } => source.list(name).map(|items| of(&items)).transpose(),
            Self::Secret { is_right, of, .. } => match source.secret(name) {
                None => Ok(None),
                Some(secret) if is_right(secret.expose()) => Ok(Some(of(secret))),
                Some(_) => Err(String::new()),
            },
            Self::Number { .. } | Self::Choice(_) | Self::Text { .. } => match source.text(name) {
                None => Ok(None),
                Some(text) => self.parse(text).map(Some).ok_or_else(|| text.to_owned()),
            },
        }
    }

    /// The value of a text; none if it is wrong.
    pub(crate) fn parse(&self, text: &str) -> Option<T> {
        match self {
            Self::Number { least, most, of } => {
                let number = text.trim().parse().ok();
                number.filter(|number| (*least..=*most).contains(number)).map(of)
            }
            Self::Choice(all) => {
                let found = all.iter().find(|(word, _)| *word == text.trim());
                found.map(|(_, value)| value.clone())
            }
            Self::Text { of, .. } => of(text.trim()),
            Self::List { of, .. } => of(&Source::items(text)).ok(),
            Self::Secret { is_right, of, .. } => is_right(text).then(|| of(Secret::from(text))),
        }
    }

    /// In words, what a value must be.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Number { least, most: u64::MAX, .. } => format!("a whole number from {least}"),
            Self::Number { least, most, .. } => format!("a whole number from {least} to {most}"),
            Self::Choice(all) => {
                let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
                match words.split_last() {
                    Some((last, [])) => (*last).to_owned(),
                    Some((last, others)) if others.len() > 3 => {
                        format!("one of {} or {last}", others.join(", "))
                    }
                    Some((last, others)) => format!("{} or {last}", others.join(", ")),
                    None => String::new(),
                }
            }
            Self::Text { expected, .. } | Self::List { expected, .. } | Self::Secret { expected, .. } => {
                (*expected).to_owned()
            }
        }
    }

    /// How a value is written in a file.
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Number { .. } => Form::Number,
            Self::Choice(all) if all.iter().any(|(word, _)| *word == "true") => Form::Flag,
            Self::Choice(_) | Self::Text { .. } => Form::Text,
            Self::List { .. } => Form::List,
            Self::Secret { .. } => Form::Secret,
        }
    }

    pub(crate) fn is_secret(&self) -> bool {
        matches!(self, Self::Secret { .. })
    }

    /// What is set, in its plainest form; none if it is a secret or absent.
    pub(crate) fn shown(&self, name: &str, source: &Source) -> Option<String> {
        match self {
            Self::Secret { .. } => None,
            Self::List { shown, .. } => {
                let items = source.list(name)?;
                Some(items.iter().map(|item| shown(item)).collect::<Vec<_>>().join(","))
            }
            Self::Number { .. } => {
                let text = source.text(name)?.trim();
                Some(text.parse::<u64>().map_or_else(|_| text.to_owned(), |number| number.to_string()))
            }
            Self::Choice(_) | Self::Text { .. } => Some(source.text(name)?.trim().to_owned()),
        }
    }
}

/// Whole numbers.
pub(crate) const fn number(least: u64, most: u64) -> Values<u64> {
    Values::Number { least, most, of: |number| number }
}

/// Whole numbers of something that is held in memory.
pub(crate) const fn count(least: u64, most: u64) -> Values<usize> {
    Values::Number { least, most, of: |number| usize::try_from(number).unwrap_or(usize::MAX) }
}

/// Whole numbers up to four billion.
pub(crate) const fn small(least: u64, most: u64) -> Values<u32> {
    Values::Number { least, most, of: |number| u32::try_from(number).unwrap_or(u32::MAX) }
}

/// Seconds.
pub(crate) const fn seconds(least: u64, most: u64) -> Values<Duration> {
    Values::Number { least, most, of: Duration::from_secs }
}

/// Milliseconds.
pub(crate) const fn milliseconds(least: u64, most: u64) -> Values<Duration> {
    Values::Number { least, most, of: Duration::from_millis }
}

/// Mebibytes, as bytes.
pub(crate) const fn mebibytes(least: u64, most: u64) -> Values<u64> {
    Values::Number { least, most, of: |number| number << 20 }
}

/// Yes or no.
pub(crate) const fn flag() -> Values<bool> {
    Values::Choice(&[("true", true), ("false", false)])
}

/// One of these words.
pub(crate) const fn choice<T>(all: &'static [(&'static str, T)]) -> Values<T> {
    Values::Choice(all)
}

/// Any text.
pub(crate) const fn text(expected: &'static str) -> Values<String> {
    Values::Text { of: |text| Some(text.to_owned()), expected }
}

/// A path. What lies below it is shown without the `./` of a relative one.
pub(crate) const fn path(expected: &'static str) -> Values<PathBuf> {
    let of = |text: &str| {
        let below = text.strip_prefix("./").filter(|below| !below.is_empty());
        Some(PathBuf::from(below.unwrap_or(text)))
    };
    Values::Text { of, expected }
}

/// An IP address and a port.
pub(crate) const fn listen() -> Values<SocketAddr> {
    let expected = "an address with a port, such as 127.0.0.1:8701 (port 0: any free one)";
    Values::Text { of: |text| text.parse().ok(), expected }
}

/// A list of any texts.
pub(crate) const fn list(expected: &'static str) -> Values<Vec<String>> {
    items(|items| Ok(items.to_vec()), expected)
}

/// A list of texts that are checked.
pub(crate) const fn items<T>(of: fn(&[String]) -> Result<T, String>, expected: &'static str) -> Values<T> {
    Values::List { of, shown: |item| item, expected }
}

/// A text that is checked.
pub(crate) const fn checked<T>(of: fn(&str) -> Option<T>, expected: &'static str) -> Values<T> {
    Values::Text { of, expected }
}

/// A secret.
pub(crate) const fn secret(is_right: fn(&str) -> bool, expected: &'static str) -> Values<Secret> {
    Values::Secret { is_right, of: |secret| secret, expected }
}
