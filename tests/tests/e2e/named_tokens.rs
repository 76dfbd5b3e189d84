//! Named tokens: what each may not do, over HTTP and MCP, for file tools and in the sandbox of commands, and
//! that the file is the only place that decides it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use harness::wait::until_true;
use harness::{Answer, Request, TestDir, ToolServer, program};
use protocol::hash::sha256;
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

const SERVERS_OWN: &str = "FAKE-own-token";

/// The secret of a named token is made from its name.
fn secret(name: &str) -> String {
    format!("FAKE-secret-of-{name}")
}

/// The lines of a token.
fn token(name: &str, terms: &str) -> String {
    format!("[[token]]\nname = \"{name}\"\nsha256 = \"{}\"\n{terms}\n", sha256(secret(name).as_bytes()))
}

/// The file of tokens, in a directory of its own.
fn file_in(dir: &TestDir) -> PathBuf {
    let directory = dir.path().join("tokens");
    fs::create_dir_all(&directory).unwrap();
    directory.join("tokens.toml")
}

struct Server(ToolServer);

impl Server {
    /// With these tokens, in whose terms `ROOT` stands for the root.
    fn with(tokens: &[String], variables: &[(&str, &str)]) -> Self {
        let builder = ToolServer::builder().token(SERVERS_OWN);
        let root = builder.dir().root();
        for directory in ["open/sub", "closed", "deploy"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["open/a.txt", "open/sub/b.txt", "closed/c.txt", "deploy/d.txt", "top.txt"] {
            fs::write(root.join(file), format!("content of {file}\n")).unwrap();
        }
        symlink(root.join("closed/c.txt"), root.join("open/link")).unwrap();
        symlink("../closed", root.join("open/way")).unwrap();
        let path = file_in(builder.dir());
        fs::write(&path, tokens.concat().replace("ROOT", root.to_str().unwrap())).unwrap();
        let server = builder.variable("AUTONOUS_TOOL_TOKENS_FILE", path.to_str().unwrap());
        Self(server.variables(variables).start())
    }

    /// With the tokens of callers that may do less in one way each.
    fn of_readers() -> Self {
        let terms = [
            token("reader", "tools = [\"read\", \"ls\", \"file_*\"]"),
            token("fixed", "read_only = true"),
            token("narrow", "roots = [\"ROOT/open\"]"),
            token("offline", "network = false"),
            token("ci", "sessions = [\"ci-*\"]"),
        ];
        Self::with(&terms, &[("AUTONOUS_TOOL_RAW_FILES", "true"), ("AUTONOUS_FETCH_ALLOWED_HOSTS", "*")])
    }

    fn file(&self) -> PathBuf {
        file_in(self.0.dir())
    }

    fn send(&self, name: &str, request: Request) -> Answer {
        self.0.send(request.bearer(&secret(name)))
    }

    fn call(&self, name: &str, tool: &str, arguments: &Value) -> Envelope {
        self.send(name, Request::call(tool, arguments)).envelope()
    }

    fn own(&self, tool: &str, arguments: &Value) -> Envelope {
        self.0.call(tool, arguments)
    }
}

/// Asserts that the call of the named token is refused, and that the same call of the server's own token is
/// not refused in that way: without the grant it works.
fn refused(server: &Server, name: &str, (tool, arguments): (&str, Value), code: ErrorCode) {
    let refusal = server.call(name, tool, &arguments);
    assert_eq!(refusal.error_code(), Some(code), "{name} {tool} {arguments}: {refusal:?}");
    let status = server.send(name, Request::call(tool, &arguments)).status;
    assert!(status == 403 || code == ErrorCode::NotFound, "{name} {tool} {arguments}: {status}");
    let allowed = server.own(tool, &arguments);
    assert_ne!(allowed.error_code(), Some(code), "own {tool} {arguments}: {allowed:?}");
}

const WRITE: &str = "content";

fn write(path: &str) -> Value {
    json!({"path": path, WRITE: "x"})
}

#[test]
fn a_token_does_no_more_than_its_terms_say() {
    let server = Server::of_readers();
    let root = server.0.root();
    let outside = ErrorCode::PathOutsideRoots;
    let forbidden = ErrorCode::ToolNotAllowed;
    let edit = json!({"path": "top.txt", "find": "content", "replace": "y", "dry_run": true});
    for (name, call, code) in [
        ("reader", ("write", write("new-1")), forbidden),
        ("reader", ("bash", json!({"cmd": "true"})), forbidden),
        ("reader", ("grep", json!({"pattern": "x"})), forbidden),
        ("reader", ("process_list", json!({})), forbidden),
        ("fixed", ("write", write("new-2")), forbidden),
        ("fixed", ("edit", edit), forbidden),
        ("fixed", ("delete", json!({"path": "top.txt", "dry_run": true})), forbidden),
        ("narrow", ("read", json!({"path": root.join("closed/c.txt")})), outside),
        ("narrow", ("read", json!({"path": root.join("top.txt")})), outside),
        ("narrow", ("read", json!({"path": root.join("open/link")})), outside),
        ("narrow", ("read", json!({"path": root.join("open/way/c.txt")})), outside),
        ("narrow", ("read", json!({"path": root.join("open/../top.txt")})), outside),
        ("narrow", ("ls", json!({"path": root})), outside),
        ("narrow", ("ls", json!({"path": root.join("open/way")})), outside),
        ("narrow", ("grep", json!({"pattern": "content", "path": root})), outside),
        ("narrow", ("find", json!({"name_pattern": "*.txt", "path": root.join("closed")})), outside),
        ("narrow", ("write", write(root.join("closed/new").to_str().unwrap())), outside),
        ("narrow", ("bash", json!({"cmd": "true", "workdir": root})), outside),
        ("offline", ("url_fetch", json!({"url": "http://127.0.0.1:1/"})), forbidden),
    ] {
        refused(&server, name, call, code);
    }
}

#[test]
fn a_token_names_its_own_sessions_and_does_what_its_terms_leave() {
    let server = Server::of_readers();
    let root = server.0.root();
    for (name, session, passes) in [
        ("ci", Some("ci-7"), true),
        ("ci", Some("other"), false),
        ("ci", None, false),
        ("reader", Some("other"), true),
    ] {
        let call = Request::call("ls", &json!({"path": "."}));
        let call = session.into_iter().fold(call, Request::of_session);
        let answer = server.send(name, call).envelope();
        assert_eq!(answer.ok, passes, "{name} {session:?}: {answer:?}");
    }
    // What they may do works, and relative paths start in their first directory.
    assert!(server.call("reader", "read", &json!({"path": "top.txt"})).ok);
    assert!(server.call("fixed", "read", &json!({"path": "top.txt"})).ok);
    let read = server.call("narrow", "read", &json!({"path": "a.txt"}));
    assert!(read.ok && read.meta.context.cwd == root.join("open").display().to_string(), "{read:?}");
    let found = server.call("narrow", "grep", &json!({"pattern": "content"}));
    assert!(found.stdout.contains("b.txt") && !found.stdout.contains("c.txt"), "{}", found.stdout);
    assert!(server.call("narrow", "write", &write("sub/new")).ok && root.join("open/sub/new").exists());
    // Raw files go the same way.
    let get = |name, path: &str| server.send(name, Request::get(&format!("/files?path={path}"))).status;
    assert_eq!((get("reader", "top.txt"), get("fixed", "top.txt")), (200, 200));
    assert_eq!(get("narrow", &root.join("top.txt").display().to_string()), 403);
    assert_eq!(server.send("fixed", Request::put("/files?path=new-3", "x")).status, 403);
    assert_eq!(server.send("narrow", Request::put("/files?path=../new-4", "x")).status, 403);
}

#[test]
fn rules_about_paths_hold_from_the_operators_root() {
    let builder = ToolServer::builder().token(SERVERS_OWN);
    let root = builder.dir().root();
    fs::create_dir_all(root.join("deploy/keys")).unwrap();
    fs::write(root.join("deploy/keys/k"), "k").unwrap();
    let rules = "[[rule]]\ntools = [\"write\"]\npaths = [\"deploy/**\"]\ndecision = \"deny\"\n";
    let config = builder.dir().write_policy(rules);
    let path = file_in(builder.dir());
    let deployer = token("deployer", &format!("roots = [\"{}\"]", root.join("deploy").display()));
    fs::write(&path, deployer).unwrap();
    let builder = builder
        .variable("AUTONOUS_TOOL_TOKENS_FILE", path.to_str().unwrap())
        .variable("AUTONOUS_CONFIG_DIR", &config)
        .variable("AUTONOUS_TOOL_DENY_PATHS", "deploy/keys/**");
    let server = Server(builder.start());
    let denied = server.call("deployer", "write", &json!({"path": "a", WRITE: "x"}));
    assert_eq!(denied.error_code(), Some(ErrorCode::ToolNotAllowed), "{denied:?}");
    for (tool, arguments) in [
        ("read", json!({"path": "keys/k"})),
        ("edit", json!({"path": "keys/k", "find": "k", "replace": "x"})),
    ] {
        let denied = server.call("deployer", tool, &arguments);
        assert_eq!(denied.error_code(), Some(ErrorCode::PathDenied), "{tool}: {denied:?}");
    }
    let listed = server.call("deployer", "ls", &json!({"path": ".", "recursive": true}));
    let found = server.call("deployer", "grep", &json!({"pattern": "k"}));
    assert!(listed.ok && !listed.stdout.contains("keys/k"), "{}", listed.stdout);
    assert!(!found.stdout.contains("keys/k"), "{}", found.stdout);
    let seen = server.call("deployer", "bash", &json!({"cmd": "md5sum keys/k"}));
    assert!(!seen.ok, "{seen:?}");
}

#[test]
fn the_commands_of_a_token_see_and_change_no_more_than_its_tools() {
    let narrow = token("narrow", "roots = [\"ROOT/open/sub\", \"ROOT/deploy\"]");
    let server = Server::with(&[narrow], &[]);
    let root = server.0.root();
    let run = |name: &str, cmd: &str| server.call(name, "bash", &json!({"cmd": cmd}));
    let at = |path: &str| root.join(path).display().to_string();
    // Each of these works with the server's own token.
    let outside = [
        format!("md5sum {}", at("top.txt")),
        format!("md5sum {}", at("closed/c.txt")),
        format!("md5sum {}", at("open/a.txt")),
        format!("cd {}", at("closed")),
        format!("test -e {}", at("top.txt")),
        format!("touch {}", at("new-1")),
        format!("cd {} && md5sum ../top.txt", at("deploy")),
    ];
    for cmd in &outside {
        let (own, narrow) = (server.own("bash", &json!({"cmd": cmd})), run("narrow", cmd));
        assert!(own.ok && !narrow.ok, "{cmd}: {own:?} {narrow:?}");
    }
    let listed = run("narrow", &format!("pwd; printf '%s\\n' {0}/* {0}/*/*", root.display()));
    assert!(listed.ok && listed.stdout.starts_with(&at("open/sub")), "{listed:?}");
    assert!(!listed.stdout.contains("top.txt") && !listed.stdout.contains("closed"), "{}", listed.stdout);
    for cmd in ["echo x > b.txt".to_owned(), format!("mkdir {}", at("deploy/new")), "md5sum b.txt".to_owned()]
    {
        assert!(run("narrow", &cmd).ok, "{cmd}");
    }
    assert_eq!(fs::read_to_string(root.join("open/sub/b.txt")).unwrap(), "x\n");
    let beside = run("narrow", &format!("touch {}", at("open/beside")));
    assert!(!beside.ok && !root.join("open/beside").exists());
}

#[test]
fn the_commands_of_a_token_that_may_only_read_change_nothing() {
    let tokens = [
        token("fixed", "read_only = true"),
        token("both", "read_only = true\nroots = [\"ROOT/open\"]"),
        token("plain", ""),
    ];
    let server = Server::with(&tokens, &[]);
    let root = server.0.root();
    let run = |name: &str, cmd: &str| server.call(name, "bash", &json!({"cmd": cmd}));
    let changes =
        ["touch new-2", "echo x >> top.txt", "rm top.txt", "mv top.txt t", "chmod 0 top.txt", "mkdir new-3"];
    for cmd in changes {
        let (fixed, both) = (run("fixed", cmd), run("both", &cmd.replace("top", "a")));
        assert!(!fixed.ok && !both.ok, "{cmd}: {fixed:?} {both:?}");
    }
    for (name, cmd) in [("fixed", "md5sum top.txt && touch /tmp/x ~/y"), ("both", "md5sum a.txt sub/b.txt")] {
        let read = run(name, cmd);
        assert!(read.ok, "{cmd}: {read:?}");
    }
    assert!(!run("both", &format!("md5sum {}", root.join("top.txt").display())).ok);
    assert!(run("plain", "echo x >> top.txt && rm top.txt").ok, "a token without terms may do all of it");
}

/// One session is still two callers.
#[test]
fn a_token_has_its_own_processes_outputs_and_changes() {
    let server = Server::with(&[token("narrow", "roots = [\"ROOT/open/sub\"]"), token("plain", "")], &[]);
    let root = server.0.root();
    let started = server.call("plain", "bash", &json!({"cmd": "cat", "background": true}));
    let id = started.meta.data["process_id"].as_str().unwrap().to_owned();
    for (tool, arguments) in [
        ("process_read", json!({"process_id": id})),
        ("process_write", json!({"process_id": id, "text": "x\n"})),
        ("process_kill", json!({"process_id": id})),
    ] {
        let other = server.call("narrow", tool, &arguments);
        assert_eq!(other.error_code(), Some(ErrorCode::NotFound), "{tool}: {other:?}");
    }
    assert!(!server.call("narrow", "process_list", &json!({})).stdout.contains(&id));
    assert!(server.own("process_list", &json!({})).stdout.contains(&id));
    let long = server.call("plain", "bash", &json!({"cmd": "seq 100000"}));
    let kept = json!({"path": long.meta.full_output.as_ref().unwrap().path});
    assert!(server.call("plain", "read", &kept).ok && server.own("read", &kept).ok);
    assert_eq!(server.call("narrow", "read", &kept).error_code(), Some(ErrorCode::NotFound));
    // A change is undone by the token that made it alone.
    let written = server.call("plain", "write", &json!({"path": "open/sub/u", WRITE: "x"}));
    let undo = || Request::post(&format!("/changes/{}/undo", written.meta.call_id), "");
    assert!(!server.send("narrow", undo()).envelope().ok && root.join("open/sub/u").exists());
    assert!(server.send("plain", undo()).envelope().ok);
}

#[test]
fn commands_of_a_token_without_a_network_reach_nothing_outside() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server =
        Server::with(&[token("offline", "network = false")], &[("AUTONOUS_TOOL_BASH_NETWORK", "all")]);
    let cmd = json!({"cmd": format!(": < /dev/tcp/127.0.0.1/{port}")});
    let (own, offline) = (server.own("bash", &cmd), server.call("offline", "bash", &cmd));
    assert!(own.ok && !offline.ok, "{own:?} {offline:?}");
}

