//! The runner with tools of the tests: what quick calls keep waiting, and what a call leaves behind.

use std::path::Path;
use std::sync::{Mutex, Weak};

use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::policy::CurrentPolicy;
use crate::{Bounds, Slot, Tool};

/// More than any call takes that does not wait.
pub(super) const LONG: Duration = Duration::from_secs(30);

/// What the tool of a test is asked.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    #[serde(default)]
    waits: bool,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct ScriptedData {
    pub(super) process_id: Option<String>,
}

/// A tool that does what its test says; the test gets the argument `waits`.
struct Scripted<F>(F);

impl<F: Fn(bool, &Call) -> Outcome<ScriptedData> + Send + Sync + 'static> Tool for Scripted<F> {
    type Arguments = Asked;
    type Data = ScriptedData;
    const NAME: &'static str = "scripted";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;
    const QUICK: bool = true;

    fn example(&self) -> Value {
        serde_json::json!({})
    }

    crate::touches_nothing!();

    fn run(&self, Asked { waits }: Asked, call: &Call) -> Outcome<ScriptedData> {
        (self.0)(waits, call)
    }
}

impl RunnerSettings {
    pub(super) fn of_test(state_dir: &Path) -> Self {
        Self {
            disabled: BTreeSet::new(),
            timeout: LONG,
            max_commands: ::settings::table::TOOL_MAX_COMMANDS.default_value(),
            bounds: Bounds::default(),
            cwd: WorkingDirectory::Shared(String::new()),
            policy: CurrentPolicy::default(),
            url: String::new(),
            token_variable: "TOKEN",
            approvals: None,
            state_dir: Some(state_dir.to_owned()),
        }
    }
}

/// What the record of the last call's end names.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) output_file: Mutex<Option<String>>,
}

impl Recorder for Recorded {
    fn started(&self, _: &CallIds, _: CallStarted) -> io::Result<()> {
        Ok(())
    }

    fn replayed(&self, _: &CallIds, _: CallReplayed) -> io::Result<()> {
        Ok(())
    }

    fn ended(&self, _: &CallIds, body: CallEnded) {
        *self.output_file.lock().unwrap() = body.output_file;
    }
}

/// A runner of the tool `scripted`, what it records, and the directory of its state.
pub(super) fn runner_of<F>(timeout: Duration, act: F) -> (Runner, Arc<Recorded>, TempDir)
where
    F: Fn(bool, &Call) -> Outcome<ScriptedData> + Send + Sync + 'static,
{
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::new().with(Scripted(act)).unwrap();
    let settings = RunnerSettings { timeout, ..RunnerSettings::of_test(directory.path()) };
    let recorded = Arc::new(Recorded::default());
    let redactor = Arc::new(Redactor::new(["FAKE-own-secret"]));
    let runner = Runner::new(registry, settings, Arc::clone(&recorded) as _, redactor).unwrap();
    (runner, recorded, directory)
}

/// A server on a port that runs a call by its first letter and answers with one byte.
async fn serve(runner: Arc<Runner>, listener: TcpListener) {
    while let Ok((mut connection, _)) = listener.accept().await {
        let runner = Arc::clone(&runner);
        tokio::spawn(async move {
            let mut letter = [0];
            connection.read_exact(&mut letter).await.unwrap();
            let body = if letter == *b"s" { r#"{"waits":true}"# } else { "{}" };
            let answer = runner.run(Request::new("scripted", body)).await;
            connection.write_all(if answer.ok { b"k" } else { b"t" }).await.unwrap();
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn quick_calls_that_are_slow_keep_nobody_waiting_and_end_at_their_deadline() {
    let (release, stuck) = std::sync::mpsc::channel::<()>();
    let stuck = Mutex::new(stuck);
    // Waits until the test lets it go on, as for a file that does not answer.
    let act = move |waits: bool, _: &Call| {
        let _ = waits.then(|| stuck.lock().unwrap().recv());
        Ok(Success::default())
    };
    let timeout = Duration::from_secs(3);
    let (runner, _, _directory) = runner_of(timeout, act);
    let runner = Arc::new(runner);
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
}

#[tokio::test]
async fn a_call_leaves_nothing_in_memory() {
    // Weak references to what each call shares with its caller.
    let watched = Arc::new(Mutex::new(Vec::<Weak<_>>::new()));
    let seen = Arc::clone(&watched);
    let (runner, _, _directory) = runner_of(LONG, move |_, call| {
        seen.lock().unwrap().push(Arc::downgrade(&call.cancelled));
        Ok(Success::default())
    });
    let runner = Arc::new(runner);
    for _ in 0..100 {
        assert!(runner.run(Request::new("scripted", "{}")).await.ok);
    }
    let watched = watched.lock().unwrap();
    let left = watched.iter().filter(|flag| flag.strong_count() > 0).count();
    assert_eq!((watched.len(), left), (100, 0));
}
