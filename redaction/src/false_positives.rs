//! Values that look like secrets and are none: dummies, references, names, words.
//!
//! These pure functions decide whether the value next to a secret's name is a secret. They lean towards
//! ordinary text in what people write (`password = var.db_password`), and towards secrets in the output of
//! machines.

use super::found::Found;
use super::references::is_reference;
use super::shape::{is_monotonous, looks_random, reads_as_words, words};

/// What documentation writes in place of a secret, in lower case.
const DUMMIES: &str = "\
    example placeholder redacted changeme change-me change_me change-this change_this your- your_ \
    mytoken yourtoken yourapi yourpass yoursecret yourkey replace- replace_ insert- insert_ *** ... … •";

/// Words for types, for empty values and for states.
const WORDS: &str = "\
    none null nil true false undefined empty unset default required optional hidden masked secure \
    omitted invalid missing expired valid str string strings bytes bool boolean int integer number \
    object any text unknown void char varchar secretstr secretstring cstring symbol array self this \
    test disabled enabled prompt stdin keyring keychain argon2 argon2id";

/// Words in names of secrets. A value that consists of these alone is a name.
const NAMING_WORDS: &str = "\
    access account admin api apikey app application auth authorization authtoken base bearer bot \
    client confirm credential credentials csrf current database db default encryption env field \
    forgot from get git github gitlab header here id in input invalid is jwt key login master my \
    name new no oauth of old or pass passphrase passwd password passwords private public pw pwd \
    refresh reset root secret secrets service session set signing slack some telegram the to token \
    tokens type user username value web webhook with x xsrf your";

/// Whether a token in a known format is a real one, and no name in code that begins like one.
pub(super) fn is_not_dummy(found: &Found<'_>) -> bool {
    !is_dummy(found.value) && !reads_as_words(found.value)
}

/// Whether a token whose prefix and length no name in code has is a real one.
pub(super) fn is_no_placeholder(found: &Found<'_>) -> bool {
    !is_dummy(found.value)
}

/// Whether a token in a weak format looks random, or at least reads as no name.
pub(super) fn is_random(found: &Found<'_>) -> bool {
    !is_dummy(found.value) && (looks_random(found.value) || !reads_as_words(found.value))
}

/// Whether the value is certainly no secret, whatever it is assigned to.
pub(super) fn is_false_positive(name: &str, value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    is_dummy(value)
        || WORDS.split_ascii_whitespace().any(|word| word == lower)
        || is_reference(value)
        || is_made_of_names(name, value)
}

/// Whether documentation or a mask put it in place of a secret.
pub(super) fn is_dummy(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    DUMMIES.split_ascii_whitespace().any(|dummy| lower.contains(dummy)) || is_monotonous(value)
}

/// Whether it consists of the name's own words and of words in names of secrets, or ends in such a word:
/// `access_token`, `app.token`, `my-secret`.
fn is_made_of_names(name: &str, value: &str) -> bool {
    let values = words(value);
    let names = words(name);
    let is_naming = |word: &String| {
        names.contains(word) || NAMING_WORDS.split_ascii_whitespace().any(|naming| naming == word)
    };
    if values.is_empty() {
        return !value.bytes().any(|byte| byte.is_ascii_digit());
    }
    let punctuated = value.bytes().any(|byte| b"!@#$%^&*".contains(&byte));
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-.: ".contains(&byte));
    let ends_as_name = values.len() > 1 && values.last().is_some_and(is_naming) && !looks_random(value);
    values.iter().all(is_naming) && !punctuated || is_plain && ends_as_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_references_and_dummies_are_no_secrets() {
        let harmless = "\
            ${DB_PASSWORD} <your-token> *** var.db_password changeme your-api-key access_token password1 \
            xxxxxxxxxx String None app.token user_password my-secret //// dbPassword";
        for value in harmless.split_ascii_whitespace() {
            assert!(is_false_positive("password", value), "{value}");
        }
        for value in
            ["hunter2", "FAKEx1y2z3", "swordfish", "Summer2024!", "12345678", "P@ssw0rd!", "password!1"]
        {
            assert!(!is_false_positive("password", value), "{value}");
        }
    }
}
