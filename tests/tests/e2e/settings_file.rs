//! `autonous.toml`: what it sets, what it may not hold, who wins, and what is read again while it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Output;

use harness::fake_telegram::update::Chat;
use harness::{
    FakeTelegram, Program, Request, System, TestDir, ToolServer, binaries, program, signals, wait,
};
use protocol::ErrorCode;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::assert_says;

/// A file of the data directory, before anything has made that.
fn write(dir: &TestDir, text: &str) -> PathBuf {
    fs::create_dir_all(dir.data()).unwrap();
    let path = dir.data().join("autonous.toml");
    fs::write(&path, text).unwrap();
    path
}

fn supervisor(dir: &TestDir, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = std::process::Command::new(binaries::path_of("supervisor"));
    command.args(arguments).env_clear().envs(dir.variables()).envs(variables.iter().copied());
    command.current_dir(dir.path()).output().unwrap()
}

/// What `supervisor config` says of a setting.
fn held(dir: &TestDir, variables: &[(&str, &str)], variable: &str) -> Value {
    let output = supervisor(dir, variables, &["config", "--json"]);
    let all: Vec<Value> = serde_json::from_str(&program::stdout_of(&output)).unwrap();
    all.into_iter().find(|one| one["variable"] == variable).expect("each setting is listed")
}

/// A file that is wrong, the line of the mistake, and what the error says.
const WRONG: [(&str, usize, &str); 44] = [
    ("workers = 2", 1, "stands in no section. Did you mean `workers` below `[limits]`?"),
    ("[limit]\nworkers = 2", 1, "[limit] is no section. Did you mean [limits]?"),
    ("[tool]\nlisten = \"127.0.0.1:0\"", 1, "[tool] is no section. Did you mean [tools]?"),
    ("[telegramm]", 1, "Did you mean [telegram]?"),
    ("[model]\nname = \"m\"", 1, "Did you mean [models]?"),
    ("[logging]\nformat = \"json\"", 1, "[logging] is no section."),
    ("limits = 3", 1, "`limits` is a section: write `[limits]`"),
    ("[[limits]]\nworkers = 2", 1, "`limits` is a section"),
    ("[limits]\nworker = 2", 2, "[limits] has no setting `worker`. Did you mean `workers`?"),
    ("[limits]\n\nworkers = 0", 3, "`workers` = 0: expected a whole number from 1 to 64"),
    ("[limits]\nworkers = 65", 2, "expected a whole number from 1 to 64"),
    ("[limits]\nworkers = -1", 2, "expected a whole number from 1 to 64"),
    ("[limits]\nworkers = \"4\"", 2, "expected a whole number from 1 to 64, without quotes"),
    ("[limits]\nworkers = 2.5", 2, "expected a whole number from 1 to 64"),
    ("[limits]\nworkers = [2]", 2, "expected a whole number from 1 to 64"),
    ("[limits]\nworkers = true", 2, "expected a whole number from 1 to 64"),
    ("[limits]\nWorkers = 2", 2, "Did you mean `workers`?"),
    ("[limits]\nAUTONOUS_WORKERS = 2", 2, "Did you mean `workers`?"),
    ("[tools]\nAUTONOUS_WORKERS = 2", 2, "Did you mean `workers` below [limits]?"),
    ("[limits]\ntool_timeout_seconds = 2", 2, "Did you mean `timeout_seconds` below [tools]?"),
    ("[control]\npage = \"false\"", 2, "expected true or false, without quotes"),
    ("[control]\npage = 1", 2, "expected true or false"),
    ("[control]\nlisten = 8700", 2, "expected an address with a port"),
    ("[control]\nlisten = \"localhost\"", 2, "expected an address with a port"),
    ("[control]\ntoken = \"hunter2hunter2\"", 2, "is a secret, which this file must not hold"),
    ("[control]\ntoken_fil = \"/x\"", 2, "Did you mean `token_file`?"),
    ("[control]\nallowed_hosts = [\"http://x\"]", 2, "expected host names"),
    ("[data]\nretention = \"5m\"", 2, "expected a span such as 30d or 12w"),
    ("[data]\nretention = \"forever\"", 2, "expected a span such as 30d or 12w"),
    ("[data]\nconfig_dir = \"/does/not/exist\"", 2, "expected a directory that exists"),
    ("[tools]\nallowed_roots = \"/a\"", 2, "expected a list such as [\"a\", \"b\"]"),
    ("[tools]\nallowed_roots = [\"/a,/b\"]", 2, "none has a comma"),
    ("[tools]\nallowed_roots = [true]", 2, "items that are texts in quotes, or whole numbers"),
    ("[tools]\nallowed_roots = [\"a\"]", 2, "expected absolute directories"),
    ("[tools]\nsandbox = \"none\"", 2, "`sandbox` = \"none\": expected"),
    ("[tools]\nbash_netwrok = [\"off\"]", 2, "Did you mean `bash_network`?"),
    ("[telegram]\nallowed_users = [-5]", 2, "expected user IDs"),
    ("[telegram]\nallowed_chats = [\"@ada\"]", 2, "expected chat IDs"),
    ("[telegram]\ngroup_members = \"everybody\"", 2, "expected admins, listed or all"),
    ("[models]\ntemperature = 2.1", 2, "expected a number from 0 to 2"),
    ("[models]\nprovider = \"oracle\"", 2, "expected one of"),
    ("[web]\nsearch_provider = \"altavista\"", 2, "`search_provider` = \"altavista\": expected"),
    ("[logs]\nformat = \"xml\"", 2, "expected human or json"),
    ("[logs]\nformat = json", 2, "string values must be quoted"),
];

