//! Where the server listens, who may call it, and whether it speaks TLS there.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use files::roots::Roots;
use http_port::Tls;
use process::Secret;
use process::exit::BadSetting;
use sandbox::Network;
use settings::table::{
    METRICS_PUBLIC, TOOL_ALLOWED_HOSTS, TOOL_APPROVER_TOKEN, TOOL_BASH_NETWORK, TOOL_LISTEN,
    TOOL_MCP_USERS_DECIDE, TOOL_SUPERVISED, TOOL_TLS_CERT, TOOL_TLS_CLIENT_CA, TOOL_TLS_KEY, TOOL_TOKEN,
    TOOL_TOKENS_FILE,
};
use settings::{Optional, SettingError, Source};

/// Where the server listens, and who may call it.
#[derive(Debug)]
pub struct Listen {
    /// None for the client on stdin, which needs no port.
    pub(crate) address: Option<SocketAddr>,
    /// What it speaks TLS with, if it does.
    pub tls: Option<TlsFiles>,
    /// Further names in a Host header, with or without a port.
    pub(crate) allowed_hosts: Vec<String>,
    /// What callers must send.
    pub token: Option<Secret>,
    /// What those send who decide about the calls of others. Callers never have it.
    pub approver_token: Option<Secret>,
    /// Whether the user of a client of MCP decides about the calls of that client.
    pub(crate) asks_clients: bool,
    /// Whether what the server counts is read without a token.
    pub(crate) has_public_metrics: bool,
    /// Whether a supervisor on another machine connects, and answers what tools ask of it.
    pub(crate) is_supervised: bool,
}

/// The files of TLS, in PEM.
#[derive(Debug)]
pub struct TlsFiles {
    /// The certificate with its chain.
    pub certificate: PathBuf,
    key: PathBuf,
    /// Who signs the certificates of clients; without, a client needs none.
    client_authority: Option<PathBuf>,
}

impl TlsFiles {
    fn named(source: &Source) -> Result<Option<Self>, SettingError> {
        let (key, client_authority) = (TOOL_TLS_KEY.read(source)?, TOOL_TLS_CLIENT_CA.read(source)?);
        match (TOOL_TLS_CERT.read(source)?, key) {
            (Some(certificate), Some(key)) => Ok(Some(Self { certificate, key, client_authority })),
            (Some(certificate), None) => Err(without(TOOL_TLS_CERT, &certificate, TOOL_TLS_KEY)),
            (None, Some(key)) => Err(without(TOOL_TLS_KEY, &key, TOOL_TLS_CERT)),
            (None, None) => match client_authority {
                Some(file) => Err(without(TOOL_TLS_CLIENT_CA, &file, TOOL_TLS_CERT)),
                None => Ok(None),
            },
        }
    }

    /// Reads them. Tools must not reach the key, or another could stand in for this server.
    pub(crate) fn read(&self, roots: &Roots) -> anyhow::Result<Tls> {
        let what = "it lies in a root, where tools could read it: put it elsewhere";
        keep_out(roots, TOOL_TLS_KEY.name(), &self.key, what)?;
        Tls::read(&self.certificate, &self.key, self.client_authority.as_deref())
            .map_err(|error| anyhow::anyhow!("{}: {error}", TOOL_TLS_CERT.name()))
            .context(BadSetting("TLS cannot be spoken"))
    }
}

/// Refuses the file of a setting that lies in a root; `what` says why that is not good.
pub(crate) fn keep_out(roots: &Roots, name: &str, file: &Path, what: &'static str) -> anyhow::Result<()> {
    let shown = file.display();
    let real = file.canonicalize().with_context(|| format!("{name}: cannot open {shown}"))?;
    if roots.paths().any(|root| real.starts_with(root)) {
        anyhow::bail!(anyhow::anyhow!(BadSetting(what)).context(format!("{name}: {shown}")));
    }
    Ok(())
}

fn without(given: Optional<PathBuf>, file: &Path, missing: Optional<PathBuf>) -> SettingError {
    given.refuse(file.display().to_string(), format!("nothing, or {} as well", missing.name()))
}

