//! `contacts_send`: a message to a contact in the files of contacts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use protocol::hash::sha256;
use protocol::{Annotations, ErrorCode, Risk, SessionId, ToolError, now_ms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::contacts::{ACTIVE, Contact};
use toolkit::policy::{Circumstance, Touches};
use toolkit::{Call, Outcome, Slot, Success, Tool};

use super::Contacts;
use super::envelope::{Envelope, Given, TOPIC};
use super::route::{Route, chat_of};
use crate::channel::Content;
use crate::channel_tools::sending::{not_stored, wait};
use crate::store::contact_messages::{self, NewMessage};
use crate::timing;

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

pub(super) struct ContactsSend(pub(super) Contacts);

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
    const ESSENTIAL: &'static [&'static str] = &["message_text"];

    fn example(&self) -> Value {
        json!({"contact_id": "tg:@anna", "message_text": "The report is ready."})
    }

    fn touches(&self, arguments: &Value, session: &SessionId) -> Touches {
        // Who cannot be looked up is new.
        let new = Touches { circumstances: vec![Circumstance::NewContact], ..Touches::nothing() };
        let Ok((contact, route)) = self.reached(arguments, session) else { return new };
        let (session, address) = (session.clone(), route.chat());
        let recipients = vec![address.address()];
        let known = self
            .0
            .sending
            .store
            .write(move |tx| contact_messages::has_met(tx, &session, &contact.contact_id, &address));
        match wait(known) {
            Ok(true) => Touches { recipients, ..Touches::nothing() },
            Ok(false) => Touches { recipients, ..new },
            Err(error) => {
                tracing::error!(%error, "could not read whom a chat has written to");
                Touches { recipients, ..new }
            }
        }
    }

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        let Message { contact, route, envelope, .. } = self.message(&parsed(arguments)?, call)?;
        let Contact { nickname, contact_id, .. } = contact;
        Ok(format!("To {nickname} ({contact_id}), chat tg:{}:\n\n{}", route.chat_id(), envelope.text))
    }

    /// Not the file, which has more than this contact, but what of it decides where the message goes.
    fn named_files(
        &self,
        arguments: &Value,
        session: &SessionId,
    ) -> Result<BTreeMap<String, String>, ToolError> {
        let (contact, route) = self.reached(arguments, session)?;
        let bound = json!([contact.nickname, route.channel().as_str(), route.chat_id()]).to_string();
        Ok(BTreeMap::from([(format!("{ACTIVE}#{}", contact.contact_id), sha256(bound.as_bytes()))]))
    }

    fn run(&self, arguments: ContactsSendArguments, call: &Call) -> Outcome<ContactsSendData> {
        let Message { contact, route, envelope, notice } = self.message(&arguments, call)?;
        let (contents, delivery) = self.0.sending.prepared(
            &route.channel(),
            &route.chat_id(),
            Content::Text(envelope.text.clone()),
        )?;
        let message = NewMessage {
            call: call.id.clone(),
            session: call.session.clone(),
            contact_id: contact.contact_id.clone(),
            chat: route.chat(),
        };
        let queue = self
            .0
            .sending
            .store
            .write(move |tx| contact_messages::queue(tx, &message, contents.clone(), delivery));
        let outbox_id = wait(queue).map_err(not_stored)?;
        let stdout = format!("The message to {} is on its way.\n", contact.nickname);
        let data = ContactsSendData {
            contact_id: contact.contact_id,
            chat_id: format!("tg:{}", route.chat_id()),
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
        let envelope = Envelope::of(&given, &call.id, timing::from_ms(now_ms()))?;
        let named = arguments.chat_id.as_deref().map(chat_of).transpose()?;
        let contact = wait(self.0.book.active(&arguments.contact_id, &call.session))?;
        let route = self.route(&contact, arguments)?;
        self.0.sending.may_send(&route.channel(), &route.chat_id())?;
        require_no_cooldown(&contact)?;
        let is_other = named.is_some_and(|named| named.to_string() != route.chat_id());
        let notice = is_other.then(|| {
            format!(
                "`chat_id` is none of the contact's chats: its private one, tg:{}, was used.",
                route.chat_id()
            )
        });
        Ok(Message { contact, route, envelope, notice })
    }

    /// Which contacts the files name by now, and where.
    fn reached(&self, arguments: &Value, session: &SessionId) -> Result<(Contact, Route), ToolError> {
        let arguments = parsed(arguments)?;
        let contact = wait(self.0.book.active(&arguments.contact_id, session))?;
        let route = self.route(&contact, &arguments)?;
        Ok((contact, route))
    }

    fn route(&self, contact: &Contact, arguments: &ContactsSendArguments) -> Result<Route, ToolError> {
        Route::to(contact, arguments.chat_id.as_deref().map(chat_of).transpose()?)
    }
}

fn parsed(arguments: &Value) -> Result<ContactsSendArguments, ToolError> {
    serde_json::from_value(arguments.clone())
        .map_err(|error| invalid(format!("The arguments do not match the schema: {error}.")))
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
