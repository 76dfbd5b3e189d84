//! What became of the questions about tool calls: who decided, when and how.
//!
//! A call that waits for a person ends with the ID of its approval, and once there is a yes it is made again:
//! `approval.used` names the call that runs then. So a question has up to two calls and one decision.

use std::collections::HashMap;

use protocol::EventBody;
use protocol::approval::ApprovalScope;
use serde::Serialize;

use crate::events;
use crate::sql::{Connection, Row};

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A person said yes.
    Granted,
    /// A person said no.
    Denied,
    /// No answer came in time.
    Expired,
    /// It has no answer yet.
    Waits,
}

/// The question about a call, and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedAbout {
    pub approval_id: String,
    pub decision: Decision,
    /// What a yes covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<ApprovalScope>,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it ended, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at_ms: Option<i64>,
    /// The same as a date and a time of day, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
}

/// The condition on a failed call (`events`) that it waited for no yes that came or may still come.
pub(super) const IS_REFUSED: &str = "(payload ->> 'approval_id' is null or (
    exists (select 1 from events as ended where ended.type in ('approval.denied', 'approval.expired')
        and ended.payload ->> 'approval_id' = events.payload ->> 'approval_id')
    and not exists (select 1 from events as granted where granted.type = 'approval.granted'
        and granted.payload ->> 'approval_id' = events.payload ->> 'approval_id')))";

const DECIDED: &str = "'approval.granted', 'approval.denied', 'approval.expired'";

/// The condition on a call's start (`started`) that its question ended so.
pub(super) fn condition(decision: Decision) -> String {
    let approvals = match decision {
        Decision::Granted => of_type("approval.granted"),
        Decision::Denied => of_type("approval.denied"),
        Decision::Expired => {
            let granted = of_type("approval.granted");
            format!("{} and payload ->> 'approval_id' not in ({granted})", of_type("approval.expired"))
        }
        Decision::Waits => format!(
            "{} and payload ->> 'approval_id' not in
                 (select payload ->> 'approval_id' from events where type in ({DECIDED}))",
            of_type("approval.requested")
        ),
    };
    format!(
        " and started.id in (
             select payload ->> 'call_id' from events
             where type = 'approval.used' and payload ->> 'approval_id' in ({approvals})
             union all
             select parent_id from events
             where type = 'tool_call.failed' and payload ->> 'approval_id' in ({approvals}))"
    )
}

fn of_type(event_type: &str) -> String {
    format!("select payload ->> 'approval_id' from events where type = '{event_type}'")
}

/// The approvals of the calls that ran with a yes since a time, by call.
pub(super) fn used_since(
    connection: &Connection,
    first_ms: i64,
) -> crate::sql::Result<HashMap<String, String>> {
    let sql = "select payload ->> 'call_id', payload ->> 'approval_id' from events
               where type = 'approval.used' and time_ms >= ?1";
    let pairs = connection.query_all(sql, [first_ms], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(pairs.into_iter().collect())
}

/// What became of a question.
pub(super) fn of_approval(connection: &Connection, approval_id: String) -> crate::sql::Result<AskedAbout> {
    let sql = format!(
        "select type, payload, time_ms, strftime('%Y-%m-%d %H:%M', time_ms / 1000, 'unixepoch')
         from events where type in ({DECIDED}) and payload ->> 'approval_id' = ?1
         order by type = 'approval.expired', seq limit 1"
    );
    let read = |row: &Row<'_>| Ok((Some(events::body(row, 0)?), row.get(2)?, row.get(3)?));
    let decided = connection.query_optional(&sql, [&approval_id], read)?;
    let (body, decided_at_ms, decided_at) = decided.unwrap_or_default();
    let (decision, scope, by, reason) = match body {
        Some(EventBody::ApprovalGranted(yes)) => (Decision::Granted, Some(yes.scope), yes.by, yes.reason),
        Some(EventBody::ApprovalDenied(no)) => (Decision::Denied, None, no.by, no.reason),
        Some(_) => (Decision::Expired, None, None, None),
        None => (Decision::Waits, None, None, None),
    };
    Ok(AskedAbout { approval_id, decision, scope, by, reason, decided_at_ms, decided_at })
}
