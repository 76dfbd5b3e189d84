//! The language of a text that is to be spoken: by its script, or by small words that are frequent.

use protocol::ToolError;
use toolkit::arguments::{elide, invalid};

const DEFAULT: &str = "en";
const MAX_BYTES: usize = 35;

/// Scripts that stand for one language, or for its most frequent one.
const SCRIPTS: [(std::ops::RangeInclusive<char>, &str); 11] = [
    ('\u{3040}'..='\u{30ff}', "ja"),
    ('\u{ac00}'..='\u{d7a3}', "ko"),
    ('\u{4e00}'..='\u{9fff}', "zh"),
    ('\u{0400}'..='\u{04ff}', "ru"),
    ('\u{0370}'..='\u{03ff}', "el"),
    ('\u{0590}'..='\u{05ff}', "he"),
    ('\u{0600}'..='\u{06ff}', "ar"),
    ('\u{0900}'..='\u{097f}', "hi"),
    ('\u{0e00}'..='\u{0e7f}', "th"),
    ('\u{10a0}'..='\u{10ff}', "ka"),
    ('\u{0530}'..='\u{058f}', "hy"),
];

/// Words of languages that are written in Latin letters.
const WORDS: [(&str, &str); 8] = [
    ("en", "the and is are was of to in you that it for with this not have what good"),
    ("de", "der die das und ist sind nicht ein eine ich du wir mit auf für von zu den guten es"),
    ("fr", "le la les et est sont des un une je tu nous vous pas pour dans que avec bonjour ce"),
    ("es", "el la los las y es son un una yo no para con que por en del está buenos gracias"),
    ("it", "il lo la gli e è sono un una io non per con che di del della questo buongiorno ciao"),
    ("pt", "o a os as e é são um uma eu não para com que de do da em você bom obrigado"),
    ("nl", "de het een en is zijn niet ik je we met op voor van dat goede dit ook"),
    ("pl", "i jest są nie to się na w z do że jak ja ty dzień dobry dla"),
];

/// The language of a text, as in BCP 47.
pub(super) fn detected(text: &str) -> &'static str {
    let of_script = |letter: char| SCRIPTS.iter().find(|(range, _)| range.contains(&letter));
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    let mut counts = [0_usize; SCRIPTS.len()];
    for (range, _) in text.chars().filter_map(of_script) {
        let at = SCRIPTS.iter().position(|(known, _)| known == range).unwrap_or_default();
        counts[at] += 1;
    }
    // Japanese is written with Chinese characters as well: its own decide.
    if let Some(at) = counts.iter().position(|count| *count > 0 && (*count * 3 > letters || *count > 4)) {
        return SCRIPTS[at].1;
    }
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|letter: char| !letter.is_alphabetic()).collect();
    let known = |of: &str| words.iter().filter(|word| of.split(' ').any(|known| known == **word)).count();
    let most =
        WORDS.iter().map(|(language, of)| (known(of), *language)).rev().max_by_key(|(count, _)| *count);
    most.filter(|(count, _)| *count > 0).map_or(DEFAULT, |(_, language)| language)
}

/// A language that the caller names.
pub(super) fn valid(lang: String) -> Result<String, ToolError> {
    let mut parts = lang.split('-');
    let is_language =
        |part: &str| (2..=3).contains(&part.len()) && part.chars().all(|letter| letter.is_ascii_alphabetic());
    let is_more =
        |part: &str| (1..=8).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric());
    if lang.len() <= MAX_BYTES && parts.next().is_some_and(is_language) && parts.all(is_more) {
        return Ok(lang);
    }
    let message = format!("`lang` is {:?}, which is no language.", elide(&lang, 40));
    Err(invalid(message).with_hint("Name it as in BCP 47, such as en, de or pt-BR, or leave it out."))
}

/// What programs that speak call a language: in small letters, and Mandarin for Chinese.
pub(super) fn voice(lang: &str) -> String {
    let lang = lang.to_ascii_lowercase();
    if lang == "zh" || lang.starts_with("zh-") { "cmn".to_owned() } else { lang }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_spoken_in_its_language() {
        for (text, expected) in [
            ("Good morning, this is the weather.", "en"),
            ("Guten Morgen, das ist das Wetter.", "de"),
            ("Bonjour, c'est la météo pour vous.", "fr"),
            ("Buenos días, el tiempo es bueno.", "es"),
            ("Bom dia, você não está em casa.", "pt"),
            ("Доброе утро", "ru"),
            ("今日は天気がいいです", "ja"),
            ("今天天气很好", "zh"),
            ("안녕하세요", "ko"),
            ("42", "en"),
            ("", "en"),
        ] {
            assert_eq!(detected(text), expected, "{text}");
        }
    }

    #[test]
    fn a_named_language_is_one_of_bcp_47() {
        for lang in ["en", "pt-BR", "zh-Hant-TW", "cmn"] {
            assert_eq!(valid(lang.to_owned()).unwrap(), lang);
        }
        for lang in ["", "e", "english", "en_US", "en; rm -rf /", "en-", "-en", "en-$(id)"] {
            assert!(valid(lang.to_owned()).is_err(), "{lang}");
        }
        assert_eq!([voice("zh-CN"), voice("pt-BR")], ["cmn", "pt-br"]);
    }
}
