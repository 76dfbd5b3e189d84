//! Two chats that each have a directory of their own: neither sees or changes anything of the other. Every
//! attack first succeeds where chats share their files.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use harness::leftovers::everything_below;
use harness::{Answer, FakeModel, ModelReply, Request, System, TestDir, ToolServer, wait};
use protocol::hash::sha256;
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::assert_says;

const ADA: &str = "telegram:1";
const BOB: &str = "telegram:2";

/// The content of Bob's files, and the name of one; no call of Ada's names either.
const SECRET: &str = "KEEP-THIS-FROM-ADA";
const DIARY: &str = "diary-of-bob";

/// A server with Ada's and Bob's directories, which they use whether or not it keeps them apart.
struct House {
    server: ToolServer,
    ada: PathBuf,
    bob: PathBuf,
    /// The output directory of Bob's commands: a long output, and files that were taken back.
    kept: Vec<PathBuf>,
}

impl House {
    fn open(division: &str) -> Self {
        let builder = ToolServer::builder()
            .variable("AUTONOUS_WORKSPACES", division)
            .variable("AUTONOUS_TOOL_SANDBOX", "full")
            .allowing_all()
            .variable("AUTONOUS_TOOL_DISABLED", "run_script");
        let root = builder.dir().root();
        let (ada, bob) = (root.join("telegram-1"), root.join("telegram-2"));
        fs::create_dir_all(&ada).unwrap();
        fs::create_dir_all(bob.join(DIARY)).unwrap();
        fs::write(bob.join(DIARY).join("secret.txt"), SECRET).unwrap();
        fs::write(bob.join("secret.txt"), SECRET).unwrap();
        fs::write(bob.join(".envrc"), "export X=1").unwrap();
        symlink("../telegram-2", ada.join("link")).unwrap();
        symlink(&bob, ada.join("absolute")).unwrap();
        let mut house = Self { server: builder.start(), ada, bob, kept: Vec::new() };
        house.bob_runs_commands();
        house
    }

    fn bob_runs_commands(&mut self) {
        let long = format!("cd {}; yes {SECRET} | head -n 5000", self.bob.display());
        let output = self.call(BOB, "bash", &json!({"cmd": long})).meta.full_output.unwrap();
        let hook = format!("cd {}; mkdir .vscode && echo {SECRET} > .vscode/tasks.json", self.bob.display());
        let taken_back = self.call(BOB, "bash", &json!({"cmd": hook}));
        assert_eq!(taken_back.meta.data["created_control_files"][0]["taken_back"], true, "{taken_back:?}");
        let quarantine = self.server.dir().data().join("output/quarantine");
        let call = fs::read_dir(&quarantine).unwrap().next().unwrap().unwrap().path();
        let name = everything_below(&call).into_iter().find(|path| path.ends_with("tasks.json")).unwrap();
        self.kept = vec![PathBuf::from(output.path), name];
    }

    fn call(&self, session: &str, tool: &str, arguments: &Value) -> Envelope {
        self.ask(session, tool, arguments).envelope()
    }

    fn ask(&self, session: &str, tool: &str, arguments: &Value) -> Answer {
        self.server.send(Request::call(tool, arguments).of_session(session))
    }

    /// Whether a call of Ada's tells her something of Bob's files, or changes them.
    fn succeeds(&self, tool: &str, arguments: &Value) -> bool {
        let before = state_of(&self.bob);
        let answer = self.ask(ADA, tool, arguments).text();
        answer.contains(SECRET) || answer.contains(DIARY) || state_of(&self.bob) != before
    }
}

/// The names, modes, sizes and contents of a directory's entries.
fn state_of(directory: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let facts = |path: PathBuf| {
        let mode = path.symlink_metadata().unwrap().mode();
        let content = fs::read(&path).unwrap_or_default();
        (path, mode, content)
    };
    everything_below(directory).into_iter().map(facts).collect()
}

