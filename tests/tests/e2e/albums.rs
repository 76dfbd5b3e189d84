//! Several files of one call: they arrive together, in order, each once, whatever is killed meanwhile.

use std::fs;

use harness::fake_telegram::Sent;
use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, System, wait};
use serde_json::{Value, json};

use crate::{assert_says, call_for, with_telegram};

/// A file of PNG of this size in bytes, of which Telegram reads the beginning and the end.
fn png(bytes: usize) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x64\0\0\0\x32\x08\x02\0\0\0".as_slice();
    let end = b"\0\0\0\0IEND\xae\x42\x60\x82".as_slice();
    [head, &vec![0; bytes - head.len() - end.len()], end].concat()
}

fn mp4(bytes: usize) -> Vec<u8> {
    [b"\0\0\0\x18ftypisom\0\0\x02\0".as_slice(), &vec![0; bytes - 16]].concat()
}

fn send(system: &System, arguments: &Value) -> Value {
    call_for(system, "telegram:4711", "telegram_send_file", arguments).json()
}

/// Writes files into the workspace.
fn write(system: &System, files: &[(&str, Vec<u8>)]) {
    for (name, bytes) in files {
        fs::write(system.workspace().join(name), bytes).unwrap();
    }
}

/// Each message with its file: its name, and what it is in an album or the method of its own.
fn shown(sent: &[Sent]) -> Vec<(&str, &str)> {
    let files = sent.iter().filter_map(|sent| Some((sent, &sent.file.as_ref()?.0)));
    files
        .map(|(sent, name)| {
            (name.as_str(), sent.album.as_ref().map_or(sent.method.as_str(), |(_, kind)| kind.as_str()))
        })
        .collect()
}

/// How many files each album has.
fn albums(sent: &[Sent]) -> Vec<usize> {
    let names: Vec<&str> =
        sent.iter().filter_map(|sent| sent.album.as_ref()).map(|(name, _)| name.as_str()).collect();
    names.chunk_by(|one, next| one == next).map(<[&str]>::len).collect()
}

#[test]
fn pictures_of_one_call_are_an_album_whose_messages_have_their_own_numbers() {
    let telegram = FakeTelegram::start();
    let arguments =
        json!({"path": "a.png", "more_paths": ["b.mp4", "c.png"], "caption": "**three** of them"});
    let model = FakeModel::telling(ModelReply::call("telegram_send_file", &arguments));
    let system = System::builder().telegram(&telegram, "4711").model(&model).start();
    write(&system, &[("a.png", png(100)), ("b.mp4", mp4(100)), ("c.png", png(200))]);
    telegram.push(ADA.text("show me"));
    let sent = telegram.wait_for_sent(4);
    assert_eq!(shown(&sent), [("a.png", "photo"), ("b.mp4", "video"), ("c.png", "photo")]);
    assert_eq!((albums(&sent), telegram.calls("sendMediaGroup").len()), (vec![3], 1));
    let captions: Vec<&str> = sent.iter().map(|sent| sent.text.as_str()).take(3).collect();
    assert_eq!(captions, ["three of them", "", ""]);
    assert_eq!(sent[0].entities, json!([{"type": "bold", "offset": 0, "length": 5}]));
    assert_eq!(sent[2].file.as_ref().map(|(_, bytes)| bytes), Some(&png(200)));
    let parts = ["a.png (100 bytes, photo)", "b.mp4 (100 bytes, video)", "3 files are on their way"];
    assert_says(&sent[3].text, &parts);
    wait::until_true("each is marked with its own number", || {
        let numbers =
            "select file_name || ' ' || message_id from outbox where kind = 'document' order by seq";
        system.database().texts(numbers) == ["a.png 1", "b.mp4 2", "c.png 3"]
    });
    let events = "select count(*) from events as sent join events as row on row.id = sent.parent_id
                  where sent.type = 'reply.sent' and row.payload ->> 'kind' = 'document'";
    assert_eq!(system.database().count(events), 3);
}

