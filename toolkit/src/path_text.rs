//! A path as a caller writes it. What its schema allows is read by `files`, which also says which file it is.

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Characters other than NUL and the backslash, and the escapes in which names are shown.
const PATTERN: &str = r"^([^\u0000\\]|\\([\\nrt]|x[0-9A-Fa-f]{2}|u\{[0-9A-Fa-f]{1,6}\}))+$";

/// A path in a call's arguments, with the escapes in which tools show names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PathText(#[schemars(length(min = 1), regex(pattern = PATTERN))] String);

impl Deref for PathText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for PathText {
    fn from(path: &str) -> Self {
        Self(path.to_owned())
    }
}

/// Why a text is no path; none if another rule refused it.
pub(crate) fn complaint(pattern: &str, text: &str) -> Option<&'static str> {
    let complaint = if text.contains('\0') {
        "has a NUL byte, which no file name can have"
    } else {
        "has a backslash that does not begin an escape; write a backslash in a name as `\\\\`, and pass \
         names back exactly as tools show them"
    };
    (pattern == PATTERN).then_some(complaint)
}
