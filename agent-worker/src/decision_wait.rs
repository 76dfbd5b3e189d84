//! Waiting for a person who decides about a call, wherever its tool runs.
//!
//! A quick decision reaches the call that waits. One that takes longer does not hold the worker: the call is
//! given up, and a later attempt sends it again.

use std::time::Duration;

use protocol::{CallState, Envelope, ErrorCode, now_ms};

use crate::wall_clock::WallClock;

/// How long one request waits for a person when no other task can use the worker meanwhile.
const DECISION_WAIT: Duration = Duration::from_secs(600);

/// An answer, or the state of a call that has no decision yet.
#[expect(clippy::large_enum_variant, reason = "most are answered")]
pub(crate) enum Waited {
    Answered(Envelope),
    Undecided(CallState),
}

/// Makes a call with this key. One that a person must approve is sent once more and waits for the decision,
/// and so long the clock stands still. `send` gets how long to wait.
pub(crate) async fn until_decided<E, Answer: Future<Output = Result<Envelope, E>>>(
    clock: &WallClock,
    key: &str,
    send: impl Fn(Option<Duration>) -> Answer,
) -> Result<Waited, E> {
    let patience = clock.patience();
    let mut envelope = send(None).await?;
    if undecided(&envelope, key).is_none() {
        return Ok(Waited::Answered(envelope));
    }
    let pause = clock.pause();
    loop {
        envelope = send(Some(patience.unwrap_or(DECISION_WAIT))).await?;
        match undecided(&envelope, key) {
            None => break,
            Some(state) if patience.is_some() => return Ok(Waited::Undecided(state)),
            Some(_) => {}
        }
    }
    pause.end(Duration::from_millis(envelope.meta.stats.time_ms));
    Ok(Waited::Answered(envelope))
}

/// Which approval the call waits for, if a person can still decide.
fn undecided(envelope: &Envelope, key: &str) -> Option<CallState> {
    let is_asked =
        envelope.meta.error.as_ref().is_some_and(|error| error.code == ErrorCode::ApprovalRequired);
    let data = &envelope.meta.data;
    let approval_id = data["approval_id"].as_str().filter(|_| is_asked && data["state"] == "pending")?;
    Some(CallState::Waits {
        approval_id: approval_id.parse().ok()?,
        expires_at_ms: data["expires_at_ms"].as_i64().unwrap_or_else(now_ms),
        key: key.to_owned(),
    })
}
