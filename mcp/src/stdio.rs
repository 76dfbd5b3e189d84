//! One client on stdin and stdout, which has started its server itself.

use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::stdio;

use crate::Handler;

/// Serves the client until it closes its side, or until `stop` resolves.
///
/// # Errors
/// What a client has sent instead of a first message.
pub async fn serve_stdio(handler: Handler, stop: impl Future<Output = ()>) -> Result<(), String> {
    let serving = async {
        let served = match serve_server(handler, stdio()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        served.map_err(|error| format!("the client on stdin cannot be served: {error}"))
    };
    tokio::select! {
        served = serving => served,
        () = stop => Ok(()),
    }
}
