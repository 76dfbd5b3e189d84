//! Values that only refer to a secret: variables, templates, fields, paths.

use super::shape::looks_random;

/// What marks a reference anywhere in a value.
const MARKS: &[&str] = &["${", "$(", "{{", "#{", "<%", "%(", "://"];

/// What a reference starts with.
const PREFIXES: &[&str] = &[
    "{", "<", "[", "(", "`", "%s", "%d", "%v", "%{", "arn:", "vault:", "env:", "file:", "op:", "ref+", "0x",
];

pub(super) fn is_reference(value: &str) -> bool {
    is_variable(value)
        || MARKS.iter().any(|mark| value.contains(mark))
        || PREFIXES.iter().any(|prefix| value.starts_with(prefix))
        || interpolates(value)
        || [".", "::", "->"].iter().any(|mark| value.contains(mark)) && is_name_path(value)
        || is_file(value)
}

/// A name of several words, as in code: `hash_of_v2`, `DEFAULT_TOKEN_V2`.
pub(super) fn is_code_name(value: &str) -> bool {
    is_identifier(value) && value.contains('_') && !looks_random(value)
}

/// `$TOKEN`, `%TOKEN%`, `@token`, YAML's `*token` and `!secret`. With a digit all but `$…` are passwords.
fn is_variable(value: &str) -> bool {
    let is_letters = |name: &str| is_identifier(name) && !name.bytes().any(|byte| byte.is_ascii_digit());
    let named = value.strip_prefix(['@', '!', '&', '*', '%']).map(|name| name.trim_end_matches('%'));
    value.strip_prefix('$').is_some_and(is_name_path) || named.is_some_and(is_letters)
}

/// Whether it has a part like `{password}` or `{}`.
fn interpolates(value: &str) -> bool {
    let mut parts = value.split('{').skip(1);
    parts.any(|part| part.split_once('}').is_some_and(|(name, _)| name.is_empty() || is_name_path(name)))
}

/// `self.password`, `settings::TOKEN`, `this->token`, `token`: names that do not look random.
fn is_name_path(value: &str) -> bool {
    let dotted = value.replace("::", ".").replace("->", ".").replace("?.", ".");
    dotted.split('.').all(|part| is_identifier(part) && !looks_random(part))
}

fn is_identifier(value: &str) -> bool {
    let starts = value.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    starts && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `/run/secrets/db`, `~/.ssh/id_rsa`.
fn is_file(value: &str) -> bool {
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| value.starts_with(root));
    rooted && value.split('/').all(|part| !looks_random(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_distinguished_from_values() {
        let references = "\
            ${DB_PASSWORD} $TOKEN $(cat %TOKEN% !secret *token {{token}} <token> {user}:{password} \
            var.db_password process.env.API_KEY settings::TOKEN this->token %s /run/secrets/db ~/.ssh/id_rsa \
            arn:aws:x https://x.invalid/token";
        for value in references.split_ascii_whitespace() {
            assert!(is_reference(value), "{value}");
        }
        for value in
            ["hunter2", "$2y$10$abcdefghij", "p{s-s}w0rd!1", "!Summer2024", "FAKEx1.y2z3a4b5", "/a1b2C3d4e5="]
        {
            assert!(!is_reference(value), "{value}");
        }
    }
}
