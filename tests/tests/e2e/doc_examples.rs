//! Runs what README and docs/ show, or says why that cannot be run here.

use std::fs;
use std::process::Command;

use harness::binaries::path_of;
use harness::project_copy::workspace;
use harness::{System, TestDir, ToolServer};
use serde_json::json;

use crate::{assert_says, with_telegram};

/// How a block is checked.
enum How {
    /// By this test, here or in another file.
    Test(&'static str),
    /// Not at all, for this reason.
    Not(&'static str),
}

use How::{Not, Test};

const RULES: How = Test("every_rule_that_is_shown_can_be_loaded");
const SETTINGS: How = Test("every_line_with_settings_starts_the_programs");
const ENGINE: How = Not("needs a container engine: image/test.py starts the images");
const CLIENT: How = Not("sets up a program of others: `make clients` gives it to that program");
const SYSTEMD: How = Not("needs systemd: package/test.py boots one");
const ELSEWHERE: How = Not("installs programs of others");
const PRINTED: How = Not("shows what a program of others prints");
const SERVER: How = Not("needs the reader's PostgreSQL server: the tests `postgres::` start their own");
const DRAWING: How = Not("is a drawing");
const STORY: How = Test("the_commands_of_the_document_tell_the_whole_story");
const RECIPE: How = Test("every_recipe_for_a_client_is_the_file_that_is_run");
const CHATS: How = Test("chats_move_by_hand_and_a_drained_node_gets_no_new_ones");
const NAMED_TOKEN: How = Test("the_token_of_the_document_is_made_and_used_as_shown");

/// A part of each block, and how the block is checked.
const EXAMPLES: &[(&str, &str, How)] = &[
    ("README.md", "Telegram ─update─▶", DRAWING),
    ("README.md", "make run     #", Not("runs this test")),
    ("README.md", "sh.rustup.rs", Not("installs programs of others; package/fresh.sh does the same")),
    ("README.md", "$ ", Test("the_tour_shows_what_really_happens")),
    ("README.md", "model_name=fake-1", Test("a_bug_is_found_shown_fixed_and_tested_in_twelve_turns")),
    ("CONTRIBUTING.md", "make run     #", Not("runs this test")),
    ("CONTRIBUTING.md", "cargo ", Not("runs this test")),
    ("docs/approvals.md", "APPROVER", STORY),
    ("docs/approvals.md", "Bearer $CALLER", STORY),
    (
        "docs/backup.md",
        "cp -a /backup",
        Test("a_backup_of_everything_is_a_data_directory_that_becomes_ready_elsewhere"),
    ),
    ("docs/clients.md", "", RECIPE),
    ("docs/containers.md", "docker run", ENGINE),
    ("docs/containers.md", "docker compose up", ENGINE),
    ("docs/containers.md", "tier-a.j", ENGINE),
    ("docs/containers.md", "FROM autonous:full", ENGINE),
    ("docs/control-port.md", "/outbox", Test("a_file_is_sent_to_a_chat_as_shown")),
    ("docs/control-port.md", "/files", Test("files_are_stored_fetched_and_reverted_as_shown")),
    ("docs/elsewhere.md", "═══ TLS ═══", DRAWING),
    (
        "docs/elsewhere.md",
        "tool-server serve",
        Not("names files of the reader: the tests `elsewhere::` set the same"),
    ),
    ("docs/elsewhere.md", "tls_client_cert", Test("the_settings_of_the_page_are_known")),
    ("docs/limits.md", "[limits.", RULES),
    ("docs/mcp.md", "claude mcp add", CLIENT),
    ("docs/mcp.md", "[mcp_servers.", CLIENT),
    ("docs/mcp.md", "mcpServers", CLIENT),
    ("docs/mcp.md", "debug/tool-server", Not("names a directory of the reader")),
    ("docs/model-servers.md", "install", ELSEWHERE),
    ("docs/model-servers.md", "make mocks", ELSEWHERE),
    ("docs/model-servers.md", "llmock, anthropic", PRINTED),
    ("docs/models.md", "[[model]]", Test("every_example_of_the_documents_is_valid")),
    ("docs/models.md", "model = [", Test("every_example_of_the_documents_is_valid")),
    ("docs/models.md", "make run", SETTINGS),
    ("docs/models.md", "\"tool_calls\"", Test("a_model_without_function_calling_succeeds_with_sloppy_json")),
    ("docs/packages.md", "enable --now", SYSTEMD),
    ("docs/packages.md", "cargo install", Not("installs into the reader's home")),
    ("docs/packages.md", "LoadCredential=", SYSTEMD),
    ("docs/packages.md", "ReadWritePaths=", SYSTEMD),
    ("docs/packages.md", "--allow-downgrades", SYSTEMD),
    ("docs/page.md", "supervisor open", Test("every_view_opens_without_an_error_or_a_request_elsewhere")),
    ("docs/page.md", "ssh -L", Not("needs a second machine")),
    ("docs/page.md", "AUTONOUS_CONTROL_ALLOWED_HOSTS", SETTINGS),
    ("docs/page.md", "# Caddyfile", ELSEWHERE),
    ("docs/policy.md", "[[rule]]", RULES),
    ("docs/policy.md", "tool-server policy test", Test("the_rules_that_are_shown_decide_as_shown")),
    (
        "docs/setup.md",
        "$ supervisor setup",
        Test("asked_it_tries_each_answer_and_pairs_the_owner_by_a_number"),
    ),
    ("docs/nodes.md", "[data]", SERVER),
    ("docs/nodes.md", "supervisor nodes", CHATS),
    ("docs/nodes.md", "supervisor chats move", CHATS),
    ("docs/postgres.md", "create role", SERVER),
    ("docs/postgres.md", "[data]", SERVER),
    ("docs/postgres.md", "export AUTONOUS_DATABASE_URL", SERVER),
    (
        "docs/postgres.md",
        "supervisor move-database",
        Test("a_chat_continues_at_a_server_and_then_in_a_file_again"),
    ),
    ("docs/postgres.md", "pg_dump", SERVER),
    ("docs/scale.md", "make scale", Test("what_many_chats_cost_is_what_the_script_prints")),
    ("docs/setup.md", "--yes", Test("unattended_it_writes_what_works_and_the_system_starts_with_it")),
    ("docs/setup.md", "[limits]", Test("the_file_of_the_document_is_valid")),
    ("docs/setup.md", "config --set", Test("a_variable_wins_over_the_file_and_the_file_over_a_default")),
    ("docs/small-models.md", "make run", SETTINGS),
    ("docs/operations.md", "\"ready\": false", Test("a_token_that_telegram_rejects_makes_it_unready")),
    ("docs/skills/autonous-tools/SKILL.md", "", Test("the_skill_for_other_agents_works_as_written")),
    ("docs/telegram.md", "make run", SETTINGS),
    (
        "docs/telegram.md",
        "supervisor pair",
        Test("a_stranger_is_paired_while_it_runs_and_the_pairing_is_taken_back"),
    ),
    ("docs/telegram-tools.md", "contact_id:", Test("the_contact_of_the_documents_is_understood")),
    ("docs/threat-model.md", "agent-worker", DRAWING),
    (
        "docs/tool-server.md",
        "tool-server run --root .",
        Test("the_line_that_is_printed_works_when_pasted_and_the_token_outlives_the_server"),
    ),
    ("docs/tool-server.md", "tool-server token new", NAMED_TOKEN),
    ("docs/tool-server.md", "[[token]]", NAMED_TOKEN),
    (
        "docs/tool-server.md",
        "event: output",
        Test("output_comes_while_the_command_runs_and_the_envelope_last"),
    ),
    ("docs/tool-server.md", "[Service]", Not("needs systemd")),
    ("docs/tool-server.md", "docker run", ENGINE),
    ("docs/tool-server.md", "AUTONOUS_TOOL_ENV", Test("the_toolchains_of_the_document_run_in_the_sandbox")),
    ("docs/undo.md", "/undo", Test("files_are_stored_fetched_and_reverted_as_shown")),
    ("docs/web.md", "[profiles.", Test("the_fetch_profiles_that_are_shown_can_be_loaded")),
];

#[derive(Debug)]
struct Block {
    file: String,
    text: String,
}

impl Block {
    fn is(&self, file: &str, part: &str) -> bool {
        self.file == file && self.text.contains(part)
    }
}

/// All blocks of code in the documents.
fn blocks() -> Vec<Block> {
    let files = harness::project_copy::tracked_files(&workspace());
    let files = files.iter().filter_map(|file| file.to_str());
    let is_page = |file: &str| {
        ["README.md", "CONTRIBUTING.md"].contains(&file) || file.starts_with("docs/") && file.ends_with(".md")
    };
    files.filter(|file| is_page(file)).flat_map(blocks_of).collect()
}

fn blocks_of(file: &str) -> Vec<Block> {
    let document = fs::read_to_string(workspace().join(file)).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for line in document.lines().map(str::trim_start) {
        match (line.strip_prefix("```"), is_open) {
            // A block within a block of Markdown.
            (Some(fence), _) if fence.starts_with('`') => {}
            (Some(_), false) => {
                blocks.push(Block { file: file.to_owned(), text: String::new() });
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => {
                let block = blocks.last_mut().unwrap();
                block.text += line;
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    blocks
}

/// The blocks of a document with this part.
fn shown(file: &str, part: &str) -> Vec<String> {
    let found = blocks_of(file).into_iter().filter(|block| block.text.contains(part));
    let found: Vec<String> = found.map(|block| block.text).collect();
    assert!(!found.is_empty(), "{file} shows no {part}");
    found
}

/// The lines that somebody types.
fn typed(block: &str) -> String {
    let lines = block.lines().filter_map(|line| line.strip_prefix("$ "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Runs a script in a shell as a user would, in a directory that looks like the project after `make run`.
fn run(dir: &TestDir, prelude: &str, script: &str) -> String {
    let target = dir.path().join("target");
    if !target.exists() {
        fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(path_of("tool-server").parent().unwrap(), target.join("debug")).unwrap();
    }
    let mut shell = Command::new("bash");
    shell.args(["-ec", &format!("exec 2>&1\n{prelude}\n{script}")]).current_dir(dir.path());
    let output = shell.env_clear().envs(dir.variables()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{script}\n{text}");
    text
}

#[test]
fn every_block_is_checked_or_says_why_not() {
    let blocks = blocks();
    assert!(blocks.len() > 40, "{}", blocks.len());
    for block in &blocks {
        let is_checked = EXAMPLES.iter().any(|(file, part, _)| block.is(file, part));
        assert!(is_checked, "Add to EXAMPLES how this block is checked: {block:#?}");
    }
    for (file, part, how) in EXAMPLES {
        assert!(blocks.iter().any(|block| block.is(file, part)), "{file}: {part}");
        match how {
            Test(name) => assert!(has_test(name), "{file}: there is no test {name}"),
            Not(reason) => assert!(!reason.is_empty()),
        }
    }
}

fn has_test(name: &str) -> bool {
    let files = harness::project_copy::tracked_files(&workspace());
    let sources = files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let code = format!("fn {name}(");
    sources.map(|file| fs::read_to_string(workspace().join(file)).unwrap()).any(|text| text.contains(&code))
}

#[test]
fn every_rule_that_is_shown_can_be_loaded() {
    for (file, part) in [("docs/policy.md", "[[rule]]"), ("docs/limits.md", "[limits.")] {
        for rules in shown(file, part) {
            let server = ToolServer::builder().policy(&rules).start();
            let listed = server.run_command(&["policy", "list"]);
            assert!(listed.status.success(), "{rules}\n{listed:?}");
        }
    }
}

#[test]
fn the_rules_that_are_shown_decide_as_shown() {
    let [block] = &shown("docs/policy.md", "tool-server policy test")[..] else { panic!("one block") };
    let rules = &shown("docs/policy.md", "[[rule]]")[0];
    let dir = TestDir::new();
    let config = dir.write_policy(rules);
    let root = dir.root().display().to_string();
    let prelude =
        format!("export AUTONOUS_CONFIG_DIR={config} AUTONOUS_TOOL_ALLOWED_ROOTS={root}\n{PROGRAM}");
    let expected: String = block.lines().filter(|line| !line.starts_with("$ ")).collect();
    let said = run(&dir, &prelude, &typed(block));
    assert!(said.contains(expected.trim()), "the page:\n{expected}\nreally:\n{said}");
}

/// The program as if it were installed.
const PROGRAM: &str = "tool-server() { target/debug/tool-server \"$@\"; }";

/// Starts the supervisor with what a line sets, until it is ready.
const MAKE: &str = r#"
make() {
    rm -rf "$AUTONOUS_DATA_DIR" said
    target/debug/supervisor run >said 2>&1 &
    until grep -qs 'ready: control' said || ! kill -0 $! 2>/dev/null; do :; done
    kill -TERM $! && wait $! && echo started || { cat said; exit 1; }
}
ollama() { :; }
llama-server() { :; }
vllm() { :; }
"#;

#[test]
fn every_line_with_settings_starts_the_programs() {
    for file in ["docs/models.md", "docs/small-models.md", "docs/telegram.md"] {
        for block in shown(file, "make run") {
            let dir = TestDir::new();
            // Nothing leaves this machine.
            let prelude = format!("export AUTONOUS_TELEGRAM_API_URL=http://127.0.0.1:9\n{MAKE}");
            let said = run(&dir, &prelude, &block);
            assert_eq!(said.matches("started").count(), block.matches("make run").count(), "{block}\n{said}");
        }
    }
}

#[test]
fn the_fetch_profiles_that_are_shown_can_be_loaded() {
    for profiles in shown("docs/web.md", "[profiles.") {
        let builder = ToolServer::builder();
        let file = builder.dir().path().join("profiles.toml");
        fs::write(&file, profiles).unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let builder = builder.variable("AUTONOUS_FETCH_PROFILES_FILE", file.to_str().unwrap());
        let server = builder.variable("TRACKER_KEY", "FAKE-key").start();
        server.assert_alive("a start with the profiles of the page");
    }
}

#[test]
fn files_are_stored_fetched_and_reverted_as_shown() {
    let system = System::start();
    let dir = system.dir();
    fs::write(dir.path().join("report.pdf"), "the report").unwrap();
    let address = harness::http::address_of(&system.tokens().tool_url).to_string();
    let [files] = &shown("docs/control-port.md", "TOOLS=")[..] else { panic!("one block") };
    run(dir, "", &files.replace("127.0.0.1:8701", &address).replace("-OJ", "-o fetched.pdf"));
    assert_eq!(fs::read_to_string(dir.path().join("fetched.pdf")).unwrap(), "the report");
    assert_eq!(fs::read_to_string(system.workspace().join("in/report.pdf")).unwrap(), "the report");

    let [undo] = &shown("docs/undo.md", "/undo\"")[..] else { panic!("one block") };
    let said = run(dir, "", &typed(undo).replace("127.0.0.1:8701", &address));
    assert!(said.contains("\"ok\":true") && said.contains("\"tool\":\"undo\""), "{said}");
    assert!(!system.workspace().join("a.txt").exists());
}

#[test]
fn what_many_chats_cost_is_what_the_script_prints() {
    let printed = Command::new("python3").arg(workspace().join("bench/scale.py")).output().unwrap();
    let table = String::from_utf8(printed.stdout).unwrap();
    let page = fs::read_to_string(workspace().join("docs/scale.md")).unwrap();
    assert!(printed.status.success() && table.lines().count() > 10, "{table}");
    assert!(page.contains(table.trim()), "docs/scale.md shows another table than this:\n{table}");
}

#[test]
fn the_skill_for_other_agents_works_as_written() {
    let server = ToolServer::builder().allowing_all().token("FAKE-token-1").start();
    let blocks = shown("docs/skills/autonous-tools/SKILL.md", "");
    let [manual, function, calls] = &blocks[..] else { panic!("three blocks: {blocks:?}") };
    let prelude =
        format!("export TOOLS_URL=http://{} TOOLS_TOKEN=FAKE-token-1 no_proxy=127.0.0.1", server.address());
    let said = run(server.dir(), &prelude, manual);
    let parts =
        ["# Autonous tool server", "- `ls` (low risk): Lists a directory", "`path` (string, optional)"];
    assert_says(&said, &parts);
    let said = run(server.dir(), &prelude, &format!("{function}{calls}"));
    assert_eq!(said.lines().filter(|line| line.starts_with("exit 0")).count(), 5, "{said}");
    assert!(said.contains("13 notes/hello.txt"), "{said}");
}

#[test]
fn a_file_is_sent_to_a_chat_as_shown() {
    let (telegram, system) = with_telegram();
    fs::write(system.dir().path().join("report.pdf"), "the report").unwrap();
    let control = harness::http::address_of(&system.tokens().control_url).to_string();
    let [block] = &shown("docs/control-port.md", "/outbox")[..] else { panic!("one block") };
    run(system.dir(), "", &block.replace("127.0.0.1:8700", &control));
    let sent = telegram.wait_for_sent(1);
    assert_eq!(sent[0].file, Some(("report.pdf".to_owned(), b"the report".to_vec())));
}

/// A program of a toolchain, which knows where it is and what it is run with.
fn made_up_toolchain(home: &std::path::Path, program: &str, needs: &str) {
    let program = home.join(program);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, format!("#!/bin/sh\necho made up: $0, {needs}\n")).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn the_toolchains_of_the_document_run_in_the_sandbox() {
    let check = |name: &str, program: &str, needs: &str, data: &str| {
        let [block] = &shown("docs/tool-server.md", &format!("# {name}\n"))[..] else { panic!("one block") };
        let builder = ToolServer::builder();
        let home = builder.dir().path().join("home");
        made_up_toolchain(&home, program, needs);
        fs::create_dir_all(home.join(data)).unwrap();
        fs::write(home.join(data).join("data"), "its data\n").unwrap();
        let cmd = std::path::Path::new(program).file_name().unwrap().to_str().unwrap();
        let cmd = json!({"cmd": format!("{cmd} --version")});
        let said = |builder: harness::ToolServerBuilder| {
            builder.variable("HOME", home.to_str().unwrap()).start().call("bash", &cmd)
        };
        // Without the settings of the page, no command finds it; the machine may have one of its own.
        assert!(!said(ToolServer::builder()).stdout.contains("its data"), "{name}");
        let path = home.join(program).parent().unwrap().display().to_string();
        let prelude = format!("export HOME={} PATH={path}:$PATH", home.display());
        let print = "printf '%s\\n' \"$AUTONOUS_TOOL_READONLY_ROOTS\" \"$AUTONOUS_TOOL_ENV\"";
        let settings = run(builder.dir(), &prelude, &format!("{block}\n{print}"));
        let [roots, variables] = settings.lines().collect::<Vec<_>>()[..] else { panic!("{settings}") };
        let builder = builder.variable("AUTONOUS_TOOL_READONLY_ROOTS", roots);
        let answer = said(builder.variable("AUTONOUS_TOOL_ENV", variables));
        assert!(answer.ok && answer.stdout.contains("its data"), "{name}: {answer:?}");
    };
    check("rustup", ".cargo/bin/cargo", "$(cat $RUSTUP_HOME/data)", ".rustup");
    check("pyenv", ".pyenv/shims/python3.99", "$(cat $PYENV_ROOT/data)", ".pyenv");
    let node = ".nvm/versions/node/v99.0.0/bin/node";
    check("nvm", node, "$(cat $(dirname $0)/../data)", ".nvm/versions/node/v99.0.0");
}
