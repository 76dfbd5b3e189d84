//! The whole system as a user runs it: `supervisor run` with its two children, in its own directory.

mod builder;

use std::fs;
use std::path::PathBuf;
use std::process::{ExitStatus, Output};

use protocol::Envelope;
use rustix::process::Signal;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::leftovers::{self, Process};
use crate::program::{self, Launch};
use crate::pty::Terminal;
use crate::{Answer, Database, FakeTelegram, Program, Request, TestDir, binaries, http, signals, wait};

pub use builder::SystemBuilder;

#[derive(Debug)]
pub struct System {
    supervisor: Program,
    launch: Launch,
    /// The route of the control port that answers once the system is ready.
    readiness: &'static str,
    // Dropped last, because a failing test prints the logs in it.
    dir: TestDir,
}

/// What the supervisor writes to `<data>/tokens` for its commands.
#[derive(Debug, Clone, Deserialize)]
pub struct Tokens {
    pub control_token: String,
    pub tool_token: String,
    pub approver_token: String,
    pub control_url: String,
    pub tool_url: String,
}

impl System {
    pub fn builder() -> SystemBuilder {
        SystemBuilder::new()
    }

    pub fn start() -> Self {
        Self::builder().start()
    }

    pub fn dir(&self) -> &TestDir {
        &self.dir
    }

    pub fn workspace(&self) -> PathBuf {
        self.dir.data().join("workspace")
    }

    pub fn database(&self) -> Database {
        Database::in_data(&self.dir.data())
    }

    /// What it has logged since its last start.
    pub fn log(&self) -> String {
        self.supervisor.log()
    }

    pub fn until_logged(&self, words: &str) {
        self.supervisor.until_logged(words);
    }

    pub fn log_tail(&self) -> String {
        self.supervisor.log_tail()
    }

    pub fn supervisor(&self) -> &Program {
        &self.supervisor
    }

    pub fn supervisor_pid(&self) -> u32 {
        self.supervisor.pid()
    }

    pub fn tokens(&self) -> Tokens {
        self.tokens_if_written().expect("a ready system has written its tokens")
    }

    /// Sends a request to the control port, with its token.
    pub fn control(&self, request: Request) -> Answer {
        self.ask_openly(request.bearer(&self.tokens().control_token))
    }

    /// Sends a request to the control port as it is.
    pub fn ask_openly(&self, request: Request) -> Answer {
        request.send(http::address_of(&self.tokens().control_url))
    }

    pub fn readyz(&self) -> Answer {
        self.ask_openly(Request::get("/readyz"))
    }

    /// Calls a tool directly, with the tool server's token.
    pub fn tool(&self, name: &str, arguments: &Value) -> Envelope {
        self.ask_tool_server(Request::call(name, arguments)).envelope()
    }

    /// The same for a session.
    pub fn tool_as(&self, session: &str, name: &str, arguments: &Value) -> Envelope {
        self.ask_tool_server(Request::call(name, arguments).of_session(session)).envelope()
    }

    /// Sends a request to the tool server, with its token.
    pub fn ask_tool_server(&self, request: Request) -> Answer {
        let tokens = self.tokens();
        request.bearer(&tokens.tool_token).send(http::address_of(&tokens.tool_url))
    }

    /// Sends a request to the tool server, with the approver's token.
    pub fn ask_as_approver(&self, request: Request) -> Answer {
        let tokens = self.tokens();
        request.bearer(&tokens.approver_token).send(http::address_of(&tokens.tool_url))
    }

    /// The ID of the first call that waits for a person, once there is one.
    pub fn pending_approval(&self) -> String {
        let found = wait::within(wait::SOON, || {
            let all = self.ask_as_approver(Request::get("/approvals?state=pending")).json();
            Some(all["approvals"].get(0)?["id"].as_str()?.to_owned())
        });
        found.unwrap_or_else(|| panic!("nothing waits:\n{}", self.log_tail()))
    }

    /// Decides about the call with this approval.
    pub fn decide(&self, approval: &str, decision: &Value) {
        let request = Request::post_json(&format!("/approvals/{approval}"), decision);
        let decided = self.ask_as_approver(request).json();
        assert_eq!(decided["id"], approval, "{decided}");
    }

