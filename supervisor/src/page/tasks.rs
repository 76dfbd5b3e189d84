//! `/tasks` and `/tasks/{id}`.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Html;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use maud::Markup;
use page::frame::Notice;
use page::task::{EVENTS_ON_A_PAGE, Leaf, TaskView, task};
use page::tasks::{Asked, tasks};
use page::work::Work;
use page::{Frame, Place, encoded};
use protocol::now_ms;
use serde::Deserialize;
use settings::quotas::DAY_MS;
use store::changes;
use store::queries::tasks::{Filter, STATES, counts, tasks as listed};
use store::queries::{QueryError, page as queries, short_id};

use super::error::PageError;
use super::read::read;
use super::show::{shown, still};
use crate::control::Control;
use crate::tree::{Node, grow};

/// So many tasks are on a page.
const ON_A_PAGE: u32 = 50;

const DAY_HINT: &str = "Write a day such as 2026-01-31.";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    state: String,
    chat: String,
    tool: String,
    text: String,
    day: String,
    offset: u32,
}

pub(super) async fn get_tasks(
    State(control): State<Arc<Control>>,
    Query(query): Query<ListQuery>,
) -> Result<Html<String>, PageError> {
    let ListQuery { state, chat, tool, text, day, offset } = query;
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let since_ms = given(&day).map(|day| begins(&day)).transpose()?;
    let filter = Filter {
        states: STATES.into_iter().filter(|known| *known == state).collect(),
        // A session such as `page:main` is a chat, too.
        chat: given(&chat).map(|chat| chat.split_once(':').map_or(chat.clone(), |(_, id)| id.to_owned())),
        since_ms,
        before_ms: since_ms.map(|since| since + DAY_MS),
        tool: given(&tool),
        text: given(&text),
        offset,
        limit: ON_A_PAGE + 1,
    };
    let read = read(&control, move |connection| Ok((listed(connection, &filter)?, counts(connection)?)));
    let (mut found, counts) = read.await?;
    found.reverse();
    let asked = Asked { state, chat, tool, text, day, offset };
    let view = tasks(&asked, &found, ON_A_PAGE, &counts, now_ms());
    Ok(still("Tasks", Place::Tasks, &view))
}

/// When a day begins in UTC, in milliseconds since the epoch.
fn begins(day: &str) -> Result<i64, PageError> {
    let date: Date = day.parse().map_err(|_| PageError::invalid(format!("“{day}” is no day."), DAY_HINT))?;
    let begins =
        date.to_zoned(TimeZone::UTC).map_err(|error| PageError::invalid(error.to_string(), DAY_HINT))?;
    Ok(begins.timestamp().as_millisecond())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shown {
    page: usize,
    notice: String,
}

pub(super) async fn get_task(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    Query(Shown { page, notice }): Query<Shown>,
) -> Result<Html<String>, PageError> {
    let view = load(&control, &id, page).await?;
    let title = page::task::title(&view.task);
    let live = format!("/live/tasks/{}?page={page}", encoded(&view.task.id));
    // What has ended changes no more, unless somebody acts on it.
    let live = view.task.is_open().then_some(live.as_str());
    let frame = Frame { title: &title, place: Place::Tasks, live, notice: Notice::named(&notice) };
    Ok(shown(&frame, &task(&view)))
}

/// The parts of a task that change.
pub(super) async fn parts(
    control: &Control,
    id: &str,
    page: usize,
) -> Result<Vec<(&'static str, Markup)>, PageError> {
    Ok(page::task::parts(&load(control, id, page).await?))
}

/// A task with a page of its events, from 1; page 0 is the last one.
async fn load(control: &Control, id: &str, page: usize) -> Result<TaskView, PageError> {
    let given = id.to_owned();
    let loaded = read(control, move |connection| {
        let id = short_id::resolve(connection, &given)?;
        let Some(task) = queries::one_task(connection, &id)? else { return Ok(None) };
        let all = queries::events_of(connection, &id)?;
        let (work, events) = (Work::of(&all), all.len());
        let pages = events.div_ceil(EVENTS_ON_A_PAGE).max(1);
        let page = if page == 0 { pages } else { page.min(pages) };
        let mut leaves = Vec::with_capacity(events);
        grow(all).into_iter().for_each(|node| flatten(node, 0, &mut leaves));
        let from = (page - 1) * EVENTS_ON_A_PAGE;
        let leaves = leaves.into_iter().skip(from).take(EVENTS_ON_A_PAGE).collect();
        let (replies, changes) = (queries::replies(connection, &id)?, changes::of_task(connection, &id)?);
        Ok(Some(TaskView { task, work, replies, changes, leaves, page, events, now_ms: now_ms() }))
    });
    match loaded.await {
        Err(PageError::Query(error @ (QueryError::NoTask(_) | QueryError::Ambiguous(..)))) => {
            tracing::debug!(%error, "a page of a task that is not known");
            Err(PageError::missing("task"))
        }
        loaded => loaded?.ok_or_else(|| PageError::missing("task")),
    }
}

/// The events of a tree in the order in which they are read.
fn flatten(node: Node, depth: usize, leaves: &mut Vec<Leaf>) {
    leaves.push(Leaf { depth, event: node.event });
    node.children.into_iter().for_each(|child| flatten(child, depth + 1, leaves));
}
