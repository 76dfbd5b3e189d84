//! Raw requests of the corpus: given as bytes, or described by path, headers and body.

use base64::Engine as _;
use serde_json::{Map, Value};

use super::placeholders::{Placeholders, TOKEN};
use crate::{Answer, Request, ToolServer};

/// Sends a request, with the server's token unless the case sets `Authorization`. `tool` replaces the tool in
/// its path. None: the server closed the connection.
pub(super) fn send(
    server: &ToolServer,
    description: &Map<String, Value>,
    placeholders: &Placeholders,
    tool: Option<&str>,
) -> Result<Option<Answer>, String> {
    if let Some(raw) = description.get("raw").and_then(Value::as_str) {
        let bytes = with_token(&redirect(&placeholders.fill(raw)?, tool));
        return Ok(server.raw(bytes.as_bytes()));
    }
    let path = text(description, "path")?;
    let target = redirect(&placeholders.fill(path)?, tool);
    let mut request = Request::post(&target, body(description, placeholders)?).without("Content-Type");
    request = request.header("Authorization", &format!("Bearer {TOKEN}"));
    for (name, value) in description.get("headers").and_then(Value::as_object).into_iter().flatten() {
        request = match value.as_str() {
            Some(value) => request.header(name, &placeholders.fill(value)?),
            None => request.without(name),
        };
    }
    Ok(request.try_send(server.address()).ok())
}

/// Whether a request is HTTP/1 by its first line.
pub(super) fn is_http_1(description: &Map<String, Value>) -> bool {
    let raw = description.get("raw").and_then(Value::as_str);
    raw.is_none_or(|raw| raw.lines().next().is_some_and(|line| line.contains(" HTTP/1.")))
}

fn body(description: &Map<String, Value>, placeholders: &Placeholders) -> Result<Vec<u8>, String> {
    if let Some(json) = description.get("json") {
        return Ok(placeholders.fill_value(json)?.to_string().into_bytes());
    }
    if let Some(Value::Array(repeat)) = description.get("body_repeat") {
        let unit = repeat.first().and_then(Value::as_str).ok_or("body_repeat without a text")?;
        let times = repeat.get(1).and_then(Value::as_u64).ok_or("body_repeat without a number")?;
        return Ok(unit.repeat(usize::try_from(times).map_err(|error| error.to_string())?).into_bytes());
    }
    if description.contains_key("body_b64") {
        let encoded = text(description, "body_b64")?;
        return base64::prelude::BASE64_STANDARD.decode(encoded).map_err(|error| error.to_string());
    }
    Ok(placeholders.fill(text(description, "body")?)?.into_bytes())
}

fn text<'a>(description: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    description.get(name).and_then(Value::as_str).ok_or_else(|| format!("the request has no {name}"))
}

/// Replaces the name after the first `/tools/`.
fn redirect(text: &str, tool: Option<&str>) -> String {
    let (Some(tool), Some((before, after))) = (tool, text.split_once("/tools/")) else {
        return text.to_owned();
    };
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
    format!("{before}/tools/{tool}{}", &after[end..])
}

/// Adds the token: the raw requests have none, and would be refused for that.
fn with_token(raw: &str) -> String {
    raw.replacen("\r\nContent-Type:", &format!("\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type:"), 1)
}
