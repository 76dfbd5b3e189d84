//! `contacts_send`: a message to a contact in the files of contacts.

mod book;
mod envelope;
mod route;

use jiff::Timestamp;
use protocol::effect::{Answer, Ask};
use protocol::hash::sha256;
use protocol::{Annotations, ErrorCode, Risk, ToolError, now_ms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::{invalid, typed};
use toolkit::contacts::{ACTIVE, Contact, INACTIVE};
use toolkit::policy::{Circumstance, Touches};
use toolkit::{Call, NamedFiles, Outcome, Scope, Slot, Success, Tool};

use self::envelope::{Envelope, Given, TOPIC};
use self::route::{Route, chat_of};
use crate::outgoing::PUSHED;
use crate::state_files;
use crate::supervisor_link::unexpected;
use crate::tool_context::ToolContext;

/// Sends a message to a person other than the user.
///
/// Read `file_state_dir/contacts/ACTIVE.md` first: it has the `contact_id`. The user is asked before somebody
/// is written to for the first time.
///
/// # Details
///
/// The message goes to the chat that `chat_id` names, if it is one of the contact, else to its private chat,
/// and only to chats that the bot may write to. Contacts of `contacts/INACTIVE.md` are refused. After a
/// failure the contact is not written to until its `cooldown_until`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContactsSendArguments {
    /// As the file says it, such as tg:@anna.
    #[schemars(length(min = 1, max = 200))]
    contact_id: String,
    /// What to send.
    #[serde(default)]
    #[schemars(length(max = 16_000))]
    message_text: Option<String>,
    /// One of the contact's chats, such as tg:-1001; its private one by default.
    #[serde(default)]
    chat_id: Option<String>,
    /// The message that this one answers.
    #[serde(default)]
    #[schemars(length(max = 200))]
    reply_to: Option<String>,
    /// The conversation that this belongs to: a UUID of version 7; a new one by default.
    #[serde(default)]
    session_id: Option<String>,
    /// In place of the text: a whole envelope as JSON, in base64url.
    #[serde(default)]
    #[schemars(length(max = 64_000))]
    message_base64: Option<String>,
    /// application/json.
    #[serde(default)]
    content_type: Option<String>,
}

/// What was queued.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ContactsSendData {
    /// Who gets it.
    contact_id: String,
    /// The chat that it goes to, such as tg:12.
    chat_id: String,
    /// chat.message.
    topic: String,
    /// The message's ID.
    message_id: String,
    /// The conversation.
    session_id: String,
    /// When it was written, in RFC 3339.
    sent_at: String,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    /// Its number at the outbox of the control port.
    outbox_id: i64,
}

pub(crate) struct ContactsSend(pub(super) ToolContext);

/// What would be sent, and to which contact.
struct Message {
    contact: Contact,
    route: Route,
    envelope: Envelope,
    /// What the caller should know about the route.
    notice: Option<String>,
}

impl Tool for ContactsSend {
    type Arguments = ContactsSendArguments;
    type Data = ContactsSendData;
    const NAME: &'static str = "contacts_send";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::SENDS;
    const SLOT: Slot = Slot::File;
    /// Over which contacts are reached.
    const CHANNELS: &'static [&'static str] = PUSHED;
    const ESSENTIAL: &'static [&'static str] = &["message_text"];

    fn example(&self) -> Value {
        json!({"contact_id": "tg:@anna", "message_text": "The report is ready."})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        let paths = [ACTIVE, INACTIVE].map(|name| self.0.paths_touched(&state_files::path(name), scope));
        let paths = paths.into_iter().flatten().collect();
        let reached = self.reached(arguments, scope);
        // Who cannot be looked up is new.
        let is_known = reached.as_ref().is_ok_and(|(contact, route)| self.has_met(contact, route, scope));
        let circumstances = if is_known { Vec::new() } else { vec![Circumstance::NewContact] };
        let recipients = reached.ok().map(|(_, route)| route.address()).into_iter().collect();
        Touches { paths, circumstances, recipients, ..Touches::nothing() }
    }

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        let Message { contact, route, envelope, .. } = self.message(&typed(arguments.clone())?, call)?;
        self.0.supervisor()?.ask(call, Ask::MayWrite { chat: route.address() })?;
        let Contact { nickname, contact_id, .. } = contact;
        Ok(format!("To {nickname} ({contact_id}), chat {}:\n\n{}", route.name(), envelope.text))
    }

    /// Not the file, which has more than this contact, but what of it decides where the message goes.
    fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError> {
        let (contact, route) = self.reached(arguments, scope)?;
        let bound = json!([contact.nickname, route.address()]).to_string();
        Ok(NamedFiles::from([(format!("{ACTIVE}#{}", contact.contact_id), sha256(bound.as_bytes()))]))
    }

    fn run(&self, arguments: ContactsSendArguments, call: &Call) -> Outcome<ContactsSendData> {
        let Message { contact, route, envelope, notice } = self.message(&arguments, call)?;
        let ask = Ask::WriteToContact {
            contact_id: contact.contact_id.clone(),
            chat: route.address(),
            text: envelope.text,
        };
        let outbox_id = match self.0.supervisor()?.ask(call, ask)? {
            Answer::Queued { outbox_id, .. } => outbox_id,
            other => return Err(unexpected(&other).into()),
        };
        let stdout = format!("The message to {} is on its way.\n", contact.nickname);
        let data = ContactsSendData {
            contact_id: contact.contact_id,
            chat_id: route.name(),
            topic: TOPIC.to_owned(),
            message_id: envelope.message_id,
            session_id: envelope.session_id,
            sent_at: envelope.sent_at,
            reply_to: envelope.reply_to,
            outbox_id,
        };
        Ok(Success { stdout, data, notices: notice.into_iter().collect(), ..Success::default() })
    }
}

