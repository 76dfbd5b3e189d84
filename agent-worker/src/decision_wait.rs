//! Waiting for a person who decides about a call, wherever its tool runs.

use std::time::Duration;

use protocol::{Envelope, ErrorCode};

use crate::wall_clock::WallClock;

/// How long one request waits for a person. It is repeated until the approval is decided or expires.
const DECISION_WAIT: Duration = Duration::from_secs(600);

/// Makes a call. One that a person must approve is sent once more and waits for the decision, and so long the
/// clock stands still. `send` is told how long to wait.
pub(crate) async fn until_decided<E, Answer: Future<Output = Result<Envelope, E>>>(
    clock: &WallClock,
    send: impl Fn(Option<Duration>) -> Answer,
) -> Result<Envelope, E> {
    let mut envelope = send(None).await?;
    if !is_undecided(&envelope) {
        return Ok(envelope);
    }
    let pause = clock.pause();
    while is_undecided(&envelope) {
        envelope = send(Some(DECISION_WAIT)).await?;
    }
    pause.end(Duration::from_millis(envelope.meta.stats.time_ms));
    Ok(envelope)
}

/// Whether the call waits for a person who can still decide.
fn is_undecided(envelope: &Envelope) -> bool {
    let is_asked =
        envelope.meta.error.as_ref().is_some_and(|error| error.code == ErrorCode::ApprovalRequired);
    is_asked && envelope.meta.data["state"] == "pending"
}
