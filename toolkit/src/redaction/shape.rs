//! The shape of a value: random, or made of words.
//!
//! Letters, capitals and digits alternate quickly in random values and slowly in names. This alone never
//! makes a secret: it decides only about values after a secret's name or prefix.

/// Whether capitals, letters and digits alternate inside its words as in a random value: on average after
/// fewer than three and a half characters, or often after one or two.
///
/// The runs of `camelCase`, of `sha256sum` and of `my-app-tls-v2` are longer.
pub(super) fn looks_random(value: &str) -> bool {
    let words = value.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<Vec<usize>> = words.map(runs).filter(|runs| !runs.is_empty()).collect();
    let runs: usize = words.iter().map(Vec::len).sum();
    let short = words.iter().flatten().filter(|length| **length <= 2).count();
    let length: usize = words.iter().flatten().sum();
    let turns = runs - words.len();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let quickly = turns >= 3 && length * 2 < turns * 7;
    let often = turns >= 4 && short * 2 >= runs;
    length >= 8 && letters * 5 >= value.len() && (quickly || often) || is_uuid(value)
}

/// The lengths of the runs of one kind in a word; a capital belongs to the lower-case letters after it.
fn runs(word: &str) -> Vec<usize> {
    let mut runs: Vec<usize> = Vec::new();
    let mut previous = None;
    for kind in word.bytes().filter_map(Kind::of) {
        let is_title = runs.last() == Some(&1) && previous == Some(Kind::Upper) && kind == Kind::Lower;
        match runs.last_mut() {
            Some(run) if is_title || previous == Some(kind) => *run += 1,
            _ => runs.push(1),
        }
        previous = Some(kind);
    }
    runs
}

/// Some UUIDs have few letters, or many.
fn is_uuid(value: &str) -> bool {
    let groups = value.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12]) && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Whether two characters make up most of it, as in `ghp_xxxxxxxx`.
pub(super) fn is_monotonous(value: &str) -> bool {
    let mut counts = [0_usize; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    counts.sort_unstable();
    (counts[254] + counts[255]) * 10 >= value.len() * 7
}

/// The words of a name, in lower case and without numbers: `dbPassword2` is `db` and `password`.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for letter in text.chars() {
        if !letter.is_alphabetic() || letter.is_uppercase() && after_lower {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if letter.is_alphabetic() {
            word.extend(letter.to_lowercase());
        }
        after_lower = letter.is_lowercase();
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    Digit,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        match byte {
            b'A'..=b'Z' => Some(Self::Upper),
            b'a'..=b'z' => Some(Self::Lower),
            b'0'..=b'9' => Some(Self::Digit),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_look_random_and_words_do_not() {
        for value in [
            "FAKEGOATXWhQvsTot5O3d1fz",
            "8a9783bf-0867-4e6e-a0eb-61232d8050fe",
            "aeb4744f051c5d85983ec8eb1b7a2a34",
            "11111111-2222-3333-4444-555555555555",
        ] {
            assert!(looks_random(value), "{value}");
        }
        for value in [
            "risk-assessment-framework-2024-report",
            "resetPasswordToken",
            "sha256sum",
            "Base64UrlToken",
            "x86_64-unknown-linux-gnu",
            "12:34:56.789",
            "utf8-text",
            "my-app-tls-v2",
            "v1.2.3-alpha.4",
            "2024-01-02T10:11:12Z",
        ] {
            assert!(!looks_random(value), "{value}");
        }
    }

    #[test]
    fn words_end_at_capitals_and_at_anything_but_letters() {
        assert_eq!(words("dbPassword2"), ["db", "password"]);
        assert_eq!(words("MY_API-key"), ["my", "api", "key"]);
    }
}
