//! Telegram's methods over HTTP, with names in any case, and their faults.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::TOKEN;
use super::albums;
use super::answers::{refusal, result};
use super::drafts;
use super::files;
use super::form::Form;
use super::media;
use super::polls::Waiting;
use super::recording;
use super::signs::is_progress;
use super::state::{Fault, Shared};
use super::update::HALF_A_CHARACTER;
use super::webhook::Webhook;

pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    Path((bot, method)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let method = method.to_ascii_lowercase();
    if bot != format!("bot{TOKEN}") {
        return refusal(401, "Unauthorized", None);
    }
    if shared.lock().is_cut {
        return cut_off();
    }
    let form = Form::read(&headers, &body);
    if method == "getupdates" {
        let _waiting = Waiting::begin(&shared, &headers);
        let answer = fault_or_answer(&shared, &method, &form).await;
        return if shared.lock().is_cut { cut_off() } else { answer };
    }
    {
        let mut state = shared.lock();
        state.under_way += 1;
        state.most_under_way = state.most_under_way.max(state.under_way);
    }
    let answer = fault_or_answer(&shared, &method, &form).await;
    shared.lock().under_way -= 1;
    answer
}

async fn fault_or_answer(shared: &Shared, method: &str, form: &Form) -> Response {
    // Faults and counts of messages are not about progress, which a slow machine shows more of.
    let called = if is_progress(&form.parameters) { "sendprogress" } else { method };
    let fault = shared.lock().begin(called, form.parameters["chat_id"].as_i64());
    match fault {
        None => perform(shared, method, form).await,
        Some(Fault::Dropped) => {
            perform(shared, method, form).await;
            cut_off()
        }
        Some(Fault::Unanswered) => {
            perform(shared, method, form).await;
            std::future::pending().await
        }
        Some(Fault::Drips(time)) => {
            tokio::time::sleep(time).await;
            perform(shared, method, form).await
        }
        Some(Fault::Moved(to)) => {
            let description = "Bad Request: group chat was upgraded to a supergroup chat";
            refusal(400, description, Some(json!({"migrate_to_chat_id": to})))
        }
        Some(Fault::TooLarge) => refusal(413, "Request Entity Too Large", None),
        Some(Fault::TooMany) => refusal(429, "Too Many Requests", None),
        Some(Fault::ServerErrorPage) => {
            (StatusCode::BAD_GATEWAY, "<html>502 Bad Gateway</html>").into_response()
        }
        Some(Fault::Silent) => std::future::pending().await,
        Some(Fault::RetryAfter(seconds)) => {
            let description = format!("Too Many Requests: retry after {seconds}");
            refusal(429, &description, Some(json!({"retry_after": seconds})))
        }
        Some(Fault::Unauthorized) => refusal(401, "Unauthorized", None),
        Some(Fault::Conflict) => {
            let description = "Conflict: terminated by other getUpdates request; \
                               make sure that only one bot instance is running";
            refusal(409, description, None)
        }
        Some(Fault::BadRequest) => refusal(400, "Bad Request: something is wrong", None),
        Some(Fault::Blocked) => refusal(403, "Forbidden: bot was blocked by the user", None),
        Some(Fault::ServerError) => refusal(500, "Internal Server Error", None),
    }
}

async fn perform(shared: &Shared, method: &str, form: &Form) -> Response {
    let answer = carry_out(shared, method, form).await;
    if shared.lock().recording.is_none() {
        return answer;
    }
    let (answer, body) = recording::read(answer).await;
    if let Some(recording) = &mut shared.lock().recording {
        recording.call(method, form, &body);
    }
    answer
}

