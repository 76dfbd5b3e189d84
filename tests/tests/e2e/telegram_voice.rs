//! Voice messages that leave: sound files and texts that are spoken, by programs that these tests play.

use std::fs;
use std::path::Path;

use harness::fake_telegram::update::ADA;
use harness::{FakeTelegram, Request, System, TestDir, wait};
use serde_json::{Value, json};

use crate::assert_says;
use crate::packages::write_executable;

/// The beginning of Opus in OGG: the page's head, then the stream's (RFC 7845).
fn opus() -> Vec<u8> {
    [b"OggS".as_slice(), &[0; 24], b"OpusHead and sound"].concat()
}

/// Speaks by writing its voice and text.
const ESPEAK: &str = r#"while getopts v:f:w: option; do case $option in
    v) voice=$OPTARG ;; f) text=$OPTARG ;; w) wav=$OPTARG ;; esac; done
printf '%s says: %s' "$voice" "$(<"$text")" >"$wav""#;
const PICO: &str = r#"printf 'pico %s says: %s' "$2" "${@: -1}" >"$4""#;
const FLITE: &str = r#"printf 'flite says: %s' "$(<"$2")" >"$4""#;
/// Encodes by copying, behind the head of OGG.
const OPUSENC: &str = r#"in=${@: -2:1}; { printf 'OggS'; cat -- "$in"; } >"${@: -1}""#;
const FFMPEG: &str = r#"while [ "$1" != -i ]; do shift; done; in=${2#file:}
[ -s "$in" ] || { echo "Invalid data found when processing input" >&2; exit 1; }
{ printf 'ffmpeg '; cat -- "$in"; } >"${@: -1}""#;

/// A directory with these programs.
fn programs(scripts: &[(&str, &str)]) -> TestDir {
    let dir = TestDir::new();
    for (name, script) in scripts {
        write_executable(&dir.path().join(name), &format!("#!/bin/bash\n{script}\n"));
    }
    // What the scripts themselves and the shell need, but not what this machine may have installed.
    for name in ["bash", "cat", "rm"] {
        std::os::unix::fs::symlink(format!("/bin/{name}"), dir.path().join(name)).unwrap();
    }
    dir
}

fn system(telegram: &FakeTelegram, programs: &TestDir) -> System {
    let path = programs.path().to_str().unwrap();
    System::builder()
        .telegram(telegram, "4711")
        .workers(1)
        .variable("AUTONOUS_TOOL_READONLY_ROOTS", path)
        .variable("AUTONOUS_TOOL_ENV", &format!("PATH={path}"))
        .start()
}

fn send(system: &System, arguments: &Value) -> Value {
    let request = Request::call("telegram_send_voice", arguments);
    system.control(request.of_session("telegram:4711")).json()
}

fn sound(telegram: &FakeTelegram, number: usize) -> (String, String, String) {
    let sent = telegram.wait_for_sent(number + 1)[number].clone();
    assert_eq!(sent.method, "sendvoice", "{sent:?}");
    let (name, bytes) = sent.file.unwrap();
    (name, String::from_utf8_lossy(&bytes).into_owned(), sent.text)
}

