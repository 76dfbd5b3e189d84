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

/// Whether a value in a token's format is a name after all: most of its letters are in words that can be
/// pronounced, with numbers at their ends alone, as in `hf_hub_download_2` and `rk_live_updateHandlerOfRows`.
///
/// A random value of 20 characters passes for one in fewer than one of 100,000 cases.
pub(super) fn reads_as_words(value: &str) -> bool {
    let segments = || value.split(|letter: char| !letter.is_ascii_alphanumeric());
    let all: usize = segments().map(str::len).sum();
    let readable: usize = segments().filter(|segment| is_readable(segment)).map(str::len).sum();
    all > 0 && readable * 4 >= all * 3
}

/// The longest number after a word.
const MAX_NUMBER: usize = 4;

/// In a segment such as `getIdOfX`, so many words may be shorter than three letters, and one may be an
/// abbreviation in capitals, which is at most so long.
const MAX_SHORT_WORDS: usize = 2;
const MAX_ABBREVIATION: usize = 5;

/// From this length on, a word must have as many vowels as words have on average.
const LONG_WORD: usize = 12;

fn is_readable(segment: &str) -> bool {
    let letters = segment.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if segment.len() - letters.len() > MAX_NUMBER || letters.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    match *camel_words(letters) {
        [word] => is_pronounceable(word),
        ref words => {
            let is_abbreviation = |word: &&&str| word.len() > 1 && is_in_capitals(word);
            words.iter().filter(|word| word.len() < 3).count() <= MAX_SHORT_WORDS
                && words.iter().filter(is_abbreviation).count() <= 1
                && words.iter().all(|word| is_camel_word(word))
        }
    }
}

/// The words of `getHTTPUrl2`: each begins at a capital after a small letter, or before one.
fn camel_words(letters: &str) -> Vec<&str> {
    let bytes = letters.as_bytes();
    let begins = |at: usize| {
        bytes[at].is_ascii_uppercase()
            && (bytes[at - 1].is_ascii_lowercase()
                || bytes.get(at + 1).is_some_and(|next| next.is_ascii_lowercase()))
    };
    let mut words = Vec::new();
    let mut from = 0;
    for at in (1..bytes.len()).filter(|at| begins(*at)) {
        words.push(&letters[from..at]);
        from = at;
    }
    words.push(&letters[from..]);
    words
}

fn is_in_capitals(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_camel_word(word: &str) -> bool {
    if is_in_capitals(word) {
        word.len() <= MAX_ABBREVIATION
    } else {
        word.bytes().any(is_vowel) && longest_run(word, |byte| !is_vowel(byte)) <= 3
    }
}

/// Whether vowels and consonants alternate as in a word, or it is short.
fn is_pronounceable(word: &str) -> bool {
    let vowels = word.bytes().filter(|byte| is_vowel(*byte)).count();
    let (consonants, share) = if word.len() < LONG_WORD { (4, 1) } else { (3, 3) };
    word.len() < 4
        || longest_run(word, |byte| !is_vowel(byte)) <= consonants
            && longest_run(word, is_vowel) <= 3
            && vowels > 0
            && vowels * 10 >= word.len() * share
}

fn is_vowel(byte: u8) -> bool {
    b"aeiouy".contains(&byte.to_ascii_lowercase())
}

fn longest_run(word: &str, belongs: fn(u8) -> bool) -> usize {
    word.as_bytes().split(|byte| !belongs(*byte)).map(<[u8]>::len).max().unwrap_or(0)
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
        let regular = "\
            risk-assessment-framework-2024-report resetPasswordToken sha256sum Base64UrlToken \
            x86_64-unknown-linux-gnu 12:34:56.789 utf8-text my-app-tls-v2 v1.2.3-alpha.4 \
            2024-01-02T10:11:12Z";
        for value in regular.split_whitespace() {
            assert!(!looks_random(value), "{value}");
        }
    }

    #[test]
    fn names_read_as_words_and_tokens_do_not() {
        let names = "\
            hf_hub_download_with_a_long_function_name sk_test_connection_timeout \
            github_pat_validation_error_message_for_users rk_live_updateHandlerOfRows \
            NPM_CONFIG_REGISTRY_2 fw_getFirmwareVersionString1 API-INTEGRATIONTESTSUITERUNNERS";
        for value in names.split_whitespace() {
            assert!(reads_as_words(value), "{value}");
        }
        for value in
            ["hf_FAKEqwRtBnmKlopYtrEwqZxcvBnMasDf", "x1_y2z3a4b5", "npm_FAKEmHMPGPPA0NlGtetOd4UY", ""]
        {
            assert!(!reads_as_words(value), "{value}");
        }
    }

    #[test]
    fn words_end_at_capitals_and_at_anything_but_letters() {
        assert_eq!(words("dbPassword2"), ["db", "password"]);
        assert_eq!(words("MY_API-key"), ["my", "api", "key"]);
    }
}