#[test]
fn a_token_is_refused_as_soon_as_the_file_says_so() {
    let few = token("few", "[token.limits]\ncalls_per_minute = 2\ncommand_seconds_per_day = 2");
    let server =
        Server::with(&[token("a", ""), few.clone(), token("old", "expires = 2020-01-01T00:00:00Z")], &[]);
    let look = |name: &str| server.send(name, Request::call("ls", &json!({"path": "."})));
    let expired = look("old");
    assert_eq!(expired.status, 401);
    assert!(expired.envelope().meta.error.unwrap().message.contains("has expired"));
    assert_eq!((look("a").status, look("unknown").status), (200, 401));
    // What a token has used counts on when the file is read again.
    assert!(server.call("few", "bash", &json!({"cmd": "sleep 1.5"})).ok);
    assert!(look("few").envelope().ok);
    fs::write(server.file(), few.replace("calls_per_minute = 2", "calls_per_minute = 3")).unwrap();
    assert_eq!(look("a").status, 401, "it was taken out");
    let used_up = server.call("few", "bash", &json!({"cmd": "true"}));
    assert_eq!(used_up.error_code(), Some(ErrorCode::QuotaExceeded), "{used_up:?}");
    let too_many = look("few");
    assert_eq!(too_many.status, 429);
    assert!(too_many.header("retry-after").is_some());
    // A file that cannot be used lets no one in, and the server's own token is no part of it.
    for (text, mode) in [("[[token]]\nname = \"few\"", 0o600), (few.as_str(), 0o666)] {
        fs::write(server.file(), text).unwrap();
        fs::set_permissions(server.file(), fs::Permissions::from_mode(mode)).unwrap();
        let answer = look("few");
        assert_eq!(answer.status, 401, "{text}");
        assert!(answer.envelope().meta.error.unwrap().message.contains("cannot be used now"));
        assert!(server.own("ls", &json!({"path": "."})).ok);
    }
    fs::remove_file(server.file()).unwrap();
    assert_eq!(look("few").status, 401);
    // An editor puts a new file in the place of the old one.
    let new = server.file().with_extension("new");
    fs::write(&new, token("b", "")).unwrap();
    fs::rename(&new, server.file()).unwrap();
    until_true("the new file is read", || look("b").status == 200);
}

