//! Whether a value that is assigned to a secret's name is a secret: one decision for each notation.

use super::super::false_positives::is_false_positive;
use super::super::found::Found;
use super::super::names;
use super::super::references::is_code_name;
use super::super::shape::{self, looks_random};
use super::line::{ends_line, opens_line};

/// Hash algorithms and integer types end in one of these: `sha256` is no password.
const WIDTHS: &[&str] = &["16", "32", "64", "128", "256", "384", "512"];

/// What the names of algorithms begin with, before a number: a key may be called after its own.
const ALGORITHMS: &[&str] = &[
    "aes", "argon", "base", "blake", "chacha", "curve", "ecdsa", "ed", "hmacsha", "md", "p", "pbkdf", "rsa",
    "secp", "sha", "x", "xchacha",
];

/// The last word of calls that store a value under a name.
const STORING: &[&str] =
    &["set", "put", "env", "define", "property", "setdefault", "default", "secret", "var"];

/// Whether a value under a JSON key that names a secret is one.
pub(in super::super) fn is_secret_under(key: &str, value: &str) -> bool {
    let found = Found { before: "", name: key, between: "\": \"", value, after: "\"" };
    names::names_secret(key) && is_quoted_secret(&found)
}

/// Whether a value that a command line assigns to a secret's name looks like a secret itself: one word with
/// letters and digits, nothing that a shell acts upon, no path.
pub(in super::super) fn is_secret_in_command(found: &Found<'_>) -> bool {
    let is_one_word = !found.value.contains(|c: char| c.is_whitespace() || ";|&<>(){}$`".contains(c));
    is_one_word && !found.value.starts_with(['.', '~']) && looks_typed(found)
}

pub(super) fn is_quoted_secret(found: &Found<'_>) -> bool {
    if is_excluded(found) {
        return false;
    }
    let tight = found.between.starts_with('=');
    let is_sentence = found.value.contains(char::is_whitespace);
    let mapped = !found.between.contains('=');
    if !names::is_variable(found.name) || names::is_bare(found.name) && mapped {
        return !is_sentence && looks_chosen_or_generated(found);
    }
    found.value.len() >= 4 && (tight || !is_sentence && !found.value.ends_with(':')) && !is_count(found)
}

pub(super) fn is_environment_secret(found: &Found<'_>) -> bool {
    let counts = names::is_variable(found.name) && opens_line(found.before);
    counts && found.value.len() >= 4 && !is_count(found) && !is_excluded(found)
}

pub(super) fn is_bare_secret(found: &Found<'_>) -> bool {
    if is_excluded(found) || is_used_in_code(found) || is_count(found) || is_json_number(found) {
        return false;
    }
    let alone = opens_line(found.before) && ends_line(found.after);
    let tight = found.between == "=";
    // A grammar has `TOKEN ::= LETTER`.
    let is_yaml = found.between.starts_with(':') && !found.between.starts_with("::");
    if names::is_variable(found.name) && (tight || alone && is_yaml) {
        return found.value.len() >= 4;
    }
    if tight && found.before.ends_with(['-', '?', '&']) {
        return looks_typed(found);
    }
    let is_field = tight && names::is_chosen_by_people(found.name) && found.after.starts_with([';', '&']);
    let is_named_in_code = is_code_name(found.value);
    looks_random(found.value) || (alone || is_field) && !is_named_in_code && looks_chosen_or_generated(found)
}

pub(super) fn is_chosen_secret(found: &Found<'_>) -> bool {
    found.before.ends_with(['<', ':']) && !is_excluded(found) && looks_chosen_or_generated(found)
}

pub(super) fn is_argument_secret(found: &Found<'_>) -> bool {
    let is_flag = found.before.ends_with('-');
    let is_image_variable = matches!(found.before.trim(), "ENV" | "ARG" | "setx" | "setenv");
    let takes = is_image_variable || is_flag && looks_typed(found);
    takes && !is_excluded(found)
}

