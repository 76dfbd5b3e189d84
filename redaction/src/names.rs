//! Names of secrets: `DB_PASSWORD`, `apiKey`, `--auth-token`.

use std::ops::Range;

/// What such a name ends with, in any case.
pub(super) const NAME_ENDINGS: &[&str] = &[
    "token", "secret", "password", "passwd", "passphrase", "passwort", "pwd", "_pass", "-pass", "api_key",
    "api-key", "apikey", "access_key", "access-key", "accesskey", "secret_key", "secret-key", "secretkey",
    "private_key", "private-key", "privatekey", "account_key", "account-key", "accountkey", "signing_key",
    "signing-key", "signingkey", "encryption_key", "encryption-key", "encryptionkey", "master_key",
    "master-key", "masterkey", "auth_key", "auth-key", "authkey", "service_key", "app_key",
    "secret_key_base",
];

/// Tokens of pagination and of language models.
const NO_SECRETS: &str = "\
    nexttoken pagetoken continuationtoken paginationtoken startingtoken synctoken padtoken eostoken \
    bostoken unktoken septoken clstoken masktoken";

/// The longest name that is considered, in bytes.
const LONGEST: usize = 64;

/// The name that ends at `end`: the last part of a dotted path, without the dashes of a flag.
pub(super) fn before(text: &str, end: usize) -> Range<usize> {
    let bytes = &text.as_bytes()[..end];
    let belongs = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-');
    let length = bytes.iter().rev().take(LONGEST).take_while(belongs).count();
    let mut start = end - length;
    if matches!(bytes[start..], [b'n' | b'r' | b't', ..]) && bytes[..start].last() == Some(&b'\\') {
        start += 1;
    }
    let dashes = bytes[start..].iter().take_while(|byte| **byte == b'-').count();
    start + dashes..end
}

pub(super) fn names_secret(name: &str) -> bool {
    let name_bytes = name.as_bytes();
    let ends = |ending: &&str| {
        let from = name_bytes.len().checked_sub(ending.len());
        from.is_some_and(|from| name_bytes[from..].eq_ignore_ascii_case(ending.as_bytes()))
    };
    NAME_ENDINGS.iter().any(ends) && !is_harmless(name)
}

/// Whether it is known to name something else.
pub(super) fn is_harmless(name: &str) -> bool {
    let flat = flat(name);
    NO_SECRETS.split_ascii_whitespace().any(|harmless| flat.ends_with(harmless))
        || matches!(flat.as_str(), "pwd" | "oldpwd")
}

/// Whether it is written like an environment variable, as `DB_PASSWORD`.
pub(super) fn is_variable(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_uppercase()) && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether it has no other part, as `PASSWORD`, which is also a heading or the key of a translation.
pub(super) fn is_bare(name: &str) -> bool {
    NAME_ENDINGS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether people choose the value, so that it may be short and regular.
pub(super) fn is_chosen_by_people(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains("pass") || lower.contains("pwd")
}

fn flat(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_starts_at_its_last_part_and_ends_with_its_keyword() {
        for (text, name) in [
            ("export DB_PASSWORD", "DB_PASSWORD"),
            ("spring.datasource.password", "password"),
            ("--auth-token", "auth-token"),
            ("\\nAPI_KEY", "API_KEY"),
            ("\"apiKey", "apiKey"),
        ] {
            assert_eq!(&text[before(text, text.len())], name);
        }
    }

    #[test]
    fn names_of_secrets_are_distinguished_from_others() {
        for name in ["GITHUB_TOKEN", "dbPassword", "api_key", "x-api-key", "clientSecret", "MYSQL_PWD"] {
            assert!(names_secret(name), "{name}");
        }
        for name in
            ["tokens", "secretary", "PWD", "next_token", "nextPageToken", "key", "TOKEN_URL", "author"]
        {
            assert!(!names_secret(name), "{name}");
        }
    }
}
