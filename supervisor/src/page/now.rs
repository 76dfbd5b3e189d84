//! `/`: what runs, what waits, and how the service is.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Html;
use channel::ChannelName;
use page::now::{Now, Running, now};
use page::{Frame, Health, Place};
use protocol::now_ms;
use store::queries::figures::figures;
use store::queries::{QueryError, page as queries};
use store::sql::Connection;
use store::{activity, nodes};

use super::actions::Told;
use super::approvals;
use super::error::PageError;
use super::read::read;
use super::show::shown;
use crate::control::Control;
use crate::health::Report;

/// So many of the newest events of a running task are shown.
const EVENTS: u32 = 8;

/// More tasks than workers can run wait for a person; they have their own view.
const MOST_RUNNING: usize = 50;

pub(super) async fn get_now(
    State(control): State<Arc<Control>>,
    Query(told): Query<Told>,
) -> Result<Html<String>, PageError> {
    let view = load(&control).await?;
    let frame = Frame { title: "Now", place: Place::Now, live: Some("/live/now"), notice: told.notice() };
    Ok(shown(&frame, &now(&view)))
}

/// What the view shows.
pub(super) async fn load(control: &Control) -> Result<Now, PageError> {
    let channels: Vec<ChannelName> = control.channels.iter().map(|channel| channel.name()).collect();
    let read = read(control, move |connection| {
        Ok((running(connection, &channels)?, figures(connection)?, nodes::all(connection)?))
    });
    let (read, waiting) = tokio::join!(read, approvals::pending(control));
    let (running, figures, nodes) = read?;
    let Report { ready, parts } = control.inbound.board.report();
    let parts = parts.into_iter().map(|part| Health {
        name: part.name.to_string(),
        state: part.state.as_str().to_owned(),
        since_ms: part.since_ms,
        detail: part.detail,
        remedy: part.remedy,
    });
    Ok(Now {
        is_ready: ready,
        parts: parts.collect(),
        nodes,
        running,
        waiting: waiting.ok(),
        figures,
        now_ms: now_ms(),
    })
}

/// The tasks of these channels that have begun.
pub(super) fn running(connection: &Connection, channels: &[ChannelName]) -> Result<Vec<Running>, QueryError> {
    let mut running = Vec::new();
    for name in channels {
        for activity in activity::of_channel(connection, name)? {
            let Some(task) = queries::one_task(connection, activity.task.as_str())? else { continue };
            let plan = queries::plan(connection, &activity.task)?;
            let events = queries::newest_events(connection, &activity.task, EVENTS)?;
            running.push(Running { task, activity, plan, events });
        }
    }
    running.truncate(MOST_RUNNING);
    Ok(running)
}
