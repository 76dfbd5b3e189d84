//! `/tools` and `/tools/{name}`: the catalogue with what was called, and a form to try a tool.

use std::sync::Arc;
use std::time::Duration;

use axum::Form;
use axum::extract::{Path, State};
use axum::response::Html;
use page::tools::{Tool, Tried, tool, tools};
use page::{Place, form};
use protocol::{Envelope, SessionId, now_ms};
use serde_json::Value;
use settings::quotas::DAY_MS;
use store::queries::page as queries;

use super::error::PageError;
use super::read::read;
use super::show::still;
use crate::control::Control;
use crate::control::error::ControlError;

/// So many days are counted.
const DAYS: i64 = 30;

const PATIENCE: Duration = Duration::from_secs(5);

/// The longest that a call which is tried may take: as long as a command may.
const CALL_PATIENCE: Duration = Duration::from_secs(660);

/// Whose call it is, if the form does not say.
const SESSION: &str = "page:main";

/// The field of the form that is no argument.
const SESSION_FIELD: &str = "~session";

pub(super) async fn get_tools(State(control): State<Arc<Control>>) -> Result<Html<String>, PageError> {
    let since_ms = now_ms() - DAYS * DAY_MS;
    let figures = read(&control, move |connection| queries::tool_figures(connection, since_ms));
    let (figures, catalogue) = tokio::join!(figures, catalogue(&control));
    let view = tools(catalogue.as_deref(), &figures?, DAYS);
    Ok(still("Tools", Place::Tools, &view))
}

pub(super) async fn get_tool(
    State(control): State<Arc<Control>>,
    Path(name): Path<String>,
) -> Result<Html<String>, PageError> {
    let found = find(&control, &name).await?;
    Ok(show(&found, &[], SESSION, None))
}

/// Makes the call that was filled in.
pub(super) async fn post_try(
    State(control): State<Arc<Control>>,
    Path(name): Path<String>,
    Form(given): Form<Vec<(String, String)>>,
) -> Result<Html<String>, PageError> {
    let found = find(&control, &name).await?;
    let session = given.iter().find(|(name, _)| name == SESSION_FIELD).map_or(SESSION, |(_, value)| value);
    let tried = match form::arguments(&found.input_schema, &given) {
        Ok(arguments) => call(&control, &found.name, &Value::Object(arguments), session).await?,
        Err(why) => Tried { ok: false, text: why, envelope: String::new(), call_id: None },
    };
    Ok(show(&found, &given, session, Some(&tried)))
}

async fn call(control: &Control, name: &str, arguments: &Value, session: &str) -> Result<Tried, PageError> {
    let hint = "A session has no spaces, such as page:main.";
    let session: SessionId =
        session.trim().parse().map_err(|_| PageError::invalid("This is no session.", hint))?;
    let request = control.tool_server.call(name, arguments, &session).timeout(CALL_PATIENCE);
    let answer = request.send().await.map_err(|_| ControlError::NoToolServer)?;
    let whole: Value = answer.json().await.map_err(|_| ControlError::NoToolServer)?;
    let envelope: Envelope = serde_json::from_value(whole.clone()).map_err(|_| ControlError::NoToolServer)?;
    Ok(Tried {
        ok: envelope.ok,
        text: protocol::text_form::text_form(&envelope),
        envelope: format!("{whole:#}"),
        call_id: Some(envelope.meta.call_id.to_string()),
    })
}

fn show(found: &Tool, given: &[(String, String)], session: &str, tried: Option<&Tried>) -> Html<String> {
    still(&format!("Tool {}", found.name), Place::Tools, &tool(found, given, session, tried))
}

async fn find(control: &Control, name: &str) -> Result<Tool, PageError> {
    let all = catalogue(control).await.ok_or(ControlError::NoToolServer)?;
    all.into_iter().find(|tool| tool.name == name).ok_or_else(|| PageError::missing("tool"))
}

/// The tools that there are; none if the tool server gives no answer.
async fn catalogue(control: &Control) -> Option<Vec<Tool>> {
    let answer = control.tool_server.catalogue().timeout(PATIENCE).send().await.ok()?;
    let listed: Value = answer.json().await.ok()?;
    let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
    let tools = listed["tools"].as_array().or(listed.as_array())?.iter().map(|one| Tool {
        name: text(one, "name"),
        description: text(one, "description"),
        risk: text(one, "risk"),
        input_schema: one["input_schema"].clone(),
    });
    Some(tools.collect())
}
