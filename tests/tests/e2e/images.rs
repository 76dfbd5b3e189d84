//! Images that `read` finds: which models see them, in which form, and what the others read.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::fake_model::KEY;
use harness::{FakeModel, ModelReply, System, SystemBuilder};
use serde_json::{Value, json};

use crate::assert_says;

/// A PNG of one pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const VISION: (&str, &str) = ("AUTONOUS_MODEL_VISION", "true");

/// A model that reads this file and then says what it saw.
fn reads(path: &'static str) -> FakeModel {
    let read = ModelReply::call("read", &json!({"path": path}));
    FakeModel::answering(vec![read, ModelReply::Text("I saw it.".to_owned())])
}

fn run(builder: SystemBuilder, path: &str, bytes: &[u8]) -> System {
    let system = builder.start();
    fs::write(system.workspace().join(path), bytes).unwrap();
    let task = system.say("what is on the picture?");
    assert_eq!(system.reply(&task), "I saw it.", "{}", system.log_tail());
    system
}

pub(crate) fn pixel() -> Vec<u8> {
    STANDARD.decode(PIXEL).unwrap()
}

/// A PNG whose header names this size; what follows is not read.
fn png_of(width: u32, height: u32) -> Vec<u8> {
    let mut header = b"IHDR".to_vec();
    header.extend(width.to_be_bytes().into_iter().chain(height.to_be_bytes()));
    header.extend([8, 6, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for chunk in [header, [b"IDAT".as_slice(), &[0x78, 0x9c, 0, 0, 0, 0]].concat(), b"IEND".to_vec()] {
        let length = u32::try_from(chunk.len() - 4).unwrap();
        png.extend(length.to_be_bytes());
        png.extend(&chunk);
        png.extend(crc32(&chunk).to_be_bytes());
    }
    png
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[test]
fn a_model_that_sees_is_shown_the_image_in_its_providers_form_and_nothing_stores_it() {
    let data_url = format!("data:image/png;base64,{PIXEL}");
    for (provider, conversation, parts, expected) in [
        ("openai", "messages", "content", json!({"type": "image_url", "image_url": {"url": data_url}})),
        (
            "anthropic",
            "messages",
            "content",
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}),
        ),
        ("openai-responses", "input", "content", json!({"type": "input_image", "image_url": data_url})),
        ("gemini", "contents", "parts", json!({"inlineData": {"mimeType": "image/png", "data": PIXEL}})),
    ] {
        let model = reads("pixel.png");
        let builder = System::builder().model(&model);
        let builder = builder.variables(&[VISION, ("AUTONOUS_MODEL_PROVIDER", provider)]);
        let system = run(builder, "pixel.png", &pixel());
        let conversation = model.requests()[1][conversation].take();
        let last = conversation.as_array().unwrap().last().unwrap();
        let mut shown = last[parts].as_array().unwrap().clone();
        for part in &mut shown {
            part.as_object_mut().unwrap().remove("cache_control");
        }
        assert_eq!((&last["role"], shown.last()), (&json!("user"), Some(&expected)), "{conversation}");
        assert!(conversation.to_string().contains("1 × 1 pixels"), "{conversation}");
        let with_it = format!("select count(*) from events where payload like '%{}%'", &PIXEL[..40]);
        let stored = system.database().count(&with_it);
        let journal = fs::read_to_string(system.dir().journal()).unwrap();
        assert_eq!((stored, journal.contains(&PIXEL[..40])), (0, false), "{provider}");
    }
}

/// An image that is not shown does not end the task: the model reads why.
fn check_not_shown(more: &[(&str, &str)], bytes: &[u8], why: &str) {
    let model = reads("image.png");
    run(System::builder().model(&model).variables(more), "image.png", bytes);
    let told = model.requests()[1]["messages"].to_string();
    assert_says(&told, &[why]);
    assert!(!told.contains("image_url"), "{told}");
}

#[test]
fn a_model_that_sees_nothing_is_told_so() {
    check_not_shown(&[], &pixel(), "[The image is not shown: the model sees no images.]");
}

#[test]
fn an_image_that_would_fill_the_memory_is_refused_in_words() {
    let why = "it has 60000 × 60000 pixels, and at most 50 million can be decoded";
    check_not_shown(&[VISION], &png_of(60_000, 60_000), why);
}

#[test]
fn an_image_that_is_damaged_does_not_end_the_task() {
    check_not_shown(&[VISION], &png_of(100, 100), "[The image is not shown: it is damaged: ");
}

#[test]
fn a_model_behind_one_that_sees_is_told_what_it_cannot_see() {
    let read = ModelReply::call("read", &json!({"path": "pixel.png"}));
    let busy = ModelReply::Refused(503, json!({"message": "busy"}));
    let sees = FakeModel::answering(vec![read, busy]);
    let blind = FakeModel::answering(vec![ModelReply::Text("I saw it.".to_owned())]);
    let entry = |name: &str, server: &FakeModel, vision: bool| {
        let base_url = server.base_url();
        format!(
            "[[model]]\nname = {name:?}\nprovider = \"openai\"\nbase_url = {base_url:?}\n\
             api_key_env = \"SOME_KEY\"\nvision = {vision}\n"
        )
    };
    let models = entry("sees", &sees, true) + &entry("blind", &blind, false);
    let builder = System::builder().config("models.toml", &models);
    let builder = builder.variables(&[("AUTONOUS_MODEL_FALLBACK", "blind"), ("SOME_KEY", KEY)]);
    run(builder, "pixel.png", &pixel());
    assert!(sees.requests()[1]["messages"].to_string().contains(PIXEL));
    let told: Value = blind.requests()[0]["messages"].take();
    assert!(told.to_string().contains("is not shown: this model sees no images."), "{told}");
    assert!(!told.to_string().contains(PIXEL), "{told}");
}
