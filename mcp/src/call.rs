//! One call: runs it, says meanwhile that it still runs, and drops it when the client cancels it.

use std::sync::Arc;
use std::time::Duration;

use protocol::Envelope;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use toolkit::{Request, Runner};

/// How often a client that asked for it reads that its call still runs.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// None if the client has cancelled the call or has gone: then its command is killed.
pub(crate) async fn run(
    runner: &Arc<Runner>,
    request: Request,
    context: &RequestContext<RoleServer>,
) -> Option<Envelope> {
    let tool = request.tool.clone();
    let running = runner.run(request);
    match context.meta.get_progress_token() {
        None => tokio::select! {
            envelope = running => Some(envelope),
            () = context.ct.cancelled() => None,
        },
        Some(token) => tokio::select! {
            envelope = running => Some(envelope),
            () = context.ct.cancelled() => None,
            () = tell(&context.peer, token, &tool) => None,
        },
    }
}

/// Counts the seconds, as a client that shows them expects numbers that grow. Never ends by itself.
async fn tell(peer: &Peer<RoleServer>, token: ProgressToken, tool: &str) {
    let since = Instant::now();
    let mut ticks = interval_at(since + TELL_EVERY, TELL_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let seconds = since.elapsed().as_secs();
        let progress = ProgressNotificationParam::new(token.clone(), since.elapsed().as_secs_f64())
            .with_message(format!("{tool} has been running for {seconds} s"));
        // A client that does not read it does not keep the call waiting.
        let _ = peer.notify_progress(progress).await;
    }
}
