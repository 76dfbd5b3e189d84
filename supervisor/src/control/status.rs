//! `GET /status`: what the service sees of itself, for `supervisor check` and for people.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use store::StoreError;
use store::queries::{self, QueryError};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Control;
use super::error::ControlError;
use crate::config::Settings;
use crate::health::Report;

/// How long counting may take; without counts the rest is sent all the same.
const PATIENCE: Duration = Duration::from_millis(800);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    #[serde(flatten)]
    pub report: Report,
    /// The settings that hold, by variable; secrets are left out.
    pub settings: Settings,
    pub counts: Counts,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Open tasks by state, and those that were given up.
    pub tasks: BTreeMap<String, i64>,
    /// Messages that wait to be sent, and those that were given up.
    pub outbox: BTreeMap<String, i64>,
}

pub(crate) async fn get_status(State(control): State<Arc<Control>>) -> Result<Json<Status>, ControlError> {
    let database = control.monitor.database_path();
    // Read past the writer, which another program may keep waiting; the parts tell of that.
    let counted = spawn_blocking(move || count(&queries::open(&database)?).map_err(QueryError::from));
    let (report, counted) = tokio::join!(control.monitor.report(), timeout(PATIENCE, counted));
    let counts = match counted {
        Ok(Ok(counts)) => counts.unwrap_or_default(),
        Ok(Err(_)) | Err(_) => Counts::default(),
    };
    Ok(Json(Status { report, settings: control.settings.clone(), counts }))
}

/// Only states with an index are counted, because there may be millions of the others.
fn count(connection: &Connection) -> Result<Counts, StoreError> {
    let of = |table: &str, states: &[&str]| {
        let counted = states.iter().map(|state| {
            let sql = format!("select count(*) from {table} where state = '{state}'");
            Ok(((*state).to_owned(), connection.query_row(&sql, [], |row| row.get(0))?))
        });
        counted.collect::<Result<_, StoreError>>()
    };
    Ok(Counts {
        tasks: of("inbox", &["queued", "in_progress", "dead"])?,
        outbox: of("outbox", &["queued", "dead"])?,
    })
}
