//! The runner with tools of the tests: what quick calls keep waiting, and what a call leaves behind.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, Weak};

use protocol::{Annotations, Risk, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::policy::{CurrentPolicy, Touches};
use crate::{Bounds, NamedFiles, Scope, Slot, Tool};

/// Keeps a weak reference to what each call shares with its caller.
struct Watching(Arc<Mutex<Vec<Weak<AtomicBool>>>>);

/// No arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Default, Serialize, JsonSchema)]
struct NoData {}

impl Tool for Watching {
    type Arguments = Nothing;
    type Data = NoData;
    const NAME: &'static str = "watching";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;
    const QUICK: bool = true;

    fn example(&self) -> Value {
        serde_json::json!({})
    }

    fn touches(&self, _: &Value, _: &Scope) -> Touches {
        Touches::nothing()
    }

    fn named_files(&self, _: &Value, _: &Scope) -> Result<NamedFiles, ToolError> {
        Ok(NamedFiles::new())
    }

    fn run(&self, _: Nothing, call: &Call) -> Outcome<NoData> {
        self.0.lock().unwrap().push(Arc::downgrade(&call.cancelled));
        Ok(Success::default())
    }
}

impl RunnerSettings {
    pub(super) fn of_test(state_dir: PathBuf) -> Self {
        let (disabled, bounds) = (BTreeSet::new(), Bounds::default());
        let cwd = WorkingDirectory::Shared(String::new());
        let (timeout, max_commands) =
            (Duration::from_secs(30), ::settings::table::TOOL_MAX_COMMANDS.default_value());
        let (policy, url, token_variable) = (CurrentPolicy::default(), String::new(), "TOKEN");
        Self {
            disabled,
            timeout,
            max_commands,
            bounds,
            cwd,
            policy,
            url,
            token_variable,
            approvals: None,
            state_dir: Some(state_dir),
        }
    }
}

struct Unrecorded;

impl Recorder for Unrecorded {
    fn started(&self, _: &CallIds, _: CallStarted) -> io::Result<()> {
        Ok(())
    }

    fn replayed(&self, _: &CallIds, _: CallReplayed) -> io::Result<()> {
        Ok(())
    }

    fn ended(&self, _: &CallIds, _: CallEnded) {}
}

/// Waits until the test lets it go on, as for a file that does not answer.
struct Stuck(Mutex<std::sync::mpsc::Receiver<()>>);

impl Tool for Stuck {
    type Arguments = Nothing;
    type Data = NoData;
    const NAME: &'static str = "stuck";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;
    const QUICK: bool = true;

    fn example(&self) -> Value {
        serde_json::json!({})
    }

    fn touches(&self, _: &Value, _: &Scope) -> Touches {
        Touches::nothing()
    }

    fn named_files(&self, _: &Value, _: &Scope) -> Result<NamedFiles, ToolError> {
        Ok(NamedFiles::new())
    }

    fn run(&self, _: Nothing, _: &Call) -> Outcome<NoData> {
        let _ = self.0.lock().unwrap().recv();
        Ok(Success::default())
    }
}

/// A server on a port that runs a tool by its first letter and answers with one byte.
async fn serve(runner: Arc<Runner>, listener: TcpListener) {
    while let Ok((mut connection, _)) = listener.accept().await {
        let runner = Arc::clone(&runner);
        tokio::spawn(async move {
            let mut letter = [0];
            connection.read_exact(&mut letter).await.unwrap();
            let tool = if letter == *b"s" { "stuck" } else { "watching" };
            let answer = runner.run(Request::new(tool, "{}")).await;
            connection.write_all(if answer.ok { b"k" } else { b"t" }).await.unwrap();
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn quick_calls_that_are_slow_keep_nobody_waiting_and_end_at_their_deadline() {
    let (release, stuck) = std::sync::mpsc::channel();
    let watched = Arc::default();
    let registry = Registry::new().with(Watching(Arc::clone(&watched))).unwrap();
    let registry = registry.with(Stuck(Mutex::new(stuck))).unwrap();
    let directory = std::env::temp_dir().join(format!("runner-{}", TaskId::new()));
    let timeout = Duration::from_secs(3);
    let settings = RunnerSettings { timeout, ..RunnerSettings::of_test(directory.clone()) };
    let redactor = Arc::new(Redactor::new([]));
    let runner = Arc::new(Runner::new(registry, settings, Arc::new(Unrecorded), redactor).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(runner, listener));
    // Threads of their own, so that nothing but the connections wakes the runtime.
    let ask = move |letter: u8| {
        let mut connection = std::net::TcpStream::connect(address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        std::io::Write::write_all(&mut connection, &[letter]).unwrap();
        let mut answer = [0];
        std::io::Read::read_exact(&mut connection, &mut answer).unwrap();
        answer[0]
    };
    let asked = std::thread::spawn(move || {
        let began = std::time::Instant::now();
        let slow: Vec<_> = (0..8).map(|_| std::thread::spawn(move || ask(b's'))).collect();
        assert!((0..100).all(|_| ask(b'q') == b'k'));
        let all = slow.into_iter().map(|slow| slow.join().unwrap()).collect::<Vec<_>>();
        (began.elapsed(), all)
    });
    let (took, slow) = tokio::task::spawn_blocking(|| asked.join().unwrap()).await.unwrap();
    assert_eq!(slow, [b't'; 8], "each is answered at its deadline");
    assert!(took < 3 * timeout, "{took:?}: others waited for them");
    drop(release);
    std::fs::remove_dir_all(directory).unwrap();
}

#[tokio::test]
async fn a_call_leaves_nothing_in_memory() {
    let watched = Arc::new(Mutex::new(Vec::new()));
    let registry = Registry::new().with(Watching(Arc::clone(&watched))).unwrap();
    let directory = std::env::temp_dir().join(format!("runner-{}", TaskId::new()));
    let settings = RunnerSettings::of_test(directory.clone());
    let redactor = Arc::new(Redactor::new([]));
    let runner = Arc::new(Runner::new(registry, settings, Arc::new(Unrecorded), redactor).unwrap());
    for _ in 0..100 {
        assert!(runner.run(Request::new("watching", "{}")).await.ok);
    }
    let watched = watched.lock().unwrap();
    let left = watched.iter().filter(|flag| flag.strong_count() > 0).count();
    assert_eq!((watched.len(), left), (100, 0));
    std::fs::remove_dir_all(directory).unwrap();
}
