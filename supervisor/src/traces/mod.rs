//! Traces, where `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector: one for each task and for each call outside
//! of tasks, made of their events.
//!
//! The events of a task come from all three programs, so its trace needs nothing but them, and no program
//! waits for a span. A collector that is away, slow or full loses traces. It never holds a task up.

mod attributes;
mod collector;
mod spans;
mod trace_parent;

use std::time::Duration;

use protocol::{Event, EventBody, EventId, TaskId};
use store::queries::QueryError;
use store::queries::tasks::origin;
use store::queries::watch::Watcher;
use store::{Location, Store};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

pub(crate) use collector::{Collector, TraceSettings};
use spans::Span;
use trace_parent::TraceParent;

/// The pause after a look at new events, so that tasks that end together are sent together.
const PAUSE: Duration = Duration::from_secs(1);

/// The most spans of a request. What is beyond it is sent with the next one.
const MOST_SPANS: usize = 512;

/// What the events of tasks become, and where it is sent.
#[derive(Clone)]
pub(crate) struct Traces {
    pub(crate) store: Store,
    pub(crate) database: Location,
    pub(crate) collector: Collector,
}

impl Traces {
    /// Sends the trace of each task that ends, until `stop`.
    pub(crate) async fn export(mut self, stop: CancellationToken) {
        let mut changes = self.store.changes();
        let path = self.database.clone();
        let Ok(Ok(mut watcher)) = spawn_blocking(move || Watcher::from_now(&path)).await else {
            tracing::error!("the events cannot be read, so no traces are sent");
            return stop.cancelled().await;
        };
        loop {
            let woken = async {
                let is_open = changes.changed().await.is_ok();
                tokio::time::sleep(PAUSE).await;
                is_open
            };
            let Some(true) = stop.run_until_cancelled(woken).await else { return };
            changes.mark_unchanged();
            let (path, has_content) = (self.database.clone(), self.collector.wants_content());
            let read = spawn_blocking(move || {
                let spans = ended(&mut watcher, &path, has_content);
                (watcher, spans)
            });
            let Ok((same, spans)) = read.await else { return };
            watcher = same;
            let spans = spans.unwrap_or_else(|error| {
                tracing::warn!(%error, "the events of a task cannot be read, so its trace is lost");
                Vec::new()
            });
            for batch in spans.chunks(MOST_SPANS) {
                if stop.run_until_cancelled(self.collector.send(batch)).await.is_none() {
                    return;
                }
            }
        }
    }
}

/// The spans of what has ended since the last look.
fn ended(watcher: &mut Watcher, database: &Location, has_content: bool) -> Result<Vec<Span>, QueryError> {
    let mut all = Vec::new();
    for event in watcher.newer()? {
        if let Some(task) = ended_task(&event) {
            let connection = store::queries::open(database)?;
            let caller = origin(&connection, task)?.and_then(|origin| origin.traceparent);
            let caller = caller.and_then(|caller| caller.parse::<TraceParent>().ok());
            let events = Watcher::of_task(database, task.as_str())?.newer()?;
            all.extend(spans::of_task(task, &events, caller, has_content));
        } else if let Some(call) = ended_call(&event) {
            let start = watcher.event(call)?;
            all.extend(start.and_then(|start| spans::of_call(&start, &event, has_content)));
        }
    }
    Ok(all)
}

/// The call outside of tasks that has ended.
fn ended_call(event: &Event) -> Option<&EventId> {
    let has_ended = matches!(
        event.body,
        EventBody::ToolCallCompleted(_) | EventBody::ToolCallFailed(_) | EventBody::ToolCallInterrupted(_)
    );
    event.parent_id.as_ref().filter(|_| has_ended && event.task_id.is_none())
}

fn ended_task(event: &Event) -> Option<&TaskId> {
    let has_ended =
        matches!(event.body, EventBody::TaskDone(_) | EventBody::TaskDead(_) | EventBody::TaskCancelled(_));
    event.task_id.as_ref().filter(|_| has_ended)
}