    /// What `/readyz` says of one part.
    pub fn part(&self, name: &str) -> Value {
        let answer = self.readyz().json();
        let part =
            answer["parts"].as_array().and_then(|parts| parts.iter().find(|part| part["name"] == name));
        part.unwrap_or_else(|| panic!("no part {name} in {answer}")).clone()
    }

    /// Sends a message in the local channel; returns the task's ID.
    pub fn say(&self, text: &str) -> String {
        self.say_in("local", text)
    }

    /// Sends a message in another conversation of the local channel; returns the task's ID.
    pub fn say_in(&self, chat: &str, text: &str) -> String {
        let answer = self.control(Request::post_json("/messages", &json!({"text": text, "chat": chat})));
        assert_eq!(answer.status, 202, "{}", answer.text());
        answer.json()["task_id"].as_str().expect("a queued message has a task").to_owned()
    }

    /// Queues a text for a chat of Telegram.
    pub fn queue(&self, chat: i64, text: &str) {
        let message = json!({"chat": chat.to_string(), "kind": "text", "text": text});
        let answer = self.control(Request::post_json("/outbox", &message));
        assert_eq!(answer.status, 202, "{}", answer.text());
    }

    /// Waits until everything that Telegram has is confirmed, done and sent.
    pub fn wait_for_rest(&self, telegram: &FakeTelegram) {
        let open = "select (select count(*) from inbox where state in ('queued', 'in_progress'))
                         + (select count(*) from outbox where state = 'queued')";
        wait::until_true("nothing is left to do", || {
            telegram.unconfirmed() == 0 && self.database().count(open) == 0
        });
    }

    /// Waits until all messages are marked as sent: one that is killed between the two comes twice.
    pub fn wait_until_all_is_sent(&self) {
        let left = "select count(*) from outbox where state = 'queued'";
        wait::until_true("all messages are marked as sent", || self.database().count(left) == 0);
    }

    pub fn reply(&self, task: &str) -> String {
        wait::until("the reply comes", || {
            let answer = self.control(Request::get(&format!("/messages/{task}?wait_seconds=5"))).json();
            answer["reply"].as_str().map(str::to_owned)
        })
    }

    /// Sends a message, waits for its reply, and returns the task's ID.
    pub fn run_task(&self, text: &str) -> String {
        let task = self.say(text);
        self.reply(&task);
        task
    }

    /// The output of a `supervisor` command, which must succeed.
    pub fn shown(&self, arguments: &[&str]) -> String {
        program::stdout_of(&self.run_command(arguments))
    }

    /// What a `supervisor` command says on stderr, which must fail.
    pub fn refused(&self, arguments: &[&str]) -> String {
        program::refusal_of(&self.run_command(arguments))
    }

    /// Runs a `supervisor` command in a terminal with this many columns.
    pub fn terminal(&self, arguments: &[&str], columns: u16) -> Terminal {
        let program = binaries::path_of("supervisor");
        Terminal::start(&program, arguments, &self.dir.variables(), &self.dir, columns)
    }

    /// A link that signs in at the page, once.
    pub fn page_link(&self) -> String {
        self.shown(&["open", "--print"]).trim().to_owned()
    }

