//! A row with the type of its values.

use std::fmt;

use crate::error::SettingError;
use crate::row::{Form, Readers, Row, WhenUnset};
use crate::source::Source;
use crate::values::Values;

/// A setting that always has a value: the one that is set, or else its default.
pub struct Setting<T: 'static> {
    given: Optional<T>,
    default: &'static str,
}

/// A setting that can be absent.
pub struct Optional<T: 'static> {
    name: &'static str,
    readers: Readers,
    default: WhenUnset,
    values: Values<T>,
    meaning: &'static str,
}

impl<T: Clone + 'static> Setting<T> {
    pub(crate) const fn new(
        name: &'static str,
        readers: Readers,
        default: &'static str,
        values: Values<T>,
        meaning: &'static str,
    ) -> Self {
        Self {
            given: Optional { name, readers, default: WhenUnset::Value(default), values, meaning },
            default,
        }
    }

    /// The value that holds.
    ///
    /// # Errors
    /// If it is set to something else than the row allows.
    pub fn read(&self, source: &Source) -> Result<T, SettingError> {
        Ok(self.given(source)?.unwrap_or_else(|| self.default_value()))
    }

    /// The value that is set, if one is.
    ///
    /// # Errors
    /// If it is something else than the row allows.
    pub fn given(&self, source: &Source) -> Result<Option<T>, SettingError> {
        self.given.read(source)
    }

    /// The value of this text, if the row allows it.
    ///
    /// # Errors
    /// With the expected values.
    pub fn parse(&self, text: &str) -> Result<T, String> {
        self.given.parse(text)
    }

    /// The value that holds when nothing is set.
    pub fn default_value(&self) -> T {
        self.given.values.parse(self.default).expect("a test reads the default of each row")
    }

    /// The same as it would be set.
    pub const fn default_text(&self) -> &'static str {
        self.default
    }

    /// The variable.
    pub const fn name(&self) -> &'static str {
        self.given.name
    }

    /// An error about a value that is right by itself, but not beside other settings.
    pub fn refuse(&self, value: impl Into<String>, expected: impl Into<String>) -> SettingError {
        self.given.refuse(value, expected)
    }
}

impl<T: Clone + 'static> Optional<T> {
    pub(crate) const fn new(
        name: &'static str,
        readers: Readers,
        without: &'static str,
        values: Values<T>,
        meaning: &'static str,
    ) -> Self {
        Self { name, readers, default: WhenUnset::Words(without), values, meaning }
    }

    /// The value, if one is set.
    ///
    /// # Errors
    /// If it is something else than the row allows.
    pub fn read(&self, source: &Source) -> Result<Option<T>, SettingError> {
        let read = self.values.read(self.name, source);
        read.map_err(|wrong| self.refuse(wrong, self.values.expected()))
    }

    /// The value of this text, if the row allows it.
    ///
    /// # Errors
    /// With the expected values.
    pub fn parse(&self, text: &str) -> Result<T, String> {
        self.values.parse(text).ok_or_else(|| self.values.expected())
    }

    /// The variable.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// An error about a value that is right by itself, but not beside other settings.
    pub fn refuse(&self, value: impl Into<String>, expected: impl Into<String>) -> SettingError {
        let value = if self.values.is_secret() { "***".to_owned() } else { value.into() };
        SettingError::new(self.name, value, expected)
    }
}

impl<T: Clone + 'static> Row for Optional<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn default(&self) -> WhenUnset {
        self.default
    }

    fn expected(&self) -> String {
        self.values.expected()
    }

    fn form(&self) -> Form {
        self.values.form()
    }

    fn is_secret(&self) -> bool {
        self.values.is_secret()
    }

    fn readers(&self) -> Readers {
        self.readers
    }

    fn meaning(&self) -> &'static str {
        self.meaning
    }

    fn check(&self, source: &Source) -> Result<(), SettingError> {
        self.read(source).map(drop)
    }

    fn shown(&self, source: &Source) -> Option<String> {
        self.values.shown(self.name, source).or(match self.default {
            WhenUnset::Value(text) if !self.is_secret() => Some(text.to_owned()),
            WhenUnset::Value(_) | WhenUnset::Words(_) => None,
        })
    }
}

impl<T: Clone + 'static> Row for Setting<T> {
    fn name(&self) -> &'static str {
        self.given.name
    }

    fn default(&self) -> WhenUnset {
        self.given.default
    }

    fn expected(&self) -> String {
        self.given.expected()
    }

    fn form(&self) -> Form {
        self.given.form()
    }

    fn is_secret(&self) -> bool {
        self.given.is_secret()
    }

    fn readers(&self) -> Readers {
        self.given.readers
    }

    fn meaning(&self) -> &'static str {
        self.given.meaning
    }

    fn check(&self, source: &Source) -> Result<(), SettingError> {
        self.given.check(source)
    }

    fn shown(&self, source: &Source) -> Option<String> {
        self.given.shown(source)
    }
}

impl<T> fmt::Debug for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.given.name)
    }
}

impl<T> fmt::Debug for Optional<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
