//! From what went wrong with a request to the error that its caller gets.

use fetcher::FetchError;
use protocol::{ErrorCode, ToolError};

pub(crate) fn to_tool_error(error: FetchError) -> ToolError {
    let message = error.to_string();
    let fixed = |code, hint: &str| ToolError::new(code, message.clone()).with_hint(hint);
    let io = |retryable, hint: &str| ToolError { retryable, ..fixed(ErrorCode::IoError, hint) };
    match error {
        FetchError::Blocked { host: Some(host), .. } => {
            let hint = format!(
                "Call `url_fetch` with that address itself, so that it is decided about, or ask the operator \
                 to add {host} to AUTONOUS_FETCH_ALLOWED_HOSTS."
            );
            ToolError::new(ErrorCode::UrlBlocked, format!("{message}.")).with_hint(hint)
        }
        FetchError::Blocked { host: None, .. } => {
            ToolError::new(ErrorCode::UrlBlocked, format!("{message}."))
        }
        FetchError::Invalid(_) => ToolError::new(ErrorCode::InvalidArgument, message),
        FetchError::NoSuchHost(_) => {
            fixed(ErrorCode::NotFound, "Check the spelling of the host, or search for the page.")
        }
        FetchError::TimedOut => {
            let hint = "Repeat the call with a larger `timeout_seconds` (at most 300), or try later.";
            fixed(ErrorCode::Timeout, hint)
        }
        FetchError::TooLarge(_) => fixed(ErrorCode::FileTooLarge, "Set a larger `max_bytes`."),
        FetchError::Unreachable(_) => io(true, "Try again later, or use another page."),
        FetchError::BadAnswer(_) => io(false, "Use another page."),
        FetchError::Search { retryable: true, .. } => io(true, "Try again later."),
        FetchError::Search { retryable: false, .. } => {
            io(false, "Ask the operator to check the search settings.")
        }
    }
}