#[test]
fn the_catalogue_of_a_token_has_what_it_may_call() {
    let reader = token("reader", "tools = [\"read\", \"ls\"]");
    let server = Server::with(&[reader, token("fixed", "read_only = true")], &[]);
    let names = |token: &str| server.send(token, Request::get("/tools")).tool_names();
    assert_eq!(names("reader"), ["ls", "read"]);
    let all = server.0.send(Request::get("/tools")).tool_names();
    let fixed = names("fixed");
    assert!(fixed.contains(&"bash".to_owned()) && !fixed.contains(&"write".to_owned()), "{fixed:?}");
    assert!(all.len() > fixed.len());
    let listed = server.send("reader", Request::get("/tools"));
    let called = server.send("reader", Request::call("ls", &json!({"path": "."})));
    assert_eq!(called.header("x-catalogue-tag"), listed.header("etag"));
}

#[test]
fn mcp_shows_and_refuses_the_same_and_the_journal_names_the_token() {
    let server = Server::with(&[token("reader", "tools = [\"read\", \"ls\"]")], &[]);
    let ask = |method: &str, parameters: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters});
        let request = Request::post_json("/mcp", &message)
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", method);
        let request = match parameters["name"].as_str() {
            Some(name) => request.header("Mcp-Name", name),
            None => request,
        };
        server.send("reader", request).json()
    };
    let client = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let listed = ask("tools/list", json!({"_meta": client}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(2), "{listed}");
    let refused =
        ask("tools/call", json!({"_meta": client, "name": "write", "arguments": {"path": "x", WRITE: "x"}}));
    let error = &refused["result"]["structuredContent"]["meta"]["error"];
    assert_eq!(error["code"], "TOOL_NOT_ALLOWED", "{refused}");
    let journal = fs::read_to_string(server.0.dir().journal()).unwrap();
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let named = records.filter(|record| record["token"] == "reader").count();
    assert_eq!(named, 2, "start and end of a call");
    server.own("ls", &json!({"path": "."}));
    let journal = fs::read_to_string(server.0.dir().journal()).unwrap();
    assert!(!journal.lines().last().unwrap().contains("\"token\""));
}

