//! `/usage`, `/schedules` and `/settings`: the use of models, the schedules and the settings.

use std::sync::Arc;

use ::settings::quotas::DAY_MS;
use ::settings::table::row;
use axum::extract::{Query, State};
use axum::response::Html;
use jiff::Timestamp;
use page::schedules::schedules;
use page::settings_view::{Held, settings};
use page::usage::usage;
use page::{Frame, Place};
use protocol::{SessionId, now_ms};
use serde::Deserialize;
use store::queries::usage::used;
use store::schedules::all;
use toolkit::contacts::{ACTIVE, Contacts};

use super::actions::Told;
use super::error::PageError;
use super::read::read;
use super::show::{shown, still};
use crate::control::Control;

#[derive(Debug, Deserialize)]
pub(super) struct Span {
    #[serde(default = "month")]
    days: i64,
}

const fn month() -> i64 {
    30
}

pub(super) async fn get_usage(
    State(control): State<Arc<Control>>,
    Query(Span { days }): Query<Span>,
) -> Result<Html<String>, PageError> {
    let days = days.clamp(1, 366);
    let now = now_ms();
    let midnight = now - now.rem_euclid(DAY_MS);
    let since_ms = midnight - (days - 1) * DAY_MS;
    let used = read(&control, move |connection| Ok(used(connection, since_ms, None)?)).await?;
    let names: Vec<String> = (0..days).map(|day| day_of(since_ms + day * DAY_MS)).collect();
    let view = usage(&used, &names, &control.inbound.current.limits(), &day_of(now));
    Ok(still("Usage", Place::Usage, &view))
}

fn day_of(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map(|at| at.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
}

pub(super) async fn get_schedules(
    State(control): State<Arc<Control>>,
    Query(told): Query<Told>,
) -> Result<Html<String>, PageError> {
    let listed = read(&control, |connection| Ok(all(connection)?));
    let (listed, contacts) = tokio::join!(listed, contacts(&control));
    let frame = Frame { title: "Schedules", place: Place::Schedules, live: None, notice: told.notice() };
    Ok(shown(&frame, &schedules(&listed?, &contacts)))
}

/// The file of contacts that all chats share; where each chat has a directory of its own, none.
async fn contacts(control: &Control) -> Result<Option<Contacts>, String> {
    let file = control.tool_server.read_state(ACTIVE, &SessionId::default_session()).await;
    file.map(|file| file.map(|file| Contacts::parse(&file.text))).map_err(|error| error.message)
}

pub(super) async fn get_settings(State(control): State<Arc<Control>>) -> Html<String> {
    let current = &control.inbound.current;
    let held = |(name, value): (String, String)| {
        let row = row(&name);
        let derived = if row.is_some() { "the default" } else { "derived" };
        let from = current.origin(&name).unwrap_or_else(|| derived.to_owned());
        let meaning = row.map_or_else(String::new, |row| row.meaning().to_owned());
        Held { name, value, from, meaning }
    };
    let held: Vec<Held> = current.settings().into_iter().map(held).collect();
    still("Settings", Place::Settings, &settings(&held, env!("CARGO_PKG_VERSION")))
}
