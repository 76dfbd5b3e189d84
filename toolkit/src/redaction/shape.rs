//! The shape of a value: generated, or made of words.
//!
//! Letters, capitals and digits take turns quickly in what a machine has drawn, and slowly in what people
//! have named. This alone never makes a secret; it decides where a secret's name or prefix is before it.

/// Whether letters and digits take turns as in a generated value: on average after fewer than three.
///
/// Words, also those of `camelCase` and of `sha256sum`, last longer; a UUID and hex change as fast.
pub(super) fn looks_random(value: &str) -> bool {
    let mut runs = 0;
    let mut letters = 0;
    let mut digits = 0;
    let mut previous = Kind::Other;
    let mut run = 0;
    for byte in value.bytes() {
        let kind = Kind::of(byte);
        let goes_on = kind == previous || run == 1 && previous == Kind::Upper && kind == Kind::Lower;
        run = if goes_on { run + 1 } else { 1 };
        runs += usize::from(!goes_on && kind != Kind::Other);
        letters += usize::from(matches!(kind, Kind::Upper | Kind::Lower));
        digits += usize::from(kind == Kind::Digit);
        previous = kind;
    }
    letters + digits >= 8 && letters * 5 >= value.len() && runs >= 4 && letters + digits < 3 * runs
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
    Other,
}

impl Kind {
    fn of(byte: u8) -> Self {
        match byte {
            b'A'..=b'Z' => Self::Upper,
            b'a'..=b'z' => Self::Lower,
            b'0'..=b'9' => Self::Digit,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_values_look_random_and_words_do_not() {
        for value in [
            "FAKEGOATXWhQvsTot5O3d1fz",
            "8a9783bf-0867-4e6e-a0eb-61232d8050fe",
            "aeb4744f051c5d85983ec8eb1b7a2a34",
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
        ] {
            assert!(!looks_random(value), "{value}");
        }
    }

    #[test]
    fn words_end_at_capitals_and_at_what_is_no_letter() {
        assert_eq!(words("dbPassword2"), ["db", "password"]);
        assert_eq!(words("MY_API-key"), ["my", "api", "key"]);
    }
}
