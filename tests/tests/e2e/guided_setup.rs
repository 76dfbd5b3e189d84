//! `supervisor setup`: unattended and by questions, once and again, with tests that pass and that fail.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use harness::fake_telegram::update::Chat;
use harness::fake_telegram::{Sent, TOKEN};
use harness::{FakeModel, FakeTelegram, ModelReply, System, TestDir, binaries, fake_model, program};

use crate::{assert_says, printed, until_sent};

/// A file beside the data directory.
fn file(dir: &TestDir, name: &str, text: &str) -> String {
    let path = dir.outside().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn supervisor(dir: &TestDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(binaries::path_of("supervisor"));
    command.args(arguments).env_clear().envs(dir.variables()).current_dir(dir.path());
    command
}

fn setup(dir: &TestDir, telegram: &FakeTelegram, arguments: &[&str]) -> Command {
    let mut command = supervisor(dir, &[&["setup"], arguments].concat());
    command.env("AUTONOUS_TELEGRAM_API_URL", telegram.url());
    command
}

/// What a set-up says that succeeds.
fn set_up(dir: &TestDir, telegram: &FakeTelegram, arguments: &[&str]) -> String {
    let output = setup(dir, telegram, arguments).output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    printed(&output)
}

fn written(dir: &TestDir) -> PathBuf {
    dir.data().join("autonous.toml")
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn unattended_it_writes_what_works_and_the_system_starts_with_it() {
    let replies = ["yes", "from the model"].map(|text| ModelReply::Text(text.to_owned()));
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(replies.to_vec()));
    let builder = System::builder().variable("AUTONOUS_TELEGRAM_API_URL", &telegram.url());
    let dir = builder.dir();
    let root = dir.outside().join("project");
    fs::create_dir(&root).unwrap();
    let (token, key) = (file(dir, "token", TOKEN), file(dir, "key", fake_model::KEY));
    let (url, root) = (model.base_url(), root.display().to_string());
    let telegram_arguments = ["--yes", "--telegram-token-file", &token, "--owner", "7"];
    let model_arguments =
        ["--model", "openai/the-model", "--model-url", &url, "--model-key-file", &key, "--root", &root];
    let said = set_up(dir, &telegram, &[&telegram_arguments[..], &model_arguments].concat());
    let tried = [
        "model: openai the-model: answers (",
        "Telegram: reachable as @fake_bot",
        "sandbox: commands run in tier",
    ];
    assert_says(&said, &tried);
    let text = fs::read_to_string(written(dir)).unwrap();
    assert_says(&text, &["allowed_users = [7]", "provider = \"openai\"", "name = \"the-model\""]);
    assert!(!text.contains(TOKEN) && !text.contains(fake_model::KEY), "{text}");
    assert!(!said.contains(TOKEN) && !said.contains(fake_model::KEY));
    for name in ["autonous.toml", "secrets/telegram_token", "secrets/model_api_key"] {
        assert_eq!(mode(&dir.data().join(name)), 0o600, "{name}");
    }
    // The files of the command line are not needed any more.
    fs::remove_file(&token).unwrap();
    fs::remove_file(&key).unwrap();
    let system = builder.start();
    telegram.push(Chat { id: 7 }.text("hi"));
    let answers = |sent: &Sent| sent.chat_id == 7 && sent.text.contains("from the model");
    until_sent(&telegram, "the model answers the owner", answers);
    assert_says(&system.shown(&["config", "--set"]), &[&root]);
}

#[test]
fn again_it_changes_one_thing_and_keeps_the_rest() {
    let (telegram, dir) = (FakeTelegram::start(), TestDir::new());
    fs::create_dir_all(dir.data()).unwrap();
    fs::write(written(&dir), "# mine\n[limits]\nworkers = 2 # few\n\n[telegram]\nallowed_users = [5]\n")
        .unwrap();
    let token = file(&dir, "token", TOKEN);
    set_up(&dir, &telegram, &["--yes", "--telegram-token-file", &token]);
    let first = fs::read_to_string(written(&dir)).unwrap();
    assert!(first.starts_with("# mine\n[limits]\nworkers = 2 # few\n"), "{first}");
    assert!(first.contains("allowed_users = [5]\ntoken_file = "), "{first}");
    set_up(&dir, &telegram, &["--yes", "--owner", "6", "--model", "none"]);
    let second = fs::read_to_string(written(&dir)).unwrap();
    assert_says(&second, &["allowed_users = [6, 5]", "provider = \"direct\""]);
    assert_says(&second, &["token_file = ", "workers = 2 # few"]);
    set_up(&dir, &telegram, &["--yes"]);
    assert_eq!(fs::read_to_string(written(&dir)).unwrap(), second, "nothing was named");
}

#[test]
fn what_fails_its_test_is_not_written() {
    let (telegram, dir) = (FakeTelegram::start(), TestDir::new());
    let closed = "http://127.0.0.1:9/v1";
    let wrong = file(&dir, "token", "123456:WRONG-token");
    // A server that lists its models, but has not the one that is wanted.
    let unknown = serde_json::json!({"message": "no such model", "type": "invalid_request_error"});
    let model = FakeModel::answering(vec![ModelReply::Refused(404, unknown)]);
    let key = file(&dir, "key", fake_model::KEY);
    let refusing = model.base_url();
    let (empty, odd) = (file(&dir, "empty", "\n"), file(&dir, "odd", "no token"));
    for (arguments, says) in [
        (vec!["--model", "m", "--model-url", closed], "nothing was written"),
        (vec!["--model", "m", "--model-url", &refusing, "--model-key-file", &key], "Check the model's name"),
        (vec!["--telegram-token-file", &wrong], "Check AUTONOUS_TELEGRAM_TOKEN"),
        (vec!["--telegram-token-file", &empty], "expected a file that holds the secret"),
        (vec!["--telegram-token-file", &odd], "expected a bot token from BotFather"),
        (
            vec!["--telegram-token-file", "/nowhere/token"],
            "expected a text file that can be read (No such file",
        ),
        (vec!["--model", "oracle"], "expected PROVIDER/NAME or PROVIDER (anthropic, gemini, openai"),
        (vec!["--model-url", "gateway"], "expected an http or https URL"),
        (vec!["--model-key-file", &wrong], "--model-key-file needs --model"),
        (vec!["--root", "/nowhere"], "/nowhere: No such file"),
        (vec!["--root", &wrong], "is no directory"),
    ] {
        let output = setup(&dir, &telegram, &[&["--yes"], &arguments[..]].concat()).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}: {}", printed(&output));
        assert_says(&printed(&output), &[says]);
        assert!(!written(&dir).exists() && !dir.data().join("secrets").exists(), "{arguments:?}");
    }
    set_up(&dir, &telegram, &["--yes", "--untested", "--model", "m", "--model-url", closed]);
    assert!(fs::read_to_string(written(&dir)).unwrap().contains(closed));
    let by_hand = supervisor(&dir, &["setup"]).stdin(Stdio::null()).output().unwrap();
    assert_says(&printed(&by_hand), &["stdin has ended before all was answered"]);
}