impl Listen {
    /// The client on stdin alone. Its user has started the server, so this user decides about its calls.
    pub fn to_stdin() -> Self {
        Self {
            address: None,
            tls: None,
            allowed_hosts: Vec::new(),
            token: None,
            approver_token: None,
            asks_clients: true,
            has_public_metrics: false,
            is_supervised: false,
        }
    }

    /// Whether somebody can be asked about a call.
    pub(crate) fn can_ask(&self) -> bool {
        self.asks_clients || self.approver_token.is_some()
    }

    /// Reads the address and the token, required with `network`: otherwise a command could call the server.
    pub fn read(source: &Source, network: Network) -> anyhow::Result<Self> {
        Self::with(source, network, None, TOOL_TOKEN.read(source)?)
    }

    /// The same with an address of the command line, and with this token.
    pub fn with(
        source: &Source,
        network: Network,
        address: Option<SocketAddr>,
        token: Option<Secret>,
    ) -> anyhow::Result<Self> {
        let address = address.map_or_else(|| TOOL_LISTEN.read(source), Ok)?;
        if token.is_none() && !address.ip().is_loopback() {
            let expected =
                "a loopback address, or a token in AUTONOUS_TOOL_TOKEN_FILE or AUTONOUS_TOOL_TOKEN";
            return Err(TOOL_LISTEN.refuse(address.to_string(), expected).into());
        }
        if token.is_none() && matches!(network, Network::Public | Network::All) {
            let expected =
                "off, a list of domains, or a token in AUTONOUS_TOOL_TOKEN_FILE or AUTONOUS_TOOL_TOKEN";
            return Err(TOOL_BASH_NETWORK.refuse(format!("{network:?}").to_lowercase(), expected).into());
        }
        if token.is_none()
            && let Some(file) = TOOL_TOKENS_FILE.read(source)?
        {
            let expected = "nothing, or a token in AUTONOUS_TOOL_TOKEN_FILE or AUTONOUS_TOOL_TOKEN: without \
                            one every caller may do everything";
            return Err(TOOL_TOKENS_FILE.refuse(file.display().to_string(), expected).into());
        }
        let approver_token = TOOL_APPROVER_TOKEN.read(source)?;
        refuse_one_token_for_both(token.as_ref(), approver_token.as_ref())?;
        let asks_clients = TOOL_MCP_USERS_DECIDE.read(source)?;
        if asks_clients && token.is_none() {
            let expected = "false, or a token in AUTONOUS_TOOL_TOKEN_FILE or AUTONOUS_TOOL_TOKEN";
            return Err(TOOL_MCP_USERS_DECIDE.refuse("true", expected).into());
        }
        let allowed_hosts = TOOL_ALLOWED_HOSTS.read(source)?;
        let has_public_metrics = METRICS_PUBLIC.read(source)?;
        let is_supervised = is_supervised(source, token.is_some() && approver_token.is_some())?;
        let (address, tls) = (Some(address), TlsFiles::named(source)?);
        Ok(Self {
            address,
            tls,
            token,
            approver_token,
            allowed_hosts,
            asks_clients,
            has_public_metrics,
            is_supervised,
        })
    }
}

fn refuse_one_token_for_both(token: Option<&Secret>, approver: Option<&Secret>) -> Result<(), SettingError> {
    if token.zip(approver).is_some_and(|(token, approver)| token.matches(approver.expose())) {
        let expected = "another token than AUTONOUS_TOOL_TOKEN: who calls must not be who approves";
        return Err(TOOL_APPROVER_TOKEN.refuse("", expected));
    }
    Ok(())
}

fn is_supervised(source: &Source, has_both_tokens: bool) -> Result<bool, SettingError> {
    let is_supervised = TOOL_SUPERVISED.read(source)?;
    if is_supervised && !has_both_tokens {
        let expected = "false, or AUTONOUS_TOOL_TOKEN and AUTONOUS_TOOL_APPROVER_TOKEN (or the files of \
                        both): a supervisor on another machine shows them";
        return Err(TOOL_SUPERVISED.refuse("true", expected));
    }
    Ok(is_supervised)
}