pub(super) fn is_loosely_assigned_secret(found: &Found<'_>) -> bool {
    if is_excluded(found) {
        return false;
    }
    if is_stored(found) {
        return !is_count(found) && (names::is_variable(found.name) || looks_chosen_or_generated(found));
    }
    let is_sql = found.name.eq_ignore_ascii_case("password") && !found.between.contains(',');
    found.value.len() >= 6 && (looks_random(found.value) || is_sql && looks_chosen_or_generated(found))
}

/// Whether a call stores the value, as `setProperty("API_TOKEN", "…")`.
fn is_stored(found: &Found<'_>) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-\"'\\".contains(c);
    let call =
        found.before.trim_end_matches(is_name).strip_suffix('(').filter(|_| found.between.contains(','));
    let name = call.map(|call| call.rsplit(['.', ' ', ':']).next().unwrap_or(call));
    let words = name.map(shape::words).unwrap_or_default();
    let reads = words.first().is_some_and(|first| ["get", "has", "assert"].contains(&first.as_str()));
    !reads && words.last().is_some_and(|last| STORING.contains(&last.as_str()))
}

pub(super) fn is_paired_secret(found: &Found<'_>) -> bool {
    let is_literal = found.value.len() >= 4 && !is_count(found) && !is_excluded(found);
    is_literal && (names::is_variable(found.name) || looks_chosen_or_generated(found))
}

fn is_excluded(found: &Found<'_>) -> bool {
    let is_called_after_its_algorithm = !names::is_chosen_by_people(found.name) && is_algorithm(found.value);
    names::is_harmless(found.name)
        || is_called_after_its_algorithm
        || is_false_positive(found.name, found.value)
}

/// A value of a flag or in an address is a literal: letters and digits are enough.
fn looks_typed(found: &Found<'_>) -> bool {
    looks_chosen_or_generated(found) || found.value.len() >= 8 && is_mixed(found.value)
}

/// Letters and digits as in `hunter2` where people choose; else a long word of both, or a random one.
fn looks_chosen_or_generated(found: &Found<'_>) -> bool {
    // `apiToken` says more than `token`, which is also a word of a language.
    let shortest = if shape::words(found.name).len() > 1 { 8 } else { 16 };
    let is_long_word = found.value.len() >= shortest && !found.value.contains(['-', '_', '.', '/', ':']);
    let is_chosen = names::is_chosen_by_people(found.name) && found.value.len() >= 6;
    looks_random(found.value) || is_mixed(found.value) && (is_chosen || is_long_word)
}

fn is_mixed(value: &str) -> bool {
    let letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    letters && digits && !is_width(value) && !is_code_name(value)
}

/// `aes256gcm`, `secp256k1`.
fn is_algorithm(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let word = lower.split(|letter: char| letter.is_ascii_digit()).next().unwrap_or_default();
    let digits = lower[word.len()..].bytes().take_while(u8::is_ascii_digit).count();
    value.len() < 16 && ALGORITHMS.contains(&word) && digits > 0 && (digits > 2 || word.len() > 2)
}

/// `sha256`, `uint32`, `argon2id`: a word and a width.
fn is_width(value: &str) -> bool {
    let width = value.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    WIDTHS.contains(&width)
}

/// A number that is not a password: `MAX_TOKEN=4096`.
fn is_count(found: &Found<'_>) -> bool {
    let number = found.value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_' || byte == b'.');
    number && (found.value.len() < 6 || !names::is_chosen_by_people(found.name))
}

/// A number after a quoted key is JSON, which an unquoted placeholder would break.
fn is_json_number(found: &Found<'_>) -> bool {
    let quoted = found.between.trim_start_matches('\\').starts_with(['"', '\'']);
    quoted && found.value.starts_with(|first: char| first.is_ascii_digit() || first == '-')
}

/// A call, an index, a field or a type: `get_password()`, `tokens[0]`, `Option<String>`.
fn is_used_in_code(found: &Found<'_>) -> bool {
    found.after.starts_with(['(', '[', '{', '<'])
}