    /// The cookie of a session of the page, as a request sends it.
    pub fn signed_in(&self) -> String {
        let (link, url) = (self.page_link(), self.tokens().control_url);
        let path = link.strip_prefix(&url).expect("the link is to the page");
        let answer = self.ask_openly(Request::get(path));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let cookie = answer.header("set-cookie").expect("a link sets a cookie");
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    pub fn shown_json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.shown(arguments)).expect("--json prints JSON")
    }

    /// Runs a `supervisor` command with the variables that every program gets, and no others.
    pub fn run_command(&self, arguments: &[&str]) -> Output {
        self.run_with_input(arguments, "")
    }

    /// The same with something on its stdin.
    pub fn run_with_input(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
        let launch = Launch { variables: self.dir.variables(), ..self.launch.clone() };
        launch.output(&self.dir, arguments, input.as_ref())
    }

    /// Runs a `tool-server` command with the variables that every program gets, and no others.
    pub fn run_tool_server(&self, arguments: &[&str]) -> Output {
        Launch::new(&self.dir, "tool-server", "").output(&self.dir, arguments, &[])
    }

    /// Runs a `supervisor` command with all variables of the system.
    pub fn run_set_up(&self, arguments: &[&str]) -> Output {
        self.launch.output(&self.dir, arguments, &[])
    }

    pub fn child(&self, name: &str) -> Process {
        wait::until(&format!("the {name} runs"), || self.children().into_iter().find(|c| c.is(name)))
    }

    pub fn children(&self) -> Vec<Process> {
        let Some(launcher) = self.launcher() else { return Vec::new() };
        let mut children = leftovers::processes_of(&self.dir);
        children.retain(|process| process.parent == launcher.pid);
        children
    }

    /// The process that starts the children for the supervisor.
    pub fn launcher(&self) -> Option<Process> {
        let processes = leftovers::processes_of(&self.dir);
        processes.into_iter().find(|process| process.parent == self.supervisor.pid())
    }

    pub fn kill_child(&self, name: &str) {
        signals::send(self.child(name).pid, Signal::KILL);
    }

    /// Kills a child, or the supervisor, which is started again.
    pub fn kill_and_continue(&mut self, victim: &str) {
        if victim == "supervisor" {
            self.kill();
            self.restart();
        } else {
            self.kill_child(victim);
        }
    }

    /// Whether the supervisor has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.supervisor.ended().is_some()
    }

    /// Sends a signal to everything of the system.
    pub fn signal_all(&self, signal: Signal) {
        for process in leftovers::processes_of(&self.dir) {
            signals::send(process.pid, signal);
        }
    }

    /// Kills the supervisor, as a power cut would, and checks that its children end as well.
    pub fn kill(&mut self) {
        self.supervisor.kill();
        leftovers::assert_no_process(&self.dir);
    }

    /// Waits until the supervisor has ended by itself, and checks that its children have ended as well.
    pub fn wait(&mut self) -> ExitStatus {
        let status = self.supervisor.wait();
        leftovers::assert_no_process(&self.dir);
        status
    }

    /// Starts the supervisor again in the same directory, and waits until it is ready.
    pub fn restart(&mut self) {
        self.start_again();
        self.wait_until_ready();
    }

    /// Starts the supervisor again in the same directory.
    pub fn start_again(&mut self) {
        self.supervisor = Program::start(&self.dir, &self.launch);
    }

    /// Stops the system with SIGTERM, and checks that it leaves nothing behind.
    pub fn stop(&mut self) -> ExitStatus {
        let status = self.supervisor.terminate();
        leftovers::assert_no_process(&self.dir);
        leftovers::assert_no_temporary_file(&self.workspace());
        let running = self.database().count("select count(*) from inbox where state = 'in_progress'");
        assert_eq!(running, 0, "tasks are still marked as running");
        status
    }

    pub fn wait_until_ready(&mut self) {
        let ready = wait::within(wait::SOON, || {
            let ended = self.supervisor.ended();
            assert!(ended.is_none(), "the supervisor ended: {ended:?}\n{}", self.supervisor.log_tail());
            let tokens = self.tokens_if_written()?;
            let answer = Request::get(self.readiness).try_send(http::address_of(&tokens.control_url)).ok()?;
            (answer.status == 200 || lacks_only_other_services(&answer)).then_some(())
        });
        assert!(ready.is_some(), "the system is not ready:\n{}", self.supervisor.log_tail());
    }

    fn tokens_if_written(&self) -> Option<Tokens> {
        serde_json::from_slice(&fs::read(self.dir.data().join("tokens")).ok()?).ok()
    }
}

impl Drop for System {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

/// Whether all that has failed is Telegram or the model, which a test may start later or never.
fn lacks_only_other_services(answer: &Answer) -> bool {
    let Ok(report) = serde_json::from_slice::<Value>(&answer.body) else { return false };
    let parts = report["parts"].as_array().cloned().unwrap_or_default();
    let mut failed = parts.iter().filter(|part| part["state"] == "failed");
    !parts.is_empty() && failed.all(|part| part["name"] == "telegram" || part["name"] == "model")
}

/// A reply of the direct provider without its status line.
pub fn without_status_line(reply: &str) -> &str {
    reply.split_once('\n').map_or("", |(_, rest)| rest)
}

/// A message that is itself a tool call: `ls` of a path.
pub fn direct_ls(path: &str) -> String {
    format!("/ls {}", Value::from_iter([("path".to_owned(), Value::from(path))]))
}