#[test]
fn what_telegram_shows_together_comes_together_in_the_order_of_the_call() {
    let (telegram, system) = with_telegram();
    let (text, sound) = (b"text".to_vec(), b"ID3\x04\0\0".to_vec());
    write(&system, &[("a.png", png(100)), ("b.png", png(100)), ("t", text.clone()), ("u", text)]);
    write(&system, &[("s.mp3", sound.clone()), ("v.mp3", sound), ("x.mp4", mp4(26_000_000))]);
    fs::copy(system.workspace().join("x.mp4"), system.workspace().join("y.mp4")).unwrap();
    let mut count = 0;
    for (paths, more, of_albums) in [
        (vec!["s.mp3", "v.mp3", "t", "u"], json!({}), vec![2, 2]),
        (vec!["a.png", "t", "b.png"], json!({}), vec![]),
        (vec!["a.png", "t", "b.png"], json!({"as_document": true}), vec![3]),
        // Together they are more than Telegram takes in one request.
        (vec!["a.png", "x.mp4", "y.mp4", "b.png"], json!({}), vec![2, 2]),
        (vec!["t"], json!({}), vec![]),
    ] {
        let mut arguments = json!({"path": paths[0], "more_paths": paths[1..]});
        more.as_object().unwrap().iter().for_each(|(key, value)| arguments[key] = value.clone());
        let answer = send(&system, &arguments);
        assert_eq!(answer["meta"]["data"]["files"].as_array().map(Vec::len), Some(paths.len()), "{answer}");
        let sent = telegram.wait_for_sent(count + paths.len()).split_off(count);
        count += paths.len();
        let names: Vec<&str> = shown(&sent).iter().map(|(name, _)| *name).collect();
        assert_eq!((names, albums(&sent)), (paths, of_albums), "{arguments}");
    }
    let ten = ["a.png"; 9];
    send(&system, &json!({"path": "b.png", "more_paths": ten}));
    assert_eq!(albums(&telegram.wait_for_sent(count + 10).split_off(count)), [10]);
}

#[test]
fn an_album_that_telegram_refuses_comes_file_by_file() {
    let (telegram, system) = with_telegram();
    // Telegram finds that the second is no picture, and takes none of the three.
    let torn = png(100)[..40].to_vec();
    write(&system, &[("a.png", png(100)), ("torn.png", torn.clone()), ("c.png", png(100))]);
    let arguments = json!({"path": "a.png", "more_paths": ["torn.png", "c.png"], "caption": "see"});
    send(&system, &arguments);
    let sent = telegram.wait_for_sent(3);
    assert_eq!(shown(&sent), [("a.png", "sendphoto"), ("torn.png", "senddocument"), ("c.png", "sendphoto")]);
    assert_eq!((sent[0].text.as_str(), sent[1].file.as_ref().map(|(_, bytes)| bytes)), ("see", Some(&torn)));
    assert_eq!(telegram.calls("sendMediaGroup").len(), 1);
    // A server that takes less in one request than Telegram does.
    telegram.fail("sendMediaGroup", Fault::TooLarge);
    send(&system, &json!({"path": "a.png", "more_paths": ["c.png"]}));
    let sent = telegram.wait_for_sent(5).split_off(3);
    assert_eq!(shown(&sent), [("a.png", "sendphoto"), ("c.png", "sendphoto")]);
    // Too many requests, and a chat that refuses everything, are about the whole album.
    telegram.fail("sendMediaGroup", Fault::RetryAfter(1));
    send(&system, &json!({"path": "a.png", "more_paths": ["c.png"]}));
    assert_eq!(albums(&telegram.wait_for_sent(7).split_off(5)), [2]);
    telegram.fail("sendMediaGroup", Fault::Blocked);
    send(&system, &json!({"path": "a.png", "more_paths": ["c.png"]}));
    let dead = "select count(*) from outbox where state = 'dead'";
    wait::until_true("both are given up", || system.database().count(dead) == 2);
    assert_eq!(telegram.sent().len(), 7);
}

#[test]
fn if_one_file_cannot_be_sent_none_is() {
    let (telegram, system) = with_telegram();
    write(&system, &[("a.png", png(100)), ("empty", Vec::new())]);
    for name in ["x", "y", "z"] {
        fs::File::create(system.workspace().join(name)).unwrap().set_len(34_000_000).unwrap();
    }
    for (more, code, part) in [
        (json!(["gone.png"]), "NOT_FOUND", "gone.png"),
        (json!(["empty"]), "INVALID_ARGUMENT", "empty"),
        (json!(["/etc/hostname"]), "PATH_OUTSIDE_ROOTS", "/etc/hostname"),
        (json!(["x", "y", "z"]), "FILE_TOO_LARGE", "102000100 bytes together"),
        (json!(vec!["a.png"; 10]), "INVALID_ARGUMENT", "more_paths"),
        (json!("a.png b.png"), "INVALID_ARGUMENT", "more_paths"),
    ] {
        let error = send(&system, &json!({"path": "a.png", "more_paths": more}))["meta"]["error"].clone();
        assert_eq!(error["code"], code, "{more}: {error}");
        assert_says(&error.to_string(), &[part]);
    }
    let left = "select (select count(*) from outbox) + (select count(*) from outgoing_files)";
    assert_eq!(system.database().count(left), 0);
    assert!(telegram.sent().is_empty());
}

