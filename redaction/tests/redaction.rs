//! Redaction from outside: the attack corpus, our own secrets, JSON, and properties of any text.
//!
//! The corpus is the copy in `tests/data`; its secrets are kept in parts, so that no scanner of source code
//! finds one.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE as BASE64_URL};
use proptest::prelude::*;
use redaction::{PLACEHOLDER, Redactor};
use serde_json::{Value, json};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/attacks.jsonl");

/// A secret of ours with every character that an encoding can change.
const OWN: &str = "ours/ä \"1\"+x~y";

fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new([OWN, "oak5"]));
    &REDACTOR
}

fn cases(category: &str) -> Vec<Value> {
    let corpus = std::fs::read_to_string(CORPUS).expect("the corpus is in the repository");
    let cases = corpus.lines().map(|line| serde_json::from_str::<Value>(line).expect("a case a line"));
    cases.filter(|case| case["category"] == category && case["text"].is_string()).collect()
}

fn secret_of(case: &Value) -> String {
    case["secret_parts"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The forms of a text in an answer: unchanged, inside JSON, with line numbers, from `grep`.
fn shown(text: &str) -> [String; 5] {
    let numbered = text.lines().zip(1..).map(|(line, number)| format!("{number}\t{line}\n")).collect();
    let found = text.lines().zip(1..).map(|(line, number)| format!("src/a.txt:{number}:{line}\n")).collect();
    let inner = json!(text).to_string();
    [text.to_owned(), inner.clone(), json!({ "stdout": inner }).to_string(), numbered, found]
}

#[test]
fn every_secret_of_the_corpus_is_redacted_in_every_form() {
    let cases = cases("redaction_positive");
    assert!(cases.len() >= 28, "{}", cases.len());
    for case in cases {
        let secret = secret_of(&case);
        let template = case["text"].as_str().unwrap();
        for text in shown(&template.replace("{SECRET}", &secret)) {
            let clean = redactor().redact(&text).into_owned();
            assert!(clean.contains(PLACEHOLDER), "{}: {text} became {clean}", case["id"]);
            for line in secret.lines().filter(|line| line.len() > 12) {
                assert!(!clean.contains(line), "{}: {text} became {clean}", case["id"]);
            }
        }
        let expected = template.replace("{SECRET}", PLACEHOLDER);
        assert_eq!(redactor().redact(&template.replace("{SECRET}", &secret)), expected, "{}", case["id"]);
    }
}

#[test]
fn every_harmless_text_of_the_corpus_stays() {
    let cases = cases("redaction_negative");
    assert!(cases.len() >= 21, "{}", cases.len());
    for case in cases {
        for text in shown(case["text"].as_str().unwrap()) {
            assert!(
                matches!(redactor().redact(&text), Cow::Borrowed(same) if same == text),
                "{}",
                case["id"]
            );
        }
    }
}

#[test]
fn our_own_secrets_are_found_in_every_encoding() {
    for form in [
        OWN,
        "b3Vycy/DpCAiMSIreH55",
        "b3Vycy_DpCAiMSIreH55",
        "6f7572732fc3a42022312 22b787e79".replace(' ', "").as_str(),
        "6F7572732FC3A4202231222B787E79",
        "ours%2F%C3%A4%20%221%22%2Bx~y",
        "ours%2f%c3%a4%20%221%22%2bx~y",
        "ours%2F%C3%A4+%221%22%2Bx%7Ey",
        "ours/ä \\\"1\\\"+x~y",
        "ours/\\u00e4 \\\"1\\\"+x~y",
        "ours\\/ä \\\"1\\\"+x~y",
        "ours\\/\\u00e4 \\\"1\\\"+x~y",
    ] {
        assert_eq!(redactor().redact(&format!("a{form}b")), format!("a{PLACEHOLDER}b"), "{form}");
    }
    assert_eq!(redactor().redact("oak5 oak55"), format!("{PLACEHOLDER} oak55"));
}

#[test]
fn a_value_is_redacted_at_any_depth_and_under_the_name_of_a_secret() {
    let key = concat!("ghp_", "FAKEqB5MgSBLlDTieKDsetmpCkeevCuwbMjR");
    let mut value = json!({
        "a": [{"b": format!("x {key} y")}],
        "api_key": "FAKEx1y2z3a4b5c6",
        "env": [{"name": "DB_PASSWORD", "value": "swordfish"}],
        "DB_PASSWORD": ["swordfish"],
        key: 1,
        "harmless": {"password": "Passwort", "token": "Zeichen", "count_token": 12},
    });
    assert!(redactor().redact_value(&mut value));
    let expected = json!({
        "a": [{"b": format!("x {PLACEHOLDER} y")}],
        "api_key": PLACEHOLDER,
        "env": [{"name": "DB_PASSWORD", "value": PLACEHOLDER}],
        "DB_PASSWORD": [PLACEHOLDER],
        PLACEHOLDER: 1,
        "harmless": {"password": "Passwort", "token": "Zeichen", "count_token": 12},
    });
    assert_eq!(value, expected);
    assert!(!redactor().redact_value(&mut value));
}

/// Pseudorandom bytes that are always the same.
fn pseudorandom_bytes(count: usize) -> Vec<u8> {
    let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695));
    std::iter::successors(Some(1_u64), next).skip(1).take(count).map(|state| state.to_be_bytes()[0]).collect()
}

