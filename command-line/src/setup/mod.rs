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

use clap::Args;
use settings::Source;

use crate::check::children::tier;
use crate::check::{Finding, Verdict};
use dialogue::Dialogue;
use draft::Draft;
use supervisor::children::environment::ChildSettings;
use supervisor::config::{Config, own_directory};
use supervisor::data_dir::DataDir;

// What the command line answers.
#[derive(Debug, Args)]
pub(crate) struct SetupArguments {
    /// The file with the token of a Telegram bot, from BotFather.
    #[arg(long, value_name = "FILE")]
    pub telegram_token_file: Option<PathBuf>,
    /// The Telegram user ID of the person who may use the bot and decides about its calls.
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    pub owner: Option<i64>,
    /// The model: PROVIDER/NAME, or a PROVIDER (anthropic, gemini, openai, openai-responses), or none; with
    /// --model-url a name alone.
    #[arg(long)]
    pub model: Option<String>,
    /// The address of a model server of your own, such as http://127.0.0.1:11434/v1.
    #[arg(long, value_name = "URL")]
    pub model_url: Option<String>,
    /// The file with the model's key.
    #[arg(long, value_name = "FILE")]
    pub model_key_file: Option<PathBuf>,
    /// A directory that the agent may read and change; can be given several times.
    #[arg(long = "root", value_name = "DIR")]
    pub roots: Vec<PathBuf>,
    /// Ask nothing: what no option names stays as it is.
    #[arg(long)]
    pub yes: bool,
    /// Write settings whose test failed, too, as on a machine without a network.
    #[arg(long)]
    pub untested: bool,
    /// Start the service of systemd, now and at each boot.
    #[arg(long)]
    pub service: bool,
    /// Say nothing of a service: the package's command starts it afterwards.
    #[arg(long, hide = true, conflicts_with = "service")]
    pub service_follows: bool,
}

/// What a part of the set-up works with.
struct Parts<'a> {
    draft: Draft,
    answers: &'a SetupArguments,
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
    answers: &SetupArguments,
) -> anyhow::Result<()> {
    let draft = Draft::open(path, environment.clone())?;
    let dialogue = Dialogue::new(!answers.yes);
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