/// What Ada tries; `{root}`, `{ada}` and `{bob}` are directories.
fn attacks(house: &House) -> Vec<(&'static str, Value)> {
    let mut attacks = vec![
        ("read", json!({"path": "{bob}/secret.txt"})),
        ("read", json!({"path": "{ada}/../telegram-2/secret.txt"})),
        ("read", json!({"path": "{ada}/link/secret.txt"})),
        ("read", json!({"path": "{ada}/absolute/secret.txt"})),
        // An error could name its neighbours.
        ("read", json!({"path": "{bob}/diary-of-bo"})),
        ("ls", json!({"path": "{bob}"})),
        ("ls", json!({"path": "{ada}/link"})),
        ("ls", json!({"path": "{root}", "recursive": true})),
        ("find", json!({"path": "{root}"})),
        ("find", json!({"path": "{bob}", "name_pattern": "diary*"})),
        ("grep", json!({"path": "{root}", "pattern": "KEEP-THIS"})),
        ("grep", json!({"path": "{ada}/link/secret.txt", "pattern": "KEEP-THIS"})),
        ("write", json!({"path": "{bob}/new.txt", "content": "x"})),
        ("write", json!({"path": "{ada}/link/other.txt", "content": "x"})),
        ("write", json!({"path": "{bob}/secret.txt", "content": "x", "mode": "append"})),
        ("delete", json!({"path": "{bob}/secret.txt", "expected_sha256": sha256(SECRET.as_bytes())})),
        ("bash", json!({"cmd": "cd {ada}; cd ..; cat telegram-2/secret.txt"})),
        ("bash", json!({"cmd": "cat < {ada}/absolute/secret.txt"})),
        ("bash", json!({"cmd": "pwd; ls {bob}", "workdir": "{bob}"})),
        ("bash", json!({"cmd": "true; ls -R {root}"})),
        ("bash", json!({"cmd": "true; ls -R $WORKSPACE; ls -R $WORKSPACE/.."})),
        ("bash", json!({"cmd": "find / -name 'diary*' 2>/dev/null"})),
        ("bash", json!({"cmd": "echo x > {bob}/new.txt"})),
        ("bash", json!({"cmd": "chmod 600 {bob}/secret.txt"})),
        ("bash", json!({"cmd": "mv {bob}/secret.txt {ada}/mine.txt"})),
        ("bash", json!({"cmd": "ln {bob}/secret.txt {ada}/mine && cat {ada}/mine"})),
        ("bash", json!({"cmd": "ln -sf {bob}/diary* {ada}/mine; readlink {ada}/mine"})),
    ];
    attacks.extend(house.kept.iter().map(|path| ("read", json!({"path": path}))));
    attacks.extend(house.kept.iter().map(|path| ("grep", json!({"path": path, "pattern": "KEEP-THIS"}))));
    let known = house.server.dir().data().join("output/control-files/known.json");
    attacks.push(("read", json!({"path": known})));
    attacks
}

