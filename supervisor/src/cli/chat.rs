//! `supervisor chat`: sends a message to the running supervisor and waits for the reply.

use std::time::Duration;

use clap::Args;
use tokio::time::Instant;

use super::control_client::ControlClient;
use super::error::CommandError;
use crate::channels::local::messages::NewMessage;
use crate::data_dir::DataDir;
use crate::store::inbox::MessageStatus;

/// How long one request waits before the next one.
const WAIT_SECONDS: u64 = 30;

#[derive(Debug, Args)]
pub(crate) struct ChatArguments {
    /// The message.
    pub text: String,
    /// The chat to send it in.
    #[arg(long, default_value = "local", value_name = "NAME")]
    pub chat: String,
    /// How long to wait for the reply; the task continues without you.
    #[arg(long, default_value_t = 900, value_name = "SECONDS")]
    pub wait: u64,
    /// Print JSON: {"task_id": …, "status": …, "reply": …}.
    #[arg(long)]
    pub json: bool,
}

/// Sends the message and waits until its task has ended.
pub(super) async fn chat(data: &DataDir, arguments: ChatArguments) -> Result<MessageStatus, CommandError> {
    let client = ControlClient::new(data)?;
    let deadline = Instant::now() + Duration::from_secs(arguments.wait);
    let message = NewMessage { text: arguments.text, chat: arguments.chat };
    let mut status: MessageStatus = client.send(client.post("/messages").json(&message)).await?;
    while status.is_open() {
        let left = deadline.saturating_duration_since(Instant::now()).as_secs();
        if left == 0 {
            return Err(CommandError::TooLate(arguments.wait, status.task_id.to_string()));
        }
        let path = format!("/messages/{}?wait_seconds={}", status.task_id, left.min(WAIT_SECONDS));
        status = client.send(client.get(&path)).await?;
    }
    Ok(status)
}
