//! `tool-server token new`: a token, and the lines for the file of tokens. Nothing keeps the token itself.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use process::exit::BadSetting;
use process::secrets::random_token;
use protocol::hash::sha256;
use serde::Serialize;
use settings::table::TOOL_TOKENS_FILE;
use toolkit::Grant;
use toolkit::grant::{Terms, TokenLimits};

/// What a new token may do. What is not given is not restricted.
#[derive(Debug, Clone, Args)]
pub struct NewToken {
    /// What the journal calls it: letters, digits, `-`, `_` and `.`
    name: String,
    /// A tool that it may call, or a glob such as `process_*`; can be given several times.
    #[arg(long = "tool", value_name = "GLOB")]
    tools: Vec<String>,
    /// A directory in the roots that it reaches; can be given several times.
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// It changes nothing.
    #[arg(long)]
    read_only: bool,
    /// It reaches no web, and its commands no network.
    #[arg(long)]
    no_network: bool,
    /// A session that it may name, or a glob such as `ci-*`; can be given several times.
    #[arg(long = "session", value_name = "GLOB")]
    sessions: Vec<String>,
    /// When it expires, such as 2027-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    expires: Option<Timestamp>,
    /// The most calls in any 60 seconds.
    #[arg(long, value_name = "COUNT")]
    calls_per_minute: Option<usize>,
    /// How long its commands may run in a day, together.
    #[arg(long, value_name = "SECONDS")]
    command_seconds_per_day: Option<u64>,
}

#[derive(Serialize)]
struct Content {
    token: [Terms; 1],
}

impl NewToken {
    /// The token and its lines, as a person reads them.
    ///
    /// # Errors
    /// What in the arguments is not understood.
    pub fn text(self) -> anyhow::Result<String> {
        let token = random_token().context("could not read random bytes")?;
        let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
        let expires = self.expires.map(|at| at.to_string().parse());
        let terms = Terms {
            name: self.name,
            sha256: sha256(token.as_bytes()),
            tools: some(self.tools),
            roots: (!self.roots.is_empty()).then_some(self.roots),
            read_only: self.read_only,
            network: !self.no_network,
            sessions: some(self.sessions),
            expires: expires.transpose().context("cannot write `expires`")?,
            limits: TokenLimits {
                calls_per_minute: self.calls_per_minute,
                command_seconds_per_day: self.command_seconds_per_day,
            },
        };
        Grant::new(terms.clone())
            .map_err(|what| anyhow::anyhow!(what).context(BadSetting("no such token")))?;
        let lines = toml::to_string(&Content { token: [terms] }).context("cannot write the lines")?;
        Ok(format!(
            "The token, which is shown only now:\n\n{token}\n\n\
             The lines for the file that {} names:\n\n{lines}",
            TOOL_TOKENS_FILE.name()
        ))
    }
}