/// A set-up that is asked and answered line by line.
struct Asked {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    seen: String,
}

impl Asked {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output, seen: String::new() }
    }

    /// Reads up to this text.
    fn until(&mut self, text: &str) -> String {
        let mut piece = Vec::new();
        while !String::from_utf8_lossy(&piece).contains(text) {
            let available = self.output.fill_buf().unwrap();
            assert!(!available.is_empty(), "it ended before {text:?}: {}", self.seen);
            piece.push(available[0]);
            self.output.consume(1);
        }
        let piece = String::from_utf8(piece).unwrap();
        self.seen.push_str(&piece);
        piece
    }

    fn answer(&mut self, question: &str, answer: &str) {
        self.until(question);
        writeln!(self.child.stdin.as_ref().unwrap(), "{answer}").unwrap();
    }
}

#[test]
fn asked_it_tries_each_answer_and_pairs_the_owner_by_a_number() {
    let (telegram, dir) = (FakeTelegram::start(), TestDir::new());
    let root = dir.outside().join("project");
    fs::create_dir(&root).unwrap();
    let mut asked = Asked::start(&mut setup(&dir, &telegram, &[]));
    asked.answer("Which model should answer? [1]: ", "9");
    asked.until("Type a number from 1 to 5.");
    asked.answer("Which model should answer? [1]: ", "5");
    asked.until("ok    model: direct");
    asked.answer("(empty: no Telegram) (not shown): ", "rubbish");
    asked.until("Expected a bot token from BotFather");
    asked.answer("(empty: no Telegram) (not shown): ", "123456:WRONG-token");
    asked.until("FAIL  Telegram");
    asked.answer("Keep it anyway? [y/N]: ", "n");
    asked.answer("(empty: no Telegram) (not shown): ", TOKEN);
    asked.until("ok    Telegram: reachable as @fake_bot");
    asked.until("from the account that it should obey: ");
    let code = asked.until(" (within");
    let code = code.trim_end_matches(" (within");
    assert!(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()), "{code}");
    telegram.push(Chat { id: 9 }.text("hello?"));
    telegram.push(Chat { id: 8 }.text(code));
    asked.until("ok    paired with");
    asked.answer("comma separated [", "/nowhere");
    asked.until("/nowhere: No such file");
    asked.answer("comma separated [", root.to_str().unwrap());
    asked.until("ok    sandbox");
    asked.until("Wrote ");
    assert!(asked.child.wait().unwrap().success());
    let text = fs::read_to_string(written(&dir)).unwrap();
    assert!(text.contains("allowed_users = [8]") && text.contains(root.to_str().unwrap()), "{text}");
    assert_eq!(telegram.unconfirmed(), 0, "the number becomes no task");
    let config = supervisor(&dir, &["config", "--set"]).output().unwrap();
    assert_says(&program::stdout_of(&config), &["token = ***"]);
}