async fn carry_out(shared: &Shared, method: &str, form: &Form) -> Response {
    match method {
        "getme" => result(&json!({
            "id": 123_456, "is_bot": true, "first_name": "Fake", "username": "fake_bot",
            "can_join_groups": true, "can_read_all_group_messages": false,
            "supports_inline_queries": false, "can_connect_to_business": false, "has_main_web_app": false,
        })),
        "getfile" => files::describe(shared, form.parameters["file_id"].as_str().unwrap_or_default()),
        "getupdates" if shared.lock().webhook.is_set() => {
            let description = "Conflict: can't use getUpdates method while webhook is active; \
                               use deleteWebhook to delete the webhook first";
            refusal(409, description, None)
        }
        "getupdates" => {
            let updates = json!({"ok": true, "result": next_updates(shared, &form.parameters).await});
            let body = updates.to_string().replace(HALF_A_CHARACTER, "\\ud83d");
            ([(CONTENT_TYPE, "application/json")], body).into_response()
        }
        "sendmessage"
        | "editmessagetext"
        | "editmessagereplymarkup"
        | "senddocument"
        | "sendvoice"
        | "setmessagereaction" => answer_or_refusal(shared.lock().take(method, form)),
        "sendmediagroup" => answer_or_refusal(albums::take(&mut shared.lock(), form)),
        shown if media::shows(shown) => answer_or_refusal(shared.lock().take(method, form)),
        "sendmessagedraft" => drafts::take(&mut shared.lock().drafts, &form.parameters),
        "sendchataction" => answer_or_refusal(shared.lock().signs.act(&form.parameters)),
        "answercallbackquery" => answer_or_refusal(shared.lock().signs.answer(&form.parameters)),
        "deletemessage" => answer_or_refusal(shared.lock().delete(&form.parameters)),
        "getchatadministrators" => administrators(shared, &form.parameters),
        "getchatmember" => member(shared, &form.parameters),
        "setmycommands" | "deletemycommands" => set_menu(shared, &form.parameters),
        "setwebhook" => answer_or_refusal(shared.lock().webhook.set(&form.parameters)),
        "deletewebhook" => {
            shared.lock().webhook = Webhook::default();
            result(&Value::Bool(true))
        }
        "getwebhookinfo" => {
            let state = shared.lock();
            result(&state.webhook.info(state.waiting.len()))
        }
        _ => refusal(404, "Not Found", None),
    }
}

/// Sets or deletes the menu of one chat or of all, for clients in one language or for all others.
fn set_menu(shared: &Shared, parameters: &Value) -> Response {
    let language = parameters["language_code"].as_str().unwrap_or_default();
    let menu = (parameters["scope"]["chat_id"].as_i64(), language.to_owned());
    let mut state = shared.lock();
    match &parameters["commands"] {
        Value::Null => state.menus.remove(&menu),
        commands => state.menus.insert(menu, commands.clone()),
    };
    result(&Value::Bool(true))
}

fn administrators(shared: &Shared, parameters: &Value) -> Response {
    let chat = parameters["chat_id"].as_i64().unwrap_or_default();
    let people = shared.lock().administrators.get(&chat).cloned().unwrap_or_default();
    result(&people.iter().map(|id| administrator(*id)).collect())
}

fn member(shared: &Shared, parameters: &Value) -> Response {
    let chat = parameters["chat_id"].as_i64().unwrap_or_default();
    let user = parameters["user_id"].as_i64().unwrap_or_default();
    let is_there = shared.lock().administrators.get(&chat).is_some_and(|people| people.contains(&user));
    result(&if is_there { administrator(user) } else { json!({"status": "left", "user": person(user)}) })
}

fn person(id: i64) -> Value {
    json!({"id": id, "is_bot": false, "first_name": "A"})
}

/// An administrator who may do nothing but see the group.
fn administrator(id: i64) -> Value {
    let mut member = json!({"status": "administrator", "user": person(id), "can_manage_chat": true});
    for not_given in [
        "can_be_edited", "is_anonymous", "can_delete_messages", "can_manage_video_chats",
        "can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users",
        "can_post_stories", "can_edit_stories", "can_delete_stories", "can_send_welcome_messages",
    ] {
        member[not_given] = Value::Bool(false);
    }
    member
}

/// Waits for an update, at most for the `timeout` in the request.
async fn next_updates(shared: &Shared, parameters: &Value) -> Vec<Value> {
    let timeout = Duration::from_secs(parameters["timeout"].as_u64().unwrap_or(0));
    let end = tokio::time::Instant::now() + timeout;
    loop {
        let arrived = shared.arrived.notified();
        let updates = shared.lock().updates(parameters);
        if !updates.is_empty() || shared.lock().is_cut || tokio::time::timeout_at(end, arrived).await.is_err()
        {
            return updates;
        }
    }
}

fn answer_or_refusal(answer: Result<Value, String>) -> Response {
    match answer {
        Ok(answer) => result(&answer),
        Err(why) => refusal(400, &why, None),
    }
}

/// A response whose body fails, so that the server closes the connection.
fn cut_off() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut off")) });
    Body::from_stream(broken).into_response()
}