#[test]
fn a_wrong_file_is_refused_with_its_line_and_what_would_be_right() {
    let dir = TestDir::new();
    for (text, line, says) in WRONG {
        let path = write(&dir, text);
        let output = supervisor(&dir, &[], &["config", "check", path.to_str().unwrap()]);
        let error = program::refusal_of(&output);
        assert_eq!(output.status.code(), Some(78), "{text}: {error}");
        let place = format!("{}, line {line}: ", path.display());
        assert!(error.contains(&place) && error.contains(says), "{text}\n{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn the_file_of_the_document_is_valid() {
    let document = fs::read_to_string(harness::project_copy::workspace().join("docs/setup.md")).unwrap();
    let (_, block) = document.split_once("```toml\n").unwrap();
    let dir = TestDir::new();
    let path = write(&dir, block.split_once("```").unwrap().0);
    let judged = program::stdout_of(&supervisor(&dir, &[], &["config", "check", path.to_str().unwrap()]));
    assert!(judged.contains("7 settings, all valid"), "{judged}");
}

#[test]
fn a_wrong_file_stops_each_program_and_changes_nothing() {
    for (text, says) in [
        ("[limits]\nworker = 2\n", "line 2: [limits] has no setting `worker`. Did you mean `workers`?"),
        ("[limits\n", "line 1: "),
        ("[limits]\nworkers = 1\nworkers = 2\n", "line 3: duplicate key"),
        ("[telegram]\ntoken_file = \"/nowhere/token\"\n", "line 2: `token_file` = \"/nowhere/token\""),
        ("[data]\ndir = \"/elsewhere\"\n", "line 2: `dir` = \"/elsewhere\": expected nothing"),
    ] {
        let builder = System::builder();
        write(builder.dir(), text);
        let refusal = builder.start_refused();
        assert_eq!(refusal.status.code(), Some(78), "{text}: {}", refusal.stderr);
        assert!(refusal.stderr.contains(says), "{text}: {}", refusal.stderr);
    }
    let builder = ToolServer::builder();
    write(builder.dir(), "[tools]\nlisten = \"nowhere\"\n");
    let refusal = builder.start_refused();
    assert_says(&refusal.stderr, &["line 2: `listen` = \"nowhere\": expected an address"]);
}

#[test]
fn a_file_that_others_can_change_and_a_second_file_are_refused() {
    let dir = TestDir::new();
    let path = write(&dir, "[limits]\nworkers = 2\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let error = program::refusal_of(&supervisor(&dir, &[], &["config"]));
    assert_says(&error, &["every user of this machine can change it: type chmod o-w"]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let config = dir.write_config("autonous.toml", "[limits]\nworkers = 3\n");
    let output = supervisor(&dir, &[("AUTONOUS_CONFIG_DIR", &config)], &["config"]);
    assert_says(&program::refusal_of(&output), &["autonous.toml is there, too: keep one of them"]);
}

#[test]
fn a_variable_wins_over_the_file_and_the_file_over_a_default() {
    let dir = TestDir::new();
    let secret = dir.outside().join("key");
    fs::write(&secret, "k\n").unwrap();
    let text = format!(
        "[limits]\nworkers = 3\n[telegram]\nallowed_chats = [1, -5]\n\
         [models]\napi_key_file = {:?}\nextra_body = {{ a = [1, true] }}\n",
        secret.display().to_string()
    );
    let path = write(&dir, &text);
    let from = |line: usize| format!("{}:{line}", path.display());
    let workers = held(&dir, &[], "AUTONOUS_WORKERS");
    assert_eq!((&workers["value"], &workers["origin"]), (&json!("3"), &json!("file")), "{workers}");
    assert_eq!(workers["from"], from(2));
    let workers = held(&dir, &[("AUTONOUS_WORKERS", "5")], "AUTONOUS_WORKERS");
    assert_eq!((&workers["value"], &workers["from"]), (&json!("5"), &json!("AUTONOUS_WORKERS")));
    let workers = held(&dir, &[("AUTONOUS_WORKERS", "")], "AUTONOUS_WORKERS");
    assert_eq!(workers["value"], "3", "an empty variable is unset");
    let chats = held(&dir, &[], "AUTONOUS_TELEGRAM_ALLOWED_CHATS");
    assert_eq!((&chats["section"], &chats["key"]), (&json!("telegram"), &json!("allowed_chats")));
    assert_eq!(chats["value"], "1,-5");
    let chats = held(&dir, &[("AUTONOUS_TELEGRAM_ALLOWED_CHATS", "")], "AUTONOUS_TELEGRAM_ALLOWED_CHATS");
    assert_eq!(chats["value"], "", "an empty list is a list");
    assert_eq!(held(&dir, &[], "AUTONOUS_MODEL_EXTRA_BODY")["value"], r#"{"a":[1,true]}"#);
    let key = held(&dir, &[], "AUTONOUS_MODEL_API_KEY");
    assert_eq!((&key["value"], &key["from"]), (&json!("***"), &json!(from(6))));
    let key = held(&dir, &[("AUTONOUS_MODEL_API_KEY", "hunter2")], "AUTONOUS_MODEL_API_KEY");
    assert_eq!((&key["value"], &key["origin"]), (&json!("***"), &json!("variable")));
    assert_eq!(held(&dir, &[], "AUTONOUS_RETENTION")["origin"], "default");
}

#[test]
fn init_writes_a_file_that_is_valid_and_never_replaces_one() {
    let dir = TestDir::new();
    let printed = program::stdout_of(&supervisor(&dir, &[], &["config", "init"]));
    let path = dir.data().join("autonous.toml");
    assert!(printed.starts_with(&path.display().to_string()), "{printed}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let judged = program::stdout_of(&supervisor(&dir, &[], &["config", "check", path.to_str().unwrap()]));
    assert!(judged.contains("0 settings, all valid"), "{judged}");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(program::stdout_of(&supervisor(&dir, &[], &["config", "init", "-"])).trim(), text.trim());
    let again = supervisor(&dir, &[], &["config", "init"]);
    assert_says(&program::refusal_of(&again), &["exists; delete it first"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn what_the_file_sets_reaches_each_program() {
    let builder = System::builder();
    let root = builder.dir().outside().join("project");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("found.txt"), "x").unwrap();
    let text = format!(
        "[limits]\ntask_max_attempts = 7\n[tools]\nallowed_roots = [{:?}]\nmax_output_lines = 11\n\
         [models]\nprovider = \"scripted\"\nscript = \"msg:from the file\"\n",
        root.display().to_string()
    );
    write(builder.dir(), &text);
    let system = builder.start();
    assert_eq!(system.reply(&system.say("hi")), "from the file");
    assert!(system.tool("ls", &json!({"path": "."})).stdout.contains("found.txt"));
    let status = system.control(Request::get("/status")).json();
    assert_eq!(status["settings"]["AUTONOUS_TASK_MAX_ATTEMPTS"], "7");
    assert_eq!(status["settings"]["AUTONOUS_TOOL_MAX_OUTPUT_LINES"], "11");
    let many = system.tool("bash", &json!({"cmd": "seq 100"}));
    assert!(many.stdout.lines().count() < 30, "{many:?}");
}

#[test]
fn a_secret_is_taken_from_a_credential_of_systemd() {
    let builder = System::builder();
    let credentials = builder.dir().outside().join("credentials");
    fs::create_dir(&credentials).unwrap();
    fs::write(credentials.join("AUTONOUS_CONTROL_TOKEN"), "credential-token\n").unwrap();
    let system = builder.variable("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap()).start();
    assert_eq!(system.shown(&["token", "control"]).trim(), "credential-token");
    let given = [("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap())];
    let key = held(system.dir(), &given, "AUTONOUS_CONTROL_TOKEN");
    assert_eq!((&key["value"], &key["origin"]), (&json!("***"), &json!("credential")));
}

#[test]
fn a_tool_server_alone_reads_the_file_of_the_directory_that_it_is_given() {
    let builder = ToolServer::builder();
    write(builder.dir(), "[tools]\ndisabled = [\"bash\"]\n");
    let server = builder.start();
    let refused = server.call("bash", &json!({"cmd": "true"}));
    assert!(!refused.ok, "{refused:?}");
}

#[test]
fn a_hangup_reads_again_what_can_change_and_names_the_rest() {
    let telegram = FakeTelegram::start();
    let builder = System::builder()
        .variable("AUTONOUS_TELEGRAM_TOKEN", harness::fake_telegram::TOKEN)
        .variable("AUTONOUS_TELEGRAM_API_URL", &telegram.url())
        .variable("RUST_LOG", "")
        .policy("[limits.chat]\ntasks_per_day = 100\n");
    let path = write(builder.dir(), "[telegram]\nallowed_chats = [7]\n[limits]\nworkers = 2\n");
    let system = builder.start();
    assert!(system.tool("ls", &json!({"path": "."})).ok);

    fs::write(&path, "[telegram]\nallowed_chats = [7, 8]\n[limits]\nworkers = 3\n").unwrap();
    let denied = "[[rule]]\ntools = [\"ls\"]\ndecision = \"deny\"\n[limits.chat]\ntasks_per_day = 0\n";
    system.dir().write_policy(denied);
    signals::send(system.supervisor_pid(), Signal::HUP);
    system.until_logged("the rules and limits were read again");
    system.until_logged("these hold from the next start");
    system.until_logged("AUTONOUS_WORKERS");
    let refused = system.tool("ls", &json!({"path": "."}));
    assert_eq!(refused.error_code(), Some(ErrorCode::ToolNotAllowed), "{refused:?}");
    let status = system.control(Request::get("/status")).json();
    assert_eq!(status["settings"]["AUTONOUS_TELEGRAM_ALLOWED_CHATS"], "7,8");
    assert_eq!(status["settings"]["AUTONOUS_WORKERS"], "2", "it holds from the next start");
    // The chat is allowed now; its task waits, because no task may begin today any more.
    telegram.push(Chat { id: 8 }.text("/ls path=."));
    wait::until_true("the task is held back", || {
        telegram.sent().iter().any(|sent| sent.chat_id == 8 && sent.text.contains("tasks"))
    });

    fs::write(&path, "[telegram]\nallowed_chats = [7]\nnonsense = 1\n").unwrap();
    signals::send(system.supervisor_pid(), Signal::HUP);
    system.until_logged("those from before hold");
    system.until_logged("has no setting `nonsense`");
    let status = system.control(Request::get("/status")).json();
    assert_eq!(status["settings"]["AUTONOUS_TELEGRAM_ALLOWED_CHATS"], "7,8");

    fs::write(&path, "[telegram]\nallowed_chats = [7]\n[logs]\nrust_log = \"debug\"\n").unwrap();
    signals::send(system.supervisor_pid(), Signal::HUP);
    wait::until_true("it logs more", || {
        system.control(Request::get("/status"));
        system.log().contains("\"level\":\"DEBUG\"")
    });
}

#[test]
fn a_lone_tool_server_reads_its_rules_again() {
    let mut server = ToolServer::builder().policy("").start();
    assert!(server.call("ls", &json!({"path": "."})).ok);
    server.dir().write_policy("[[rule]]\ntools = [\"ls\"]\ndecision = \"deny\"\n");
    let pid = Program::pid(server.program());
    signals::send(pid, Signal::HUP);
    wait::until_true("the rules hold", || !server.call("ls", &json!({"path": "."})).ok);
    server.dir().write_policy("[[rule]]\ntols = [\"ls\"]\n");
    signals::send(pid, Signal::HUP);
    server.program().until_logged("the rules from before still hold");
    assert!(!server.call("ls", &json!({"path": "."})).ok, "the rules from before hold");
}