impl ContactsSend {
    /// What the arguments ask for, if it may be sent now.
    fn message(&self, arguments: &ContactsSendArguments, call: &Call) -> Result<Message, ToolError> {
        content_type(arguments.content_type.as_deref())?;
        let given = Given {
            text: arguments.message_text.as_deref(),
            base64: arguments.message_base64.as_deref(),
            session_id: arguments.session_id.as_deref(),
            reply_to: arguments.reply_to.as_deref(),
        };
        let now = Timestamp::from_millisecond(now_ms()).unwrap_or_default();
        let envelope = Envelope::of(&given, &call.id, now)?;
        let (contact, route) = self.route(arguments, &call.scope)?;
        require_no_cooldown(&contact)?;
        let named = arguments.chat_id.as_deref().map(chat_of).transpose()?;
        let is_other = named.is_some_and(|named| route.is_other_than(named));
        let notice = is_other.then(|| {
            format!("`chat_id` is none of the contact's chats: its private one, {}, was used.", route.name())
        });
        Ok(Message { contact, route, envelope, notice })
    }

    /// Which contact the files name by now, and where.
    fn reached(&self, arguments: &Value, scope: &Scope) -> Result<(Contact, Route), ToolError> {
        self.route(&typed(arguments.clone())?, scope)
    }

    fn route(&self, arguments: &ContactsSendArguments, scope: &Scope) -> Result<(Contact, Route), ToolError> {
        let named = arguments.chat_id.as_deref().map(chat_of).transpose()?;
        let contact = book::active(&*self.0.workspaces.of(scope)?, &arguments.contact_id)?;
        let route = Route::to(&contact, named)?;
        Ok((contact, route))
    }

    /// Whether the session has written to the contact before, at this address.
    fn has_met(&self, contact: &Contact, route: &Route, scope: &Scope) -> bool {
        let ask = Ask::HasMet { contact_id: contact.contact_id.clone(), chat: route.address() };
        let answer = self.0.supervisor().and_then(|supervisor| supervisor.question(scope, ask));
        matches!(answer, Ok(Answer::Yes { yes: true }))
    }
}

/// `application/json`, with any parameters.
fn content_type(named: Option<&str>) -> Result<(), ToolError> {
    let Some(named) = named else { return Ok(()) };
    let mut parts = named.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    let is_parameter = |part: &str| part.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty());
    if is_json && parts.all(is_parameter) {
        return Ok(());
    }
    Err(invalid("`content_type` must be application/json.").with_hint("Leave it out."))
}

fn require_no_cooldown(contact: &Contact) -> Result<(), ToolError> {
    let Some(until) = contact.cooldown_until.as_deref() else { return Ok(()) };
    let id = &contact.contact_id;
    let Ok(time) = until.parse::<Timestamp>() else {
        let message = format!("The contact `{id}` has a `cooldown_until` that is no time in RFC 3339.");
        let hint = format!("Correct it in {ACTIVE} with `edit`, such as 2026-11-22T09:00:00Z, or remove it.");
        return Err(ToolError::new(ErrorCode::Conflict, message).with_hint(hint));
    };
    if time.as_millisecond() <= now_ms() {
        return Ok(());
    }
    let message = format!("The contact `{id}` is not written to before {until}: a message did not arrive.");
    Err(ToolError::new(ErrorCode::ToolNotAllowed, message)
        .with_hint("Tell the user, and try again after that."))
}
