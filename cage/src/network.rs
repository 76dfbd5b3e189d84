//! How a command reaches the network, where that is a list of domains: a proxy beside it, and what it
//! refused.
//!
//! How a proxy judges is not known here. A command in tier A has no other way out, and in tier B none at all.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What is said about a command that has no way out.
const MISSING: &str = "This command had no network: AUTONOUS_TOOL_BASH_NETWORK lists domains, and only \
                       sandbox tier A can keep a command to them. GET /capabilities says what tier A needs.";

/// Starts a proxy for what connects to a socket.
type Start = dyn Fn(&OwnedFd) -> io::Result<Proxy> + Send + Sync;

/// Starts the proxies.
pub struct ListedNetwork {
    start: Box<Start>,
    setting: String,
}

/// A proxy beside a command. When this is dropped, it ends with all its connections.
pub struct Proxy(Box<dyn Fn() -> Vec<String> + Send + Sync>);

impl Proxy {
    /// `refused` says which names it has refused so far, and keeps the proxy alive.
    pub fn new(refused: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(refused))
    }

    /// The names that it has refused so far, each once.
    fn refused(&self) -> Vec<String> {
        (self.0)()
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxy")
    }
}

impl ListedNetwork {
    /// `start` starts a proxy for what connects to a socket; `setting` is the list as the operator wrote it.
    pub fn new(
        setting: String,
        start: impl Fn(&OwnedFd) -> io::Result<Proxy> + Send + Sync + 'static,
    ) -> Self {
        Self { start: Box::new(start), setting }
    }

    /// The way out of a command whose network has this listener, if it has one.
    pub(crate) fn way_out(&self, listener: Option<&OwnedFd>) -> io::Result<WayOut> {
        let Some(listener) = listener else { return Ok(WayOut::Missing) };
        let proxy = (self.start)(listener)?;
        Ok(WayOut::Proxy(Arc::new(proxy), self.setting.clone()))
    }
}

impl fmt::Debug for ListedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListedNetwork({})", self.setting)
    }
}

/// The way out of a command that was started.
#[derive(Debug, Clone)]
pub(crate) enum WayOut {
    /// As the sandbox has it for all commands.
    OfAll,
    /// A proxy, for the list as the operator wrote it.
    Proxy(Arc<Proxy>, String),
    /// None, because this tier cannot keep a command to a list.
    Missing,
}

impl WayOut {
    /// The names that were refused so far, and what to say about them.
    pub(crate) fn refused(&self) -> (Vec<String>, Option<String>) {
        match self {
            Self::OfAll => Default::default(),
            Self::Missing => (Vec::new(), Some(MISSING.to_owned())),
            Self::Proxy(proxy, setting) => {
                let refused = proxy.refused();
                let notice = notice(&refused, setting);
                (refused, notice)
            }
        }
    }
}

/// What a model and a person read of the names that were refused.
fn notice(refused: &[String], setting: &str) -> Option<String> {
    let names = refused.join(", ");
    (!refused.is_empty()).then(|| {
        format!(
            "The network refused {names}. The operator can allow domains with AUTONOUS_TOOL_BASH_NETWORK, \
             which is now {setting}."
        )
    })
}
