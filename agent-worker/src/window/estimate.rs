//! How many tokens a text takes, without any model's vocabulary.
//!
//! Every model divides text in its own way. What they share is that a word of a language costs little, and
//! that hashes, base64, digits and symbols cost most of a token for each byte. A test holds the estimates
//! against a real tokenizer.

/// The estimated bytes per token of ordinary text. Code and most languages have more, but compacting early is
/// cheaper than a refused request.
const BYTES_PER_TOKEN: usize = 3;

/// Letters and digits in a row beyond which a word is no word but a hash or encoded data.
const LONGEST_WORD: usize = 20;

/// The estimated tokens of a text.
pub(crate) fn tokens_of_text(text: &str) -> usize {
    tokens_of_bytes(text.len()).max(pieces(text.as_bytes()))
}

/// The estimated tokens of so many bytes of ordinary text.
pub(crate) fn tokens_of_bytes(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// The estimated bytes of so many tokens of ordinary text.
pub(crate) fn bytes_of(tokens: usize) -> usize {
    tokens.saturating_mul(BYTES_PER_TOKEN)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Lower,
    Upper,
    Digit,
    Symbol,
    /// Part of a character beyond ASCII.
    Other,
}

impl Class {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => Self::Lower,
            b'A'..=b'Z' => Self::Upper,
            b'0'..=b'9' => Self::Digit,
            0..=b' ' => Self::Space,
            0x80.. => Self::Other,
            _ => Self::Symbol,
        }
    }

    fn is_in_words(self) -> bool {
        matches!(self, Self::Lower | Self::Upper | Self::Digit)
    }
}

/// The pieces at which tokenizers cut: changes within a word, digits by threes, symbols by ones and twos.
fn pieces(text: &[u8]) -> usize {
    let mut pieces = 0;
    let mut other_bytes = 0;
    let classes = |one: &u8, next: &u8| {
        let (one, next) = (Class::of(*one), Class::of(*next));
        one == next || (one.is_in_words() && next.is_in_words())
    };
    for run in text.chunk_by(classes) {
        match Class::of(run[0]) {
            Class::Space => {}
            Class::Symbol => pieces += (run.len() * 2).div_ceil(3),
            Class::Other => other_bytes += run.len(),
            Class::Lower | Class::Upper | Class::Digit if run.len() > LONGEST_WORD => {
                pieces += (run.len() * 2).div_ceil(3);
            }
            Class::Lower | Class::Upper | Class::Digit => pieces += parts_of_word(run),
        }
    }
    pieces + tokens_of_bytes(other_bytes)
}

fn parts_of_word(word: &[u8]) -> usize {
    let is_one_part = |one: &u8, next: &u8| {
        let (one, next) = (Class::of(*one), Class::of(*next));
        one == next || (one == Class::Upper && next == Class::Lower)
    };
    let parts = word.chunk_by(is_one_part);
    parts.map(|part| if part[0].is_ascii_digit() { part.len().div_ceil(3) } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use protocol::hash::sha256;

    /// Bytes that look random, always the same.
    fn hashes(count: usize) -> String {
        (0..count).map(|number| sha256(number.to_string().as_bytes())).collect()
    }

    fn check(what: &str, text: &str) {
        let real = tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len();
        let estimate = tokens_of_text(text);
        assert!(estimate * 10 >= real * 8, "{what}: {estimate} for {real} tokens in {} bytes", text.len());
        assert!(estimate <= real * 3, "{what}: {estimate} for {real} tokens in {} bytes", text.len());
    }

    #[test]
    fn estimates_are_close_to_a_real_tokenizer() {
        check("English", include_str!("../../../README.md"));
        check("a prompt", include_str!("../../prompts/system.md"));
        check("code", include_str!("mod.rs"));
        check("JSON", &include_str!("../../../openapi/tool-server.json")[..60_000]);
        check("versions and hashes", &include_str!("../../../Cargo.lock")[..40_000]);
        let german = "Wenn wir uns viele Jahre später daran erinnern, scheint es ein schöner Nachmittag. ";
        check("German", &german.repeat(20));
        let russian = "Когда мы много лет спустя вспоминаем об этом, нам кажется, что был прекрасный день. ";
        check("Russian", &russian.repeat(20));
        check(
            "Chinese",
            &"当我们在许多年以后回想起这件事情的时候，总会觉得那是一个非常美好的下午。".repeat(20),
        );
        check("hex", &hashes(100));
        check("base64", &STANDARD.encode(hashes(100)));
        let numbers: Vec<String> = (0..2000).map(|number| (number * 7919 % 1_000_003).to_string()).collect();
        check("numbers", &numbers.join(","));
        let rows = numbers.iter().map(|number| format!("{number},{number}.5,user{number}@example.org\n"));
        check("CSV", &rows.collect::<String>());
        check("symbols", &"{[()]};:<>?/|!@#$%^&*-_=+~`".repeat(50));
    }
}
