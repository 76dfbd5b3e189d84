//! `supervisor setup`: what its options answer.

use std::path::PathBuf;

use clap::Args;

use crate::setup::Answers;

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

impl From<SetupArguments> for Answers {
    fn from(arguments: SetupArguments) -> Self {
        Self {
            telegram_token_file: arguments.telegram_token_file,
            owner: arguments.owner,
            model: arguments.model,
            model_url: arguments.model_url,
            model_key_file: arguments.model_key_file,
            roots: arguments.roots,
            unattended: arguments.yes,
            untested: arguments.untested,
            service: arguments.service,
            service_follows: arguments.service_follows,
        }
    }
}