#[test]
fn images_and_hashes_stay() {
    let bytes = pseudorandom_bytes(300_000);
    let zeros: Vec<u8> = bytes.iter().map(|byte| if *byte < 96 { *byte } else { 0 }).collect();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let hashes: String = hex.as_bytes().chunks(64).map(|hash| format!("{}\n", hash.escape_ascii())).collect();
    for text in [BASE64.encode(&bytes), BASE64_URL.encode(&bytes), BASE64.encode(&zeros), hex, hashes] {
        assert!(matches!(redactor().redact(&text), Cow::Borrowed(_)), "{}", &text[..80]);
    }
}

#[test]
fn what_begins_like_a_key_within_base64_stays() {
    let run = BASE64.encode(pseudorandom_bytes(300));
    for token in [
        concat!("AKIA", "FAKE1234ABCD5678"),
        concat!("ghp_", "FAKEqB5MgSBLlDTieKDsetmpCkeevCuwbMjR"),
        concat!("SK", "f19e8b8480f3b47c20431658b4550b7e"),
    ] {
        let inside = format!("data:image/png;base64,{}/{token}/{}", &run[..200], &run[200..]);
        assert_eq!(redactor().redact(&inside), inside);
        for beside in [
            format!("{run} {token} {run}"),
            format!("https://h.invalid/a/{token}/b"),
            format!("{run}={token}"),
        ] {
            assert_eq!(redactor().redact(&beside), beside.replace(token, PLACEHOLDER));
        }
    }
}

/// Texts made of pieces that rules look for, so that they nearly match.
fn near_secrets() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("DB_PASSWORD=".to_owned()),
        Just("\"api_key\": \"".to_owned()),
        Just("password: ".to_owned()),
        Just("\\nTOKEN=".to_owned()),
        Just("\\\"secret\\\":\\\"".to_owned()),
        Just("postgres://u:".to_owned()),
        Just("@host".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just(concat!("ghp_", "FAKEqB5MgSBLlDTieKDsetmpCkeevCuwbMjR").to_owned()),
        Just(concat!("AKIA", "FAKE1234ABCD5678").to_owned()),
        Just(concat!("-----BEGIN ", "PRIVATE KEY-----\n").to_owned()),
        Just("\n-----END PRIVATE KEY-----".to_owned()),
        Just("sk-".to_owned()),
        Just(OWN.to_owned()),
        Just(PLACEHOLDER.to_owned()),
        "[a-zA-Z0-9+/]{1,70}",
        "[\"'\\\\ \n\t,;:=<>é*]{1,4}",
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redacting_twice_is_redacting_once(text in near_secrets()) {
        let once = redactor().redact(&text).into_owned();
        let again = redactor().redact(&once).into_owned();
        prop_assert_eq!(once, again);
    }

    #[test]
    fn a_redacted_document_is_still_json(text in near_secrets(), number in any::<i64>()) {
        let document = json!({ "api_key": text, "text": text, "password": number, "list": [text] });
        let document = document.to_string();
        let clean = redactor().redact(&document).into_owned();
        prop_assert!(serde_json::from_str::<Value>(&clean).is_ok(), "{} became {}", document, clean);
    }

    #[test]
    fn the_redacted_inside_of_a_json_string_is_still_valid(text in near_secrets()) {
        let quoted = json!(text).to_string();
        let clean = redactor().redact(&quoted[1..quoted.len() - 1]).into_owned();
        prop_assert!(serde_json::from_str::<Value>(&format!("\"{clean}\"")).is_ok(), "{}", clean);
    }

    #[test]
    fn our_own_secret_never_survives(before in near_secrets(), after in near_secrets()) {
        let text = format!("{before}{OWN}{after}");
        let clean = redactor().redact(&text).into_owned();
        prop_assert!(!clean.contains(OWN));
    }

    #[test]
    fn a_text_without_keywords_is_returned_as_it_is(text in "[g-lv-z0-9 \n.,é]{0,300}") {
        prop_assert!(matches!(redactor().redact(&text), Cow::Borrowed(same) if same == text));
    }
}
