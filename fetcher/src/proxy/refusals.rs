//! What the proxy refuses: the answer to the client, and the note to the tool server, which comes first.

use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use http::{Response, StatusCode};
use hyper::ext::ReasonPhrase;

use super::forward::{Body, plain};
use super::handle::Refused;
use crate::stream;

/// How many names the tool server hears of. Their notes fit into the stream, so writing never waits.
const MOST: usize = 32;

/// The longest name in a note.
const MAX_NAME_BYTES: usize = 255;

#[derive(Debug)]
pub(super) struct Refusals {
    setting: String,
    known: Mutex<(UnixStream, BTreeSet<String>)>,
}

impl Refusals {
    /// `setting`: the list, as the operator wrote it.
    pub(super) fn new(stream: UnixStream, setting: String) -> Self {
        Self { setting, known: Mutex::new((stream, BTreeSet::new())) }
    }

    /// Tells the tool server of a name, once.
    pub(super) fn note(&self, name: &str, why: &str) {
        let name: String = name.chars().take(MAX_NAME_BYTES).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, names) = &mut *known;
        if names.len() < MOST && names.insert(name.clone()) {
            let _ = stream::send(stream, &Refused { name, why: why.to_owned() });
        }
    }

    /// Refuses a name that the operator could allow.
    pub(super) fn refuse(&self, name: &str, why: &str) -> Response<Body> {
        let setting = &self.setting;
        let remedy =
            format!(" The operator can add it: AUTONOUS_TOOL_BASH_NETWORK={setting},{name} (now {setting}).");
        self.answer(name, why, &remedy, "it is not allowed by AUTONOUS_TOOL_BASH_NETWORK")
    }

    /// Refuses a name that no list allows.
    pub(super) fn refuse_for_good(&self, name: &str, why: &str) -> Response<Body> {
        self.answer(
            name,
            why,
            " The list in AUTONOUS_TOOL_BASH_NETWORK allows domains with public addresses alone.",
            why,
        )
    }

    fn answer(&self, name: &str, why: &str, remedy: &str, in_short: &str) -> Response<Body> {
        self.note(name, why);
        let mut response =
            plain(StatusCode::FORBIDDEN, &format!("Commands may not reach {name}: {why}.{remedy}"));
        // Many clients show no more of an answer to CONNECT.
        let reason = format!("Forbidden: {name}: {in_short}");
        if let Ok(reason) = ReasonPhrase::try_from(reason.into_bytes()) {
            response.extensions_mut().insert(reason);
        }
        response
    }
}