fn filled(arguments: &Value, house: &House) -> Value {
    let place = |path: &Path| path.display().to_string();
    let text = arguments.to_string().replace("{root}", &place(&house.server.root()));
    let text = text.replace("{ada}", &place(&house.ada)).replace("{bob}", &place(&house.bob));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_chat_neither_sees_nor_changes_the_files_of_another() {
    let shared = House::open("shared");
    // It names each hidden control file, of which Bob's is the only one.
    let names_bob = |answer: &str| answer.contains(".envrc");
    let (mut harmless, own) = (Vec::new(), House::open("per-chat"));
    for ((tool, arguments), (_, of_own)) in attacks(&shared).into_iter().zip(attacks(&own)) {
        let told = |house: &House, arguments: &Value| {
            arguments["path"].as_str().is_some_and(|path| path.ends_with("known.json"))
                && names_bob(&house.call(ADA, tool, arguments).stdout)
        };
        let (arguments, of_own) = (filled(&arguments, &shared), filled(&of_own, &own));
        if !shared.succeeds(tool, &arguments) && !told(&shared, &arguments) {
            harmless.push(format!("{tool} {arguments}"));
        }
        assert!(!own.succeeds(tool, &of_own) && !told(&own, &of_own), "{tool} {of_own}");
        fs::write(shared.bob.join("secret.txt"), SECRET).unwrap();
    }
    assert_eq!(harmless, [""; 0], "these do not even work while files are shared");
}

#[test]
fn whole_files_over_http_are_kept_apart_as_well() {
    for (division, reaches) in [("shared", true), ("per-chat", false)] {
        let house = House::open(division);
        let ask = |request: Request| house.server.send(request.of_session(ADA));
        let target = |path: &Path| format!("/files?path={}", path.display());
        let bobs = [house.bob.join("secret.txt"), house.ada.join("link/secret.txt"), house.kept[0].clone()];
        for path in &bobs {
            let got = ask(Request::get(&target(path)));
            let has = (got.status == 200, got.text().contains(SECRET));
            assert_eq!(has, (reaches, reaches), "{}", path.display());
            assert_eq!(ask(Request::new("HEAD", &target(path))).status == 200, reaches);
        }
        for path in [house.bob.join("new.txt"), house.ada.join("link/new2.txt")] {
            let put = ask(Request::put(&target(&path), "x"));
            assert_eq!((put.status == 201, path.exists()), (reaches, reaches), "{}", put.text());
        }
        let own = ask(Request::put("/files?path=own.txt", "mine"));
        assert_eq!(own.status, 201, "{}", own.text());
        let place = if reaches { house.server.root() } else { house.ada.clone() };
        assert_eq!(fs::read_to_string(place.join("own.txt")).unwrap(), "mine");
        assert_eq!(ask(Request::get("/files?path=own.txt")).text(), "mine");
    }
}

#[test]
fn a_guess_is_answered_as_if_nothing_were_there() {
    let house = House::open("per-chat");
    let message = |path: &Path| {
        let error = house.call(ADA, "read", &json!({"path": path})).meta.error.unwrap();
        (error.code, error.message.replace(&path.display().to_string(), "…"), error.hint)
    };
    for (there, not_there) in [
        (house.bob.join("secret.txt"), house.bob.join("no-such.txt")),
        (house.bob.clone(), house.server.root().join("telegram-3")),
        (house.kept[0].clone(), house.kept[0].with_file_name("telegram-2+no-such.txt")),
    ] {
        assert_eq!(message(&there), message(&not_there));
    }
}

#[test]
fn each_chat_works_in_its_own_directory_with_every_tool() {
    let house = House::open("per-chat");
    for (session, directory) in [(ADA, &house.ada), (BOB, &house.bob)] {
        let call = |tool: &str, arguments: Value| {
            let answer = house.call(session, tool, &arguments);
            assert!(answer.ok, "{session} {tool} {arguments}: {answer:?}");
            answer
        };
        let written = call("write", json!({"path": "notes/a.txt", "content": format!("of {session}\n")}));
        assert_eq!(written.meta.context.cwd, directory.display().to_string());
        let file = directory.join("notes/a.txt");
        assert_eq!(written.meta.context.path_resolved, Some(file.display().to_string()));
        let read = call("read", json!({"path": file, "line_numbers": false}));
        assert_eq!(read.stdout, format!("of {session}\n"));
        call("edit", json!({"path": "notes/a.txt", "find": "of", "replace": "by"}));
        let found = call("grep", json!({"pattern": "telegram", "path": "notes"}));
        assert_eq!(found.stdout, format!("notes/a.txt:1:by {session}\n"));
        assert_eq!(call("find", json!({"name_pattern": "a.*"})).stdout, "notes/a.txt\n");
        assert_eq!(call("ls", json!({"path": "notes"})).stdout, "a.txt\n");
        let cmd = "pwd; echo $WORKSPACE; cd notes && git init -q . && echo ok > b.txt; wc -l a.txt";
        let ran = call("bash", json!({"cmd": cmd}));
        let directory = directory.display();
        assert_eq!(ran.stdout, format!("{directory}\n{directory}\n1 a.txt\n"));
        call("read", json!({"path": "notes/b.txt"}));
        call("delete", json!({"path": "notes/b.txt"}));
    }
    let own = house.call(BOB, "read", &json!({"path": house.kept[0], "limit": 1}));
    assert!(own.stdout.contains(SECRET), "his own long output: {own:?}");
    let denied = house.call(BOB, "bash", &json!({"cmd": "echo x > .env; true; cat .env"}));
    assert!(denied.ok);
    let hidden = house.call(BOB, "bash", &json!({"cmd": "true; cat .env"}));
    assert!(!hidden.ok, "denied names stay hidden: {hidden:?}");
}

#[test]
fn calls_without_a_session_and_unusual_sessions_have_directories_of_their_own() {
    let house = House::open("per-chat");
    let write = json!({"path": "a.txt", "content": "x"});
    assert!(house.server.call("write", &write).ok);
    let mut expected = vec!["default/a.txt".to_owned()];
    for session in ["../telegram-2", "local:a-b", "local:a:b", &"x".repeat(128)] {
        assert!(house.call(session, "write", &write).ok, "{session}");
        expected.push(format!("{}/a.txt", session.parse::<protocol::SessionId>().unwrap().directory_name()));
    }
    for path in expected {
        assert!(house.server.root().join(&path).is_file(), "{path}");
    }
    assert!(!house.bob.join("a.txt").exists());
}

#[test]
fn what_one_chat_leaves_while_another_runs_is_told_to_neither_other() {
    for (division, is_told) in [("shared", true), ("per-chat", false)] {
        let house = House::open(division);
        let bob = house.bob.display();
        let leaves = format!(
            "cd {bob}; mkdir {DIARY}/.idea && echo x > {DIARY}/.idea/x && touch ready; \
             until test -e go; do sleep 0.02; done"
        );
        thread::scope(|scope| {
            let running = scope.spawn(|| house.call(BOB, "bash", &json!({"cmd": leaves})));
            wait::until_true("Bob's command runs", || house.bob.join("ready").exists());
            let answer = house.ask(ADA, "bash", &json!({"cmd": "true"}));
            fs::write(house.bob.join("go"), "").unwrap();
            let left = running.join().unwrap();
            assert_eq!(answer.text().contains(DIARY), is_told, "{}", answer.text());
            let own = left.meta.data["created_control_files"].as_array().unwrap();
            assert_eq!(own.is_empty(), is_told, "{left:?}");
            assert!(!house.bob.join(DIARY).join(".idea").exists());
        });
    }
}

#[test]
fn a_directory_that_is_no_directory_or_denied_is_refused() {
    let builder = ToolServer::builder()
        .variable("AUTONOUS_WORKSPACES", "per-chat")
        .variable("AUTONOUS_TOOL_DENY_PATHS", "x-1")
        .variable("AUTONOUS_TOOL_PROTECTED", "x-2");
    let root = builder.dir().root();
    fs::write(root.join("x-3"), "a file").unwrap();
    symlink("/etc", root.join("x-4")).unwrap();
    let server = builder.start();
    for (session, code) in [
        ("x:1", ErrorCode::PathDenied),
        ("x:2", ErrorCode::ProtectedPath),
        ("x:3", ErrorCode::IoError),
        ("x:4", ErrorCode::IoError),
    ] {
        for (tool, arguments) in [
            ("ls", json!({})),
            ("bash", json!({"cmd": "true"})),
            ("write", json!({"path": "a", "content": ""})),
        ] {
            let answer = server.send(Request::call(tool, &arguments).of_session(session)).envelope();
            assert_eq!(answer.meta.error.unwrap().code, code, "{session} {tool}");
        }
    }
}

#[test]
fn settings_that_cannot_keep_chats_apart_stop_the_start() {
    let dir = TestDir::new();
    let inner = dir.root().join("inner");
    fs::create_dir(&inner).unwrap();
    let with = |value: &str| ToolServer::builder().variable("AUTONOUS_WORKSPACES", value);
    for (builder, said) in [
        (with("each"), "shared or per-chat"),
        (with("per-chat").roots(&[dir.root(), inner.clone()]), "inner"),
        (with("per-chat").variable("AUTONOUS_TOOL_SANDBOX", "landlock"), "namespaces"),
    ] {
        let refusal = builder.start_refused();
        assert_eq!(refusal.status.code(), Some(78), "{said}: {}", refusal.stderr);
        assert_says(&refusal.stderr, &["AUTONOUS_WORKSPACES", said]);
    }
    assert!(ToolServer::builder().roots(&[dir.root(), inner.clone()]).start().stop().success(), "shared");
}

#[test]
fn two_chats_of_the_whole_system_have_their_own_files_and_their_models_are_told_where() {
    let call = ModelReply::call("write", &json!({"path": "from-model.txt", "content": "x"}));
    let model = FakeModel::answering(vec![call, ModelReply::text("done")]);
    let system = System::builder().model(&model).variable("AUTONOUS_WORKSPACES", "per-chat").start();
    assert_says(&system.log(), &["each chat sees only its own directory"]);
    assert_eq!(system.reply(&system.say_in("ada", "write a file")), "done");
    let own = system.workspace().join("local-ada");
    assert!(own.join("from-model.txt").is_file(), "{:?}", everything_below(&system.workspace()));
    assert!(model.requests()[0].to_string().contains(&own.display().to_string()));
}