#[test]
fn a_file_that_proves_nothing_stops_the_start() {
    let start = |place: &str, text: &str, mode: u32, own: bool| {
        let builder = ToolServer::builder();
        let builder = if own { builder.token(SERVERS_OWN) } else { builder };
        let path = builder.dir().path().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        builder.variable("AUTONOUS_TOOL_TOKENS_FILE", path.to_str().unwrap()).start_refused().stderr
    };
    let good = token("a", "");
    for (place, text, mode, own, said) in [
        ("tokens/t.toml", good.as_str(), 0o600, false, "every caller may do everything"),
        ("root/t.toml", &good, 0o600, true, "it lies in a root"),
        ("tokens/t.toml", &good, 0o622, true, "another user can change it"),
        ("tokens/t.toml", "[[token]]\nname = \"a b\"\nsha256 = \"\"", 0o600, true, "line 1"),
        ("tokens/t.toml", &token("a", "roots = [\"src\"]"), 0o600, true, "not absolute"),
    ] {
        let stderr = start(place, text, mode, own);
        assert!(stderr.contains(said) && stderr.contains("AUTONOUS_TOOL_TOKENS_FILE"), "{said}: {stderr}");
    }
}

#[test]
fn the_lines_of_a_new_token_are_those_of_the_file() {
    let server = Server::with(&[], &[]);
    let root = server.0.root().display().to_string();
    let line = format!(
        "token new ci --tool read --tool process_* --root {root} --read-only --no-network --session ci-* \
         --expires 2099-01-31T12:00:00Z --calls-per-minute 5"
    );
    let made = program::stdout_of(&server.0.run_command(&line.split(' ').collect::<Vec<_>>()));
    let lines: Vec<&str> = made.lines().collect();
    let secret = lines[2];
    let table = &made[made.find("[[token]]").unwrap()..];
    assert!(secret.len() == 64 && !table.contains(secret), "{made}");
    fs::write(server.file(), table).unwrap();
    let call = Request::call("read", &json!({"path": "top.txt"})).of_session("ci-1");
    let read = server.0.send(call.bearer(secret)).envelope();
    assert!(read.ok, "{table}: {read:?}");
    let wrong = server.0.run_command(&["token", "new", "c i"]);
    assert_eq!(wrong.status.code(), Some(78));
    assert!(program::refusal_of(&wrong).contains("no name of a token"));
}

