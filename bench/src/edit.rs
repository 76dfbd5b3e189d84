//! `edit` of a file of 1 MB without syncing, beside reading and writing that file in a bare loop.
//!
//! It runs in this process, because the server always syncs, and syncing measures the disk.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use files::change::Durability;
use files::output_store::OutputStore;
use files::roots::Roots;
use protocol::journal::{CallEnded, CallReplayed, CallStarted};
use redaction::Redactor;
use serde_json::json;
use settings::Source;
use settings::table::UNDO_MAX_MB;
use tokio::runtime::Runtime;
use tool_server::config::Config;
use tool_server::tool_context::ToolContext;
use toolkit::runner::{CallIds, WorkingDirectory};
use toolkit::{Recorder, Registry, Request, Runner, RunnerSettings};

use crate::measure::Durations;
use crate::program::source;
use crate::table::Table;

const FILE_BYTES: usize = 1_000_000;
const TIMES: usize = 300;

/// The text that is edited, back and forth.
const LIGHT: [&str; 2] = ["the light is on\n", "the light is off\n"];

/// The files that are edited. The server still has the bytes of the file it edited last, so two in turns
/// show what an edit of any other costs.
const NAMES: [&str; 2] = ["edited.rs", "other.rs"];

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let root = place.path().join("root");
    fs::create_dir(&root)?;
    let half = source(FILE_BYTES / 2);
    let texts = LIGHT.map(|light| format!("{half}\n{light}{half}"));
    let copied = root.join("copied.rs");
    fs::write(&copied, &texts[0])?;
    let server = InProcess::new(&root, &place.path().join("data"))?;
    for name in NAMES {
        fs::write(root.join(name), &texts[0])?;
        server.call("read", &json!({"path": name, "limit": 1}).to_string())?;
    }
    let mut is_off = [false; NAMES.len()];
    let mut switch = |file: usize| {
        let [find, replace] = if is_off[file] { [LIGHT[1], LIGHT[0]] } else { LIGHT };
        is_off[file] = !is_off[file];
        server.call("edit", &json!({"path": NAMES[file], "find": find, "replace": replace}).to_string())
    };
    table.compare(
        (TIMES, 1),
        [
            ("reading and writing it", &mut || Ok(fs::write(&copied, fs::read(&copied)?)?)),
            ("edit without syncing", &mut || switch(0)),
        ],
        ("ratio of the p50s", 3.0),
    )?;
    let mut times = 0;
    let in_turns = Durations::of(TIMES, || {
        times += 1;
        switch(times % NAMES.len())
    })?;
    table.time("the same of two files in turns, p50", in_turns.p50());
    for (name, is_off) in NAMES.iter().zip(is_off) {
        let expected = &texts[usize::from(is_off)];
        anyhow::ensure!(&fs::read_to_string(root.join(name))? == expected, "the edits went wrong");
    }
    Ok(())
}

/// A runner of the file tools: a whole call except HTTP, the journal and syncing.
struct InProcess {
    runtime: Runtime,
    runner: Arc<Runner>,
}

impl InProcess {
    fn new(root: &Path, data: &Path) -> anyhow::Result<Self> {
        let (root, data) = (root.display().to_string(), data.display().to_string());
        let variables = [("AUTONOUS_TOOL_ALLOWED_ROOTS", root.as_str()), ("AUTONOUS_DATA_DIR", &data)];
        let config = Config::read(&Source::from_pairs(variables), Path::new("/"))?;
        let settings = RunnerSettings {
            disabled: config.disabled.clone(),
            max_commands: config.limits.max_commands,
            timeout: config.limits.timeout,
            bounds: config.limits.bounds,
            cwd: WorkingDirectory::Shared(config.files.roots[0].display().to_string()),
            policy: Default::default(),
            approvals: None,
            token_variable: "AUTONOUS_TOOL_TOKEN",
            url: String::new(),
            state_dir: Some(config.files.journal_dir().to_owned()),
        };
        let redactor = Arc::new(Redactor::new([]));
        let runner = Runner::new(registry(&config)?, settings, Arc::new(Nowhere), redactor)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(Self { runtime, runner: Arc::new(runner) })
    }

    /// Runs one call, which must succeed.
    fn call(&self, tool: &str, body: &str) -> anyhow::Result<()> {
        let envelope = self.runtime.block_on(self.runner.run(Request::new(tool, body)));
        anyhow::ensure!(envelope.ok, "{tool} in this process: {}", envelope.stderr);
        Ok(())
    }
}

fn registry(config: &Config) -> anyhow::Result<Registry> {
    let files = &config.files;
    fs::create_dir_all(&files.output_dir)?;
    let output = Arc::new(OutputStore::open(&files.output_dir)?);
    let roots = Roots::open(&files.roots, files.denied.clone(), files.protected.clone(), |_| None)?;
    let (pending, most) = (files.journal_dir().join("pending"), config.limits.max_edit_bytes);
    let durability = Durability::Cached;
    let context =
        ToolContext::files_only(roots, &pending, output, most, UNDO_MAX_MB.default_value(), durability)?;
    Ok(tool_server::tools::registry(&context)?)
}

/// Records nothing.
struct Nowhere;

impl Recorder for Nowhere {
    fn started(&self, _ids: &CallIds, _body: CallStarted) -> io::Result<()> {
        Ok(())
    }

    fn replayed(&self, _ids: &CallIds, _body: CallReplayed) -> io::Result<()> {
        Ok(())
    }

    fn ended(&self, _ids: &CallIds, _body: CallEnded) {}
}
