//! What the supervisor opens before it confines itself: the lock of its data directory, its ports, and the
//! launcher of its children. Afterwards it can do none of this.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http_port::{FarEnd, TlsError};
use process::Secret;
use process::secrets::random_token;
use telegram::Webhook;

use crate::children::launcher::Launcher;
use crate::children::tool_server::ToolServer;
use crate::config::Config;
use crate::data_dir::{DataDirError, DataDirLock};
use crate::dispatch::worker::Worker;
use crate::far::FarSettings;
use crate::ports::{Port, PortError};
use crate::tokens::Tokens;

/// The programs that this one starts.
pub const PROGRAMS: [&str; 2] = ["tool-server", "agent-worker"];

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("could not read random bytes")]
    Randomness(#[from] getrandom::Error),
    #[error(
        "there is no {program} in {}, where this program is: install it there, too (from the sources: cargo \
         install --locked --path {program})",
        .directory.display()
    )]
    Program { program: &'static str, directory: PathBuf },
    #[error("AUTONOUS_TOOL_URL: the tool server there cannot be spoken to")]
    Tls(#[from] TlsError),
    #[error("could not start the launcher of the other programs")]
    Launcher(#[source] io::Error),
}

pub struct StartupResources {
    pub lock: DataDirLock,
    pub control_port: Port,
    pub tool_port: Port,
    /// Where that port leads, if not to a child.
    pub far: Option<Arc<FarEnd>>,
    /// Where Telegram delivers updates.
    pub webhook: Option<Webhook>,
    /// Of this start; not written to their file yet.
    pub tokens: Tokens,
    pub launcher: Arc<Launcher>,
}

impl StartupResources {
    /// The process must have one thread.
    pub fn acquire(config: &Config) -> Result<Self, StartError> {
        require_programs(&config.children.programs)?;
        let trace = config.data.trace_of_earlier_runs();
        config.data.create()?;
        let lock = config.data.lock()?;
        config.data.require_database(trace)?;
        let control_port = Port::open("AUTONOUS_CONTROL_LISTEN", config.control_listen)?;
        let tool_port = Port::open("AUTONOUS_TOOL_LISTEN", config.tool_listen)?;
        let webhook = webhook(config)?;
        let far = config.far.as_ref().map(FarSettings::far_end).transpose()?.map(Arc::new);
        let tokens = Tokens {
            control_token: given_or_made(config.tokens.control.as_ref())?,
            tool_token: given_or_made(config.tokens.tool.as_ref())?,
            approver_token: given_or_made(config.far.as_ref().and_then(|far| far.approver_token.as_ref()))?,
            control_url: control_port.url(),
            tool_url: tool_port.url(),
        };
        let own = far.is_none();
        let tool_server =
            || ToolServer::program(&config.children, &config.data, &config.roots, tool_port.address);
        let worker = Worker::program(&config.children, &tokens.tool_url);
        let programs = own.then(tool_server).into_iter().chain([worker]).collect();
        let launcher = Launcher::start(programs, config.data.path()).map_err(StartError::Launcher)?;
        Ok(Self { lock, control_port, tool_port, far, webhook, tokens, launcher: Arc::new(launcher) })
    }
}

/// The other programs are beside this one.
fn require_programs(directory: &Path) -> Result<(), StartError> {
    let missing = PROGRAMS.into_iter().find(|program| !directory.join(program).is_file());
    match missing {
        None => Ok(()),
        Some(program) => Err(StartError::Program { program, directory: directory.to_owned() }),
    }
}

fn given_or_made(given: Option<&Secret>) -> Result<String, getrandom::Error> {
    given.map_or_else(random_token, |given| Ok(given.expose().to_owned()))
}

/// The port that Telegram delivers to, if it is to, with the secret of this start.
fn webhook(config: &Config) -> Result<Option<Webhook>, StartError> {
    let Some(telegram) = &config.channels.telegram else { return Ok(None) };
    let Some((url, address)) = &telegram.webhook else { return Ok(None) };
    let port = Port::open("AUTONOUS_TELEGRAM_WEBHOOK_LISTEN", *address)?;
    let secret = Secret::from(random_token()?.as_str());
    Ok(Some(Webhook { url: url.clone(), listener: port.listener, secret }))
}