/// No file of a call stays.
fn assert_tidy(system: &System) {
    let left = system.dir().data().join("state/voice/telegram-4711");
    let left: Vec<_> = fs::read_dir(left).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_text_is_spoken_in_its_language_and_is_never_part_of_a_command_line() {
    let telegram = FakeTelegram::start();
    let programs = programs(&[("espeak-ng", ESPEAK), ("flite", FLITE), ("opusenc", OPUSENC)]);
    let system = system(&telegram, &programs);
    let sly = "'; touch /tmp/x; $(id) \\`id\\` \"\n-v the end";
    let sly_spoken = "'; touch /tmp/x; $(id) `id` \"\n-v the end";
    let title = "das ist der Titel";
    let markdown = "# Good news\n\nIt is **done**, see [the list](https://example.org/list).";
    for (number, (arguments, voice, spoken, name, caption)) in [
        (json!({"text": "Good morning to you."}), "en", "Good morning to you.", "voice.ogg", ""),
        (json!({"text": "Guten Morgen, das ist gut."}), "de", "Guten Morgen, das ist gut.", "voice.ogg", ""),
        (json!({"text": sly, "lang": "pt-BR", "filename": "a b.ogg"}), "pt-br", sly_spoken, "a b.ogg", ""),
        (json!({"text": markdown}), "en", "Good news\n\nIt is done, see the list.", "voice.ogg", ""),
        (json!({"caption": title}), "de", title, "voice.ogg", title),
        (json!({"text": "你好", "caption": "_hello_"}), "cmn", "你好", "voice.ogg", "hello"),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = send(&system, &arguments);
        assert_eq!(answer["ok"], true, "{arguments}: {answer}");
        let expected = (name.to_owned(), format!("OggS{voice} says: {spoken}"), caption.to_owned());
        assert_eq!(sound(&telegram, number), expected, "{arguments}");
    }
    assert_tidy(&system);
}

#[test]
fn a_sound_file_goes_as_it_is_or_is_converted() {
    let telegram = FakeTelegram::start();
    let programs = programs(&[("ffmpeg", FFMPEG), ("opusenc", OPUSENC)]);
    let system = system(&telegram, &programs);
    fs::write(system.workspace().join("a.ogg"), opus()).unwrap();
    fs::write(system.workspace().join("-i $(id).wav"), "RIFF").unwrap();
    send(&system, &json!({"path": "a.ogg", "caption": "listen"}));
    let as_it_was = String::from_utf8(opus()).unwrap();
    assert_eq!(sound(&telegram, 0), ("voice.ogg".to_owned(), as_it_was, "listen".to_owned()));
    send(&system, &json!({"path": "-i $(id).wav"}));
    assert_eq!(sound(&telegram, 1).1, "ffmpeg RIFF");
    assert_tidy(&system);
}

#[test]
fn what_is_missing_is_named_with_its_package_and_nothing_is_sent() {
    let telegram = FakeTelegram::start();
    let (none, mute) = (programs(&[]), programs(&[("pico2wave", PICO)]));
    let check = |system: &System, arguments: Value, code: &str, parts: &[&str]| {
        let error = send(system, &arguments)["meta"]["error"].clone();
        assert_eq!(error["code"], code, "{arguments}: {error}");
        assert_says(&error.to_string(), parts);
        assert_eq!(system.database().count("select count(*) from outbox"), 0);
        assert_eq!(system.database().count("select count(*) from outgoing_files"), 0);
    };
    let without = system(&telegram, &none);
    fs::write(without.workspace().join("a.wav"), "RIFF").unwrap();
    fs::write(without.workspace().join("empty.wav"), "").unwrap();
    let speaks = ["espeak-ng", "libttspico-utils", "flite"];
    check(&without, json!({"text": "hello"}), "TOOL_NOT_ALLOWED", &speaks);
    check(&without, json!({"path": "a.wav"}), "TOOL_NOT_ALLOWED", &["opus-tools", "ffmpeg"]);
    check(&without, json!({"path": "gone.wav"}), "NOT_FOUND", &["gone.wav"]);
    check(&without, json!({"path": "empty.wav"}), "INVALID_ARGUMENT", &["empty"]);
    check(&without, json!({"path": "/etc/hostname"}), "PATH_OUTSIDE_ROOTS", &["/etc/hostname"]);
    check(&without, json!({}), "INVALID_ARGUMENT", &["`path`", "`text`"]);
    check(&without, json!({"text": "  "}), "INVALID_ARGUMENT", &["`text`"]);
    check(&without, json!({"text": "hello", "lang": "x; id"}), "INVALID_ARGUMENT", &["BCP 47"]);
    check(&without, json!({"text": "x".repeat(4097)}), "INVALID_ARGUMENT", &["4096"]);
    let elsewhere = json!({"text": "a", "chat_id": 666});
    check(&without, elsewhere, "TOOL_NOT_ALLOWED", &["does not write to this chat"]);
    drop(without);
    let mute = system(&telegram, &mute);
    check(&mute, json!({"text": "hello"}), "TOOL_NOT_ALLOWED", &["opus-tools", "ffmpeg"]);
    assert_tidy(&mute);
    assert!(telegram.sent().is_empty());
}

#[test]
fn what_a_program_says_about_its_failure_is_told() {
    let telegram = FakeTelegram::start();
    let fails = "echo 'no such voice' >&2; exit 1";
    let programs = programs(&[("espeak-ng", fails), ("ffmpeg", FFMPEG)]);
    let system = system(&telegram, &programs);
    let error = send(&system, &json!({"text": "hello"}))["meta"]["error"].clone();
    assert!(error["code"] == "INVALID_ARGUMENT" && error.to_string().contains("no such voice"), "{error}");
    assert_tidy(&system);
}

/// Speaks once the file `go` lies beside it, and shows before that it has begun.
const SLOW_FLITE: &str = r#"printf 'begun' >"${2%.txt}.ogg"
until [ -e "${0%/*}/go" ]; do read -r -t 0.05 <> <(:); done
printf 'flite says: %s' "$(<"$2")" >"$4""#;

/// The messages when a process is killed while a text is spoken. The programs continue after it.
fn killed_while_it_speaks(victim: &str) -> (usize, String) {
    let telegram = FakeTelegram::start();
    let programs = programs(&[("flite", SLOW_FLITE), ("ffmpeg", FFMPEG)]);
    let mut system = system(&telegram, &programs);
    telegram.push(ADA.text(r#"telegram_send_voice {"text": "hello"}"#));
    let directory = system.dir().data().join("state/voice/telegram-4711");
    wait::until_true("it is being spoken", || has_begun(&directory));
    system.kill_and_continue(victim);
    fs::write(programs.path().join("go"), "").unwrap();
    telegram.wait_for_sent(1);
    system.wait_until_all_is_sent();
    let (voices, texts): (Vec<_>, Vec<_>) =
        telegram.sent().into_iter().partition(|sent| sent.method == "sendvoice");
    assert_eq!(texts.len(), 1, "{texts:?}");
    (voices.len(), texts[0].text.clone())
}

#[test]
fn a_kill_while_a_text_is_spoken_sends_the_voice_once_or_says_that_it_was_not_sent() {
    // Nobody knows how far the call came; it is not made again.
    for (victim, parts) in [
        ("tool-server", &["INTERRUPTED"][..]),
        // Its command ends with the caller. The next attempt finds that it was begun, and makes no other.
        ("agent-worker", &["The call of `telegram_send_voice` was", "It was not made again."]),
        ("supervisor", &["`telegram_send_voice` was interrupted"]),
    ] {
        let (voices, said) = killed_while_it_speaks(victim);
        assert_eq!(voices, 0, "{victim}: {said}");
        assert_says(&said, parts);
    }
}

fn has_begun(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| fs::read(entry.path()).is_ok_and(|content| content == b"begun"))
}
