//! The images that came with the message: a model that sees is shown them before its first turn.
//!
//! They are fetched with `read`, like those that a model asks for, so they are in the journal and within the
//! same bounds. The model reads which one cannot be shown, and has its path from the message.

use serde_json::json;

use crate::agent::TaskRun;
use crate::conversation::Conversation;
use crate::model::{Message, ToolCall};
use crate::picture;
use crate::stop_reason::StopReason;
use crate::tool_client::{CallContext, CallEnd};

/// The most that are shown at the beginning; a model can read the others itself.
const MAX_SHOWN: usize = 10;

pub(crate) async fn show(run: &TaskRun<'_>, conversation: &mut Conversation) -> Result<(), StopReason> {
    if !run.agent.sees {
        return Ok(());
    }
    let caller = CallContext { task: run.task, turn_id: &run.agent_id };
    for path in run.task.images.iter().take(MAX_SHOWN) {
        let call = ToolCall::new("", "read", json!({"path": path}).to_string());
        let answer = run.agent.tools.call(&call, caller, run.clock, None).await.map_err(StopReason::Tools)?;
        let why = match answer {
            CallEnd::Open(_) => "a person has to allow reading it; call `read`".to_owned(),
            CallEnd::Answered(envelope) => {
                let failure = envelope.meta.error.as_ref().map(|error| error.message.clone());
                match picture::find(envelope, run.agent.sees).await {
                    Some(Ok(image)) => {
                        conversation.push_image(image);
                        continue;
                    }
                    Some(Err(why)) => why,
                    None => failure.unwrap_or_else(|| "it is no image".to_owned()),
                }
            }
        };
        let why = why.trim_end_matches('.');
        conversation.messages.push(Message::User(format!("[The image {path:?} is not shown: {why}]")));
    }
    Ok(())
}
