//! From an envelope to the result of `tools/call`.

use protocol::Envelope;
use protocol::text_form::text_form;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};

/// The answer to a call that its client has cancelled. It reaches no one.
pub(crate) fn cancelled() -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text("The call was cancelled.")])
}

/// The envelope as structured content, and its text form as a model reads it.
pub(crate) fn result(envelope: &Envelope) -> Result<CallToolResult, ErrorData> {
    let content = vec![ContentBlock::text(text_form(envelope))];
    let mut result =
        if envelope.ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
    let structured = serde_json::to_value(envelope)
        .map_err(|_| ErrorData::internal_error("The answer cannot be written as JSON.", None))?;
    result.structured_content = Some(structured);
    Ok(result)
}
