//! Ends our own approvals when their time is over, and all waiting when the supervisor ends.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolkit::approvals::Approvals;

const PAUSE: Duration = Duration::from_secs(1);

pub(crate) async fn expire(approvals: Arc<Approvals>, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_some() {
        let due = Arc::clone(&approvals);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || due.expire_now()).await {
            tracing::error!(%error, "could not end expired approvals");
        }
    }
    approvals.close();
}
