//! Which network each command gets: the one of all commands, or a proxy for listed domains.

use std::ffi::OsString;

use protocol::{ErrorCode, ToolError};
use sandbox::Running;
use toolkit::Call;

use super::Commands;
use crate::network::{ListedNetwork, WayOut};

/// The variables from which programs learn their proxy. Some read only one spelling.
const PROXY: [&str; 6] = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// What programs ask without it: their own loopback. Node.js reads the others only if the last one says so.
const BESIDE_IT: [(&str, &str); 3] = [
    ("no_proxy", "localhost,127.0.0.1,::1"),
    ("NO_PROXY", "localhost,127.0.0.1,::1"),
    ("NODE_USE_ENV_PROXY", "1"),
];

/// Part of the name of the shared network of a session's commands that have a proxy, which no session's own
/// name has. Commands without one are in another network, so they cannot use it.
const WITH_PROXY: &str = "\n";

/// The same before the name of a token.
const OF_TOKEN: &str = "\t";

impl Commands {
    /// The same where commands reach listed domains alone.
    pub fn with_listed_network(self, listed_network: Option<ListedNetwork>) -> Self {
        Self { listed_network, ..self }
    }

    /// Which network a call gets beside that of all commands: this is the one place that decides it.
    fn listed_network_of(&self, call: &Call) -> Option<&ListedNetwork> {
        self.listed_network.as_ref().filter(|_| may_use_network(call))
    }

    /// The variables that the sandbox sets to the proxy of the command.
    pub(super) fn proxy_variables(&self, call: &Call) -> Vec<String> {
        self.listed_network_of(call).map_or_else(Vec::new, |_| PROXY.map(str::to_owned).to_vec())
    }

    /// What goes with them.
    pub(super) fn beside_proxy(&self, call: &Call) -> impl Iterator<Item = (OsString, OsString)> {
        let all = if self.listed_network_of(call).is_some() { &BESIDE_IT[..] } else { &[] };
        all.iter().map(|(name, value)| (name.into(), value.into()))
    }

    /// The background processes of a session and the commands that run beside them reach each other, if they
    /// have the same token.
    pub(super) fn network_of(&self, call: &Call, process: Option<&str>) -> Option<String> {
        let shares = process.is_some() || self.processes.has_running(&call.scope);
        let kind = if self.listed_network_of(call).is_some() { WITH_PROXY } else { "" };
        let token = call.scope.token().map(|token| format!("{OF_TOKEN}{token}")).unwrap_or_default();
        shares.then(|| format!("{}{token}{kind}", call.scope.as_str()))
    }

    /// Whether a command gets no network at all, whatever the network of commands is.
    pub(super) fn is_offline(call: &Call) -> bool {
        !may_use_network(call)
    }

    /// Starts the proxy of a command that runs.
    pub(super) fn way_out(&self, call: &Call, running: &Running) -> Result<WayOut, ToolError> {
        let Some(listed) = self.listed_network_of(call) else { return Ok(WayOut::OfAll) };
        listed.way_out(running.listener.as_ref()).map_err(|error| {
            tracing::error!(call_id = %call.id, %error, "cannot start the proxy of a command");
            let message = "The proxy of the command could not be started, so the command was ended.";
            ToolError::new(ErrorCode::SandboxFailed, message)
        })
    }
}

/// Whether the token of a call lets its commands reach what the server's commands reach.
fn may_use_network(call: &Call) -> bool {
    call.scope.grant().is_none_or(|grant| grant.has_network())
}
