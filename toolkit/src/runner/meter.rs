//! What counts the calls of a runner.

use std::time::Duration;

use protocol::Envelope;

/// Counts calls. It is asked on the thread that answers, so it must not wait.
pub trait Meter: Send + Sync + 'static {
    /// A call has ended with this answer. It took so long, without the wait for a person.
    fn ended(&self, answer: &Envelope, took: Duration);

    /// A call of this tool got the answer of an earlier one.
    fn replayed(&self, tool: &str);
}
