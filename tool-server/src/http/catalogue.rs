//! The catalogue that `GET /tools` sends, whole or as the functions of a model provider, each with a tag that
//! says whether it changed.
//!
//! All but those of named tokens are made at the start and never change while the server runs; which one a
//! session gets depends on its channel. Every answer to a call carries the tag of the whole catalogue, so
//! that a caller notices a server that was restarted with other tools. The same tools always give the same
//! bytes and tag.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::http::HeaderValue;
use bytes::Bytes;
use protocol::ids::channel_of;
use protocol::{ToolError, ToolSpec};
use serde_json::{Value, json};
use toolkit::arguments::{elide, invalid};
use toolkit::function_schemas::Format;
use toolkit::{Runner, locked};

use super::Granted;

/// The header of every answer to a call: the tag of the catalogue that its session gets.
pub(super) const TAG_HEADER: &str = "x-catalogue-tag";

/// The catalogues of all sessions: a channel that has tools of its own has one of its own.
#[derive(Debug)]
pub struct Catalogues {
    elsewhere: Arc<Catalogue>,
    channels: Vec<(&'static str, Arc<Catalogue>)>,
    of_tokens: Mutex<HashMap<OfToken, Arc<Catalogue>>>,
}

/// What a token may call, and the channel.
type OfToken = (String, Option<&'static str>);

/// How many catalogues of tokens are kept.
const MOST_OF_TOKENS: usize = 64;

impl Catalogues {
    /// The catalogues of a runner's tools.
    pub fn new(runner: &Runner) -> Result<Self, serde_json::Error> {
        let of = |channel| Ok((channel, Arc::new(Catalogue::new(&runner.specs(Some(channel), None))?)));
        let channels = runner.channels().into_iter().map(of).collect::<Result<_, serde_json::Error>>()?;
        let elsewhere = Arc::new(Catalogue::new(&runner.specs(None, None))?);
        Ok(Self { elsewhere, channels, of_tokens: Mutex::default() })
    }

    /// What a session can call with a token.
    pub(super) fn of(&self, runner: &Runner, session: &str, Granted(grant): &Granted) -> Arc<Catalogue> {
        let channel = channel_of(session);
        let own = self.channels.iter().find(|(name, _)| Some(*name) == channel);
        let (channel, whole) = match own {
            Some((channel, catalogue)) => (Some(*channel), catalogue),
            None => (None, &self.elsewhere),
        };
        let Some(grant) = grant else { return Arc::clone(whole) };
        let mut known = locked(&self.of_tokens);
        if known.len() > MOST_OF_TOKENS {
            known.clear();
        }
        let entry = known.entry((grant.digest().to_owned(), channel)).or_insert_with(|| {
            let catalogue = Catalogue::new(&runner.specs(channel, Some(grant)));
            Arc::new(catalogue.expect("the whole catalogue is JSON, so this part of it is, too"))
        });
        Arc::clone(entry)
    }
}

/// A catalogue in every form.
#[derive(Debug, Clone)]
pub(super) struct Catalogue {
    whole: Document,
    functions: Vec<(Format, Document)>,
}

/// A body as it is sent, and its tag.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) body: Bytes,
    pub(super) tag: HeaderValue,
}

impl Catalogue {
    /// The catalogue of these tools, which are sorted by name.
    fn new(tools: &[&ToolSpec]) -> Result<Self, serde_json::Error> {
        let functions = |format: Format| {
            let tools = format.tools(tools.iter().copied());
            Ok((format, Document::new(&json!({ "tools": tools }))?))
        };
        Ok(Self {
            whole: Document::new(&json!({ "tools": tools }))?,
            functions: Format::ALL.into_iter().map(functions).collect::<Result<_, serde_json::Error>>()?,
        })
    }

    /// What `GET /tools` answers; `format` is the value of the parameter, if there is one.
    pub(super) fn in_format(&self, format: Option<&str>) -> Result<&Document, ToolError> {
        let Some(name) = format else { return Ok(&self.whole) };
        let found = self.functions.iter().find(|(format, _)| format.name() == name);
        found.map(|(_, document)| document).ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            invalid(format!("There is no format {:?}.", elide(name, 60)))
                .with_hint(format!("Use one of {names}, or leave `format` out for the whole catalogue."))
        })
    }

    pub(super) fn tag(&self) -> &HeaderValue {
        &self.whole.tag
    }
}

impl Document {
    fn new(document: &Value) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_vec(document)?;
        let hash = protocol::hash::sha256(&body);
        let tag = HeaderValue::try_from(format!("\"{hash}\"")).expect("hex digits in quotes are a header");
        Ok(Self { body: Bytes::from(body), tag })
    }
}