#[test]
fn the_token_of_the_document_is_made_and_used_as_shown() {
    let server = Server::with(&[], &[]);
    let docs = include_str!("../../../docs/tool-server.md");
    let line = docs.lines().find(|line| line.starts_with("tool-server token new")).unwrap();
    let words: Vec<&str> = line.split(' ').skip(1).map(|word| word.trim_matches('\'')).collect();
    let made = program::stdout_of(&server.0.run_command(&words));
    let table = &docs[docs.find("[[token]]").unwrap()..];
    let table = &table[..table.find("```").unwrap()];
    for key in ["tools", "roots", "read_only", "sessions"] {
        let of = |text: &str| {
            let line = text.lines().find(|line| line.starts_with(key)).unwrap();
            line.split('#').next().unwrap().trim().to_owned()
        };
        assert_eq!(of(&made), of(table));
    }
    let open = server.0.root().join("open").display().to_string();
    let table = table.replace("/srv/project/docs", &open).replace("2027-", "2099-");
    fs::write(server.file(), table.replace('…', &sha256(secret("ci").as_bytes()))).unwrap();
    let send = |tool: &str, arguments: &Value| {
        let call = Request::call(tool, arguments).of_session("ci-1");
        server.send("ci", call).envelope()
    };
    assert!(send("read", &json!({"path": "a.txt"})).ok);
    assert!(send("bash", &json!({"cmd": "md5sum a.txt"})).ok);
    assert!(!send("bash", &json!({"cmd": "touch new"})).ok);
}
