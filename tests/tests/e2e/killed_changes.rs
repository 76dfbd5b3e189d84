//! The server is killed over and over during changes: every file has its old or its new content, no temporary
//! file is left, no change is made twice, and what was made can be undone.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::envelope_shape::assert_whole;
use harness::{Random, Request, ToolServer, leftovers, program, wait};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

const SEED: u64 = 20_250_611;
const CLIENTS: usize = 4;
const FILES_PER_CLIENT: usize = 3;
const CHANGES: usize = 500;
const BETWEEN_KILLS: usize = 40;
const LARGEST: usize = 200_000;

/// A client that changes its own files, and knows what each must contain.
struct Client {
    session: String,
    root: PathBuf,
    files: Vec<(String, String)>,
    random: Random,
    sent: usize,
}

struct Unanswered {
    file: usize,
    old: String,
    new: String,
    request: Request,
}

/// A tool, its arguments, and what the file says after it.
type Change = (&'static str, Value, String);

impl Client {
    fn new(number: usize, root: &Path) -> Self {
        let mut random = Random::new(SEED + u64::try_from(number).unwrap());
        let files = (0..FILES_PER_CLIENT)
            .map(|file| (format!("client-{number}-file-{file}"), random.text(2000)))
            .collect::<Vec<_>>();
        for (name, content) in &files {
            fs::write(root.join(name), content).unwrap();
        }
        Self { session: format!("client-{number}"), root: root.to_owned(), files, random, sent: 0 }
    }

    fn change_until_killed(&mut self, address: SocketAddr, answered: &AtomicUsize) -> Unanswered {
        loop {
            let file = self.random.below(self.files.len());
            let (tool, arguments, new) = self.next_change(file);
            let key = self.random.word();
            let old = self.files[file].1.clone();
            let request = self.request(tool, &arguments).header("Idempotency-Key", &key);
            let read = self.request("read", &json!({"path": self.files[file].0})).try_send(address);
            self.sent += usize::from(read.is_ok());
            let Some(answer) = read.ok().and_then(|_| request.try_send(address).ok()) else {
                return Unanswered { file, old, new, request };
            };
            let envelope = assert_whole(&answer);
            assert!(envelope.ok, "{tool} failed: {}", envelope.stderr);
            self.files[file].1 = new;
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn next_change(&mut self, file: usize) -> Change {
        let (path, old) = self.files[file].clone();
        let bytes = self.random.below(LARGEST);
        match self.random.below(3) {
            0 => {
                let new = self.random.text(bytes);
                ("write", json!({"path": path, "content": new}), new)
            }
            1 => {
                let tail = format!("{}\n", self.random.word());
                let new = format!("{old}{tail}");
                ("write", json!({"path": path, "content": tail, "mode": "append"}), new)
            }
            _ => {
                let (find, replace) = (old.lines().next().unwrap().to_owned(), self.random.word());
                let new = old.replacen(&find, &replace, 1);
                ("edit", json!({"path": path, "find": find, "replace": replace}), new)
            }
        }
    }

    fn request(&self, tool: &str, arguments: &Value) -> Request {
        Request::call(tool, arguments).of_session(&self.session)
    }

    /// After a kill every file is as expected; the one with the interrupted change is old or new.
    fn assert_whole_files(&mut self, cut_off: &Unanswered) {
        for (file, (name, expected)) in self.files.iter_mut().enumerate() {
            let content = fs::read_to_string(self.root.join(&*name)).unwrap();
            if file == cut_off.file {
                assert!(content == cut_off.old || content == cut_off.new, "{name} is neither old nor new");
                *expected = content;
            } else {
                assert!(content == *expected, "{name} is not what was answered");
            }
        }
    }

    /// Undoes the interrupted change if it was made, and makes it again.
    fn undo_and_redo(&self, cut_off: &Unanswered, server: &ToolServer) -> bool {
        let (name, content) = &self.files[cut_off.file];
        let Some(call) = last_call(server, &self.session).filter(|_| *content == cut_off.new) else {
            return false;
        };
        let undo = |call: &str| {
            let request = Request::new("POST", &format!("/changes/{call}/undo"));
            assert_whole(&request.of_session(&self.session).send(server.address()))
        };
        let undone = undo(&call);
        assert!(undone.ok, "a change that was made cannot be undone: {undone:?}");
        let found = fs::read_to_string(self.root.join(name)).unwrap();
        assert!(found == cut_off.old, "{name} is not as it was");
        assert!(undo(undone.meta.call_id.as_str()).ok);
        assert!(fs::read_to_string(self.root.join(name)).unwrap() == cut_off.new);
        true
    }

    /// Sends the change again with its key: it must not be made twice.
    fn repeat(&mut self, cut_off: &Unanswered, address: SocketAddr) -> Envelope {
        let before = self.files[cut_off.file].1.clone();
        let envelope = assert_whole(&cut_off.request.send(address));
        let after = fs::read_to_string(self.root.join(&self.files[cut_off.file].0)).unwrap();
        let made_now = envelope.ok && before == cut_off.old && after == cut_off.new;
        assert!(after == before || made_now, "a second effect: {envelope:?}");
        assert!(!envelope.ok || after == cut_off.new, "answered as done, and it is not: {envelope:?}");
        self.files[cut_off.file].1 = after;
        envelope
    }
}

fn changed_until_killed(server: &mut ToolServer, clients: &mut [Client]) -> Vec<Unanswered> {
    let address = server.address();
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let answered = &answered;
        let running: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || client.change_until_killed(address, answered)))
            .collect();
        wait::until_true("enough changes are answered", || answered.load(Ordering::Relaxed) >= BETWEEN_KILLS);
        server.program().kill();
        running.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

/// The last call of a session that changes files, by the journal.
fn last_call(server: &ToolServer, session: &str) -> Option<String> {
    let journal = fs::read_to_string(server.dir().journal()).unwrap();
    let records: Vec<Value> = journal.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let is_change = |record: &Value| {
        record["type"] == "tool_call.started"
            && record["session_id"] == session
            && ["write", "edit"].contains(&record["tool_name"].as_str().unwrap())
    };
    records.iter().rfind(|record| is_change(record))?["id"].as_str().map(str::to_owned)
}

fn temporary_files(root: &Path) -> usize {
    let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with(".autonous-")).count()
}

#[test]
fn five_hundred_changes_with_kills_leave_each_file_old_or_new_and_nothing_else() {
    let mut server = ToolServer::start();
    let root = server.root();
    let mut clients: Vec<Client> = (0..CLIENTS).map(|number| Client::new(number, &root)).collect();
    let (mut kills, mut interrupted, mut left_by_kills, mut undone) = (0, 0, 0, 0);
    while clients.iter().map(|client| client.sent).sum::<usize>() < CHANGES {
        let cut_off = changed_until_killed(&mut server, &mut clients);
        kills += 1;
        left_by_kills += temporary_files(&root);
        server.crash(|_| {});
        leftovers::assert_no_temporary_file(&root);
        for (client, cut_off) in clients.iter_mut().zip(&cut_off) {
            client.assert_whole_files(cut_off);
            undone += usize::from(client.undo_and_redo(cut_off, &server));
            let envelope = client.repeat(cut_off, server.address());
            interrupted += usize::from(envelope.error_code() == Some(ErrorCode::Interrupted));
        }
    }
    program::stdout_of(&server.run_command(&["journal", "verify"]));
    println!(
        "{kills} kills interrupted {interrupted} claimed changes and left {left_by_kills} temporary files; \
         {undone} of the changes were made, and undone"
    );
    assert!(interrupted > 0, "no kill interrupted a change, so this proves nothing");
}
