//! A running supervisor in a directory that goes away, with children that are shell scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use process::Variables;
use rusqlite::types::FromSql;
use supervisor::config::{Config, TelegramSettings};
use supervisor::run::{RunError, run};
use supervisor::store::open;
use supervisor::tokens::Tokens;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A worker that answers each task with its text, in capitals.
pub(crate) const SHOUTING_WORKER: &str = r#"
echo '{"type":"heartbeat"}'
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"task_id":"\([^"]*\)".*/\1/')
    attempt=$(printf '%s' "$line" | sed 's/.*"attempt":\([0-9]*\).*/\1/')
    text=$(printf '%s' "$line" | sed 's/.*"text":"\([^"]*\)","history".*/\1/' | tr a-z A-Z)
    echo "{\"type\":\"result\",\"task_id\":\"$id\",\"attempt\":$attempt,\"outcome\":{\"status\":\"done\",\"reply\":\"$text\"}}"
done
"#;

/// A tool server that only waits for the end of its lifeline.
pub(crate) const WAITING_SERVER: &str = "cat >/dev/null";

/// How long anything ordinary may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// What a test wants.
pub(crate) struct Plan {
    pub(crate) worker: &'static str,
    pub(crate) tool_server: &'static str,
    pub(crate) telegram: Option<TelegramSettings>,
    pub(crate) max_attempts: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Self { worker: SHOUTING_WORKER, tool_server: WAITING_SERVER, telegram: None, max_attempts: 3 }
    }
}

/// A running supervisor.
pub(crate) struct House {
    pub(crate) directory: TempDir,
    pub(crate) stop: CancellationToken,
    running: JoinHandle<Result<(), RunError>>,
}

impl House {
    pub(crate) async fn start(plan: Plan) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        Self::start_in(directory, plan).await
    }

    /// Starts in a directory in which another one ran before.
    pub(crate) async fn start_in(directory: TempDir, plan: Plan) -> Self {
        let stop = CancellationToken::new();
        let running = tokio::spawn(run(config(directory.path(), plan), stop.clone(), |_| {}));
        let house = Self { directory, stop, running };
        house.until("the database is there", async || house.data().join("db/autonous.db").exists()).await;
        let started = async || house.count("select count(*) from events where type = 'worker.spawned'") > 0;
        house.until("a child was started", started).await;
        house
    }

    /// Starts a second one on the same data directory and returns why it ends.
    pub(crate) async fn second(&self) -> Result<(), RunError> {
        run(config(self.directory.path(), Plan::default()), CancellationToken::new(), |_| {}).await
    }

    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn tokens(&self) -> Tokens {
        Tokens::read(&self.data().join("tokens")).expect("a running supervisor has written its tokens")
    }

    /// Stops in order and gives the directory back.
    pub(crate) async fn stop(self) -> TempDir {
        self.stop.cancel();
        let ended = tokio::time::timeout(DEADLINE, self.running).await.expect("it stops in time");
        ended.expect("it does not panic").expect("it ends well");
        self.directory
    }

    /// The first column of a query's first row, read as anybody may.
    pub(crate) fn value<T: FromSql>(&self, sql: &str) -> Option<T> {
        let connection = open::for_reading(&self.data().join("db/autonous.db")).ok()?;
        connection.query_row(sql, [], |row| row.get(0)).ok()
    }

    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.value(sql).unwrap_or(0)
    }

    /// Waits for a state, and says which when it does not come.
    pub(crate) async fn until(&self, what: &str, holds: impl AsyncFn() -> bool) {
        let waiting = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, waiting).await.unwrap_or_else(|_| panic!("in vain: {what}"));
    }
}

fn config(directory: &Path, plan: Plan) -> Config {
    let programs = directory.join("programs");
    fs::create_dir_all(&programs).expect("the programs' directory can be made");
    for (name, script) in [("agent-worker", plan.worker), ("tool-server", plan.tool_server)] {
        let path = programs.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .expect("a script can be made executable");
    }
    let variables = Variables::from_pairs([
        ("AUTONOUS_CONTROL_LISTEN", "127.0.0.1:0"),
        ("AUTONOUS_TOOL_LISTEN", "127.0.0.1:0"),
        ("AUTONOUS_TASK_RETRY_BASE_MS", "10"),
        ("AUTONOUS_TOOL_ENV", "NAMED"),
        ("NAMED", "value"),
        ("UNNAMED", "value"),
        ("OPENAI_API_KEY", "model-key"),
    ]);
    let mut config =
        Config::from_variables(&variables, Some(&directory.join("data"))).expect("the settings are good");
    config.children.programs = programs;
    config.tasks.max_attempts = plan.max_attempts;
    config.telegram = plan.telegram;
    config
}