/// The name of the next file of each kind of message, and the method that sends it.
const KINDS: [(&str, &[&str], &str); 5] = [
    ("a.txt", &[], "sendDocument"),
    ("a.png", &[], "sendPhoto"),
    ("a.mp4", &[], "sendVideo"),
    ("a.mp3", &[], "sendAudio"),
    ("a.png", &["a.mp4", "b.png"], "sendMediaGroup"),
];

/// Kills the supervisor while Telegram does this with the call that sends each kind of message, and starts it
/// again; each file then has arrived `times` times in all.
fn killed_while_sending(fault: Fault, times: usize) {
    let telegram = FakeTelegram::start();
    let mut system = System::builder().telegram(&telegram, "4711").workers(1).start();
    write(&system, &[("a.txt", b"text".to_vec()), ("a.png", png(100)), ("a.mp4", mp4(100))]);
    write(&system, &[("a.mp3", b"ID3\x04\0\0".to_vec()), ("b.png", png(300))]);
    for (path, more, method) in KINDS {
        let before = telegram.sent().len();
        telegram.fail(method, fault);
        let answer = send(&system, &json!({"path": path, "more_paths": more}));
        assert_eq!(answer["ok"], true, "{answer}");
        wait::until_true("it is being sent", || telegram.faults_left() == 0);
        if fault == Fault::Unanswered {
            wait::until_true("it has arrived", || telegram.sent().len() > before);
        }
        system.kill();
        system.restart();
        // A duplicate would come before what is sent after it.
        let files = (1 + more.len()) * times;
        send(&system, &json!({"path": "b.png", "filename": "last.png"}));
        let sent = telegram.wait_for_sent(before + files + 1).split_off(before);
        let names: Vec<&str> = shown(&sent).iter().map(|(name, _)| *name).collect();
        let once = [path].into_iter().chain(more.iter().copied());
        let expected: Vec<&str> = (0..times).flat_map(|_| once.clone()).chain(["last.png"]).collect();
        assert_eq!(names, expected, "{method} {fault:?}");
        let of_albums = if more.is_empty() { vec![] } else { vec![1 + more.len(); times] };
        assert_eq!(albums(&sent), of_albums, "{method} {fault:?}");
        let open = "select count(*) from outbox where state <> 'sent'";
        wait::until_true("all are marked", || system.database().count(open) == 0);
        let kept = "select (select count(*) from outgoing_files) + (select count(*) from outgoing_parts)";
        assert_eq!(system.database().count(kept), 0);
    }
}

#[test]
fn a_kill_before_telegram_has_taken_files_sends_each_once() {
    killed_while_sending(Fault::RetryAfter(1), 1);
    killed_while_sending(Fault::Silent, 1);
}

#[test]
fn a_kill_between_telegrams_receipt_and_its_record_sends_that_one_message_or_album_twice() {
    killed_while_sending(Fault::Unanswered, 2);
}

/// What a process took at most, in kB.
fn peak_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
fn neither_program_holds_50_mb_in_memory_while_they_leave() {
    let (telegram, system) = with_telegram();
    let pids = [system.supervisor_pid(), system.child("tool-server").pid];
    write(&system, &[("a.mp4", mp4(49_999_900)), ("a.png", png(100))]);
    // What the programs need for any file.
    send(&system, &json!({"path": "a.png"}));
    telegram.wait_for_sent(1);
    let before = pids.map(peak_kb);
    let answer = send(&system, &json!({"path": "a.mp4", "more_paths": ["a.png"]}));
    assert_eq!(answer["ok"], true, "{answer}");
    assert_eq!(albums(&telegram.wait_for_sent(3)), [2]);
    let grown = [0, 1].map(|at| peak_kb(pids[at]) - before[at]);
    println!("supervisor and tool server grew by {grown:?} kB");
    assert!(grown.iter().all(|grown| *grown < MOST_GROWN_KB), "{before:?} grew by {grown:?} kB");
}

/// Parts of 512 KiB on their way, and the pages of the database.
const MOST_GROWN_KB: u64 = 24 * 1024;
