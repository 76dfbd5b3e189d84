//! Files that the bot fetches: `getFile` names a path, and the path gives the bytes.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use serde_json::json;

use super::TOKEN;
use super::answers::{refusal, result};
use super::state::Shared;

/// What Telegram gives out to a bot.
const MAX_BYTES: usize = 20 * 1024 * 1024;

pub(super) fn describe(shared: &Shared, id: &str) -> Response {
    match shared.lock().files.get(id) {
        None => refusal(400, "Bad Request: invalid file_id", None),
        Some(content) if content.len() > MAX_BYTES => refusal(400, "Bad Request: file is too big", None),
        Some(content) => result(&json!({
            "file_id": id, "file_unique_id": id, "file_size": content.len(),
            "file_path": format!("files/{id}"),
        })),
    }
}

/// Sends a file, and only its first half as long as downloads are held.
pub(super) async fn send(
    State(shared): State<Arc<Shared>>,
    Path((bot, path)): Path<(String, String)>,
) -> Response {
    let content = path.strip_prefix("files/").and_then(|id| shared.lock().files.get(id).cloned());
    let Some(content) = content.filter(|_| bot == format!("bot{TOKEN}")) else {
        return refusal(404, "Not Found", None);
    };
    shared.lock().downloads += 1;
    let (first, second) = content.split_at(content.len() / 2);
    let (first, second) = (Bytes::copy_from_slice(first), Bytes::copy_from_slice(second));
    let rest = async move {
        loop {
            let arrived = shared.arrived.notified();
            if !shared.lock().holds_downloads {
                return Ok::<_, std::io::Error>(second);
            }
            let _ = tokio::time::timeout(std::time::Duration::from_millis(50), arrived).await;
        }
    };
    let first = futures_util::stream::once(async { Ok(first) });
    Body::from_stream(first.chain(futures_util::stream::once(rest))).into_response()
}
