//! Who sent a message: what the tool server knows of it from the connection or the headers.

use protocol::hash::sha256;
use protocol::{EventId, SessionId};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use toolkit::{Grant, Request};

/// The first part of the sessions of clients that name none, and the whole of it where a client has no name.
const SESSION: &str = "mcp";

/// The most characters of a client's name in a session.
const MAX_NAME_CHARS: usize = 64;

/// A call without its tool, arguments and perhaps its session. It travels with the request that it was made
/// of.
#[derive(Debug, Clone)]
pub struct Caller {
    request: Request,
    names_session: bool,
}

impl Caller {
    /// The only client of a server that it has started itself.
    pub fn only() -> Self {
        let mut request = Request::new("", "");
        request.session = session(EventId::new().as_str());
        Self { request, names_session: true }
    }

    /// A caller whose calls are like this one. Without a session of its own, each has the one of its client.
    pub fn new(request: Request, names_session: bool) -> Self {
        Self { request, names_session }
    }

    /// A client that has opened a session of the protocol (before 2026-07-28). Its ID is the client's own
    /// secret, so its hash stands for it.
    #[must_use]
    pub fn in_protocol_session(mut self, id: &[u8]) -> Self {
        if !self.names_session {
            self.request.session = session(&sha256(id)[..32]);
            self.names_session = true;
        }
        self
    }

    /// The session of its calls.
    pub(crate) fn session(&self, context: &RequestContext<RoleServer>) -> SessionId {
        if self.names_session {
            return self.request.session.clone();
        }
        let client = context.meta.client_info();
        session(&client.map(|client| as_name(&client.name)).unwrap_or_default())
    }

    /// What its token may do; none of the server's own.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        self.request.grant.as_deref()
    }

    /// A call of a tool.
    pub(crate) fn call(&self, tool: &str, arguments: Vec<u8>, session: SessionId) -> Request {
        Request { tool: tool.to_owned(), body: arguments, session, ..self.request.clone() }
    }
}

fn session(name: &str) -> SessionId {
    let text = if name.is_empty() { SESSION.to_owned() } else { format!("{SESSION}:{name}") };
    text.parse().expect("a few ASCII characters are an ID")
}

/// Whether a session is that of a client, and not a chat of a channel.
pub(crate) fn is_of_a_client(session: &SessionId) -> bool {
    session.as_str().strip_prefix(SESSION).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// The characters of a client's name that can be in an ID.
fn as_name(name: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().filter(plain).take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_client_makes_a_session() {
        let check = |name: &str, expected: &str| assert_eq!(session(&as_name(name)).as_str(), expected);
        check("claude-code", "mcp:claude-code");
        check("My Client/1 \u{1b}[31m", "mcp:MyClient131m");
        check("", "mcp");
        check("客户端", "mcp");
        assert_eq!(session(&as_name(&"x".repeat(1000))).as_str().len(), "mcp:".len() + MAX_NAME_CHARS);
    }

    #[test]
    fn a_session_of_the_protocol_is_not_shown_and_gives_way_to_one_that_is_named() {
        let request = Request::new("", "");
        let unnamed = Caller::new(request.clone(), false).in_protocol_session(b"secret");
        let session = unnamed.request.session.as_str();
        assert!(session.starts_with("mcp:") && !session.contains("secret"), "{session}");
        let named = Caller::new(request, true).in_protocol_session(b"secret");
        assert_eq!(named.request.session.as_str(), "default");
    }
}
