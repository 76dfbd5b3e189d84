//! `supervisor setup`: asks for what matters, tries each answer at once, and writes `autonous.toml`.
//!
//! Each answer can be an option of the command line. What is neither asked nor given stays as it is. Nothing
//! is written before the end, and nothing at all where a test fails and no person decides otherwise.

mod dialogue;
mod draft;
mod model;
mod roots;
mod service;
mod telegram;

use std::path::{Path, PathBuf};

use settings::Source;

use crate::check::children::tier;
use crate::check::{Finding, Verdict};
use dialogue::Dialogue;
use draft::Draft;
use supervisor::children::environment::ChildSettings;
use supervisor::config::{Config, own_directory};
use supervisor::data_dir::DataDir;

/// What the command line answers.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The file with the bot's token.
    pub telegram_token_file: Option<PathBuf>,
    /// A user ID of Telegram.
    pub owner: Option<i64>,
    /// `PROVIDER/NAME`, a provider, a name, or `none`.
    pub model: Option<String>,
    /// The address of the model's server.
    pub model_url: Option<String>,
    /// The file with the model's key.
    pub model_key_file: Option<PathBuf>,
    /// What tools reach; empty for the agent's own workspace.
    pub roots: Vec<PathBuf>,
    /// Ask nothing.
    pub unattended: bool,
    /// Write what was not tried, too.
    pub untested: bool,
    /// Start the service.
    pub service: bool,
    /// The program that started this one does so.
    pub service_follows: bool,
}

/// What a part of the set-up works with.
struct Parts<'a> {
    draft: Draft,
    answers: &'a Answers,
    dialogue: Dialogue,
    data: &'a DataDir,
}

/// Sets up what is missing.
///
/// # Errors
/// An answer that is wrong, a test that fails where no person decides, and what cannot be written.
pub(crate) async fn run(
    path: PathBuf,
    environment: &Source,
    data: &DataDir,
    answers: &Answers,
) -> anyhow::Result<()> {
    let draft = Draft::open(path, environment.clone())?;
    let dialogue = Dialogue::new(!answers.unattended);
    let mut parts = Parts { draft, answers, dialogue, data };
    parts.say(&format!("Settings go to {}", parts.draft.path().display()));
    model::set_up(&mut parts).await?;
    telegram::set_up(&mut parts).await?;
    roots::set_up(&mut parts)?;
    parts.say("\nSandbox");
    let sandbox = tier(&parts.children()?).await;
    parts.dialogue.found(&sandbox);
    // What only all settings together show.
    let source = parts.draft.source()?;
    Config::read(&source, Some(data.path())).map_err(|error| source.located_any(error))?;
    parts.draft.write()?;
    parts.say(&format!("\nWrote {}", parts.draft.path().display()));
    for variable in parts.draft.overruled() {
        parts.say(&format!("{variable} is set in this shell: it wins over the file as long as it is."));
    }
    service::offer(&parts)
}

impl Parts<'_> {
    fn say(&self, text: &str) {
        self.dialogue.say(text);
    }

    /// What the other programs would be started with.
    fn children(&self) -> anyhow::Result<ChildSettings> {
        Ok(ChildSettings::read(&self.draft.source()?, own_directory()?)?)
    }

    /// Shows what a test found. Whether the answer stays: it passed, or somebody wants it anyway.
    fn accept(&self, finding: &Finding) -> anyhow::Result<bool> {
        self.dialogue.found(finding);
        if finding.verdict != Verdict::Fail || self.answers.untested {
            return Ok(true);
        }
        if self.dialogue.asks() {
            return Ok(self.dialogue.confirm("Keep it anyway?", false)?);
        }
        anyhow::bail!("{}: {}; nothing was written (--untested writes it anyway)", finding.name, finding.what)
    }
}

/// The secret in the file that an option of the command line names.
fn secret_of(option: &str, path: Option<&Path>) -> anyhow::Result<Option<process::Secret>> {
    let read = path.map(|path| settings::secret_in(option, &path.display().to_string()));
    Ok(read.transpose()?)
}
