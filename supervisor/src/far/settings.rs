//! Where the tool server is, if not on this machine, and what it is known by.

use std::net::IpAddr;
use std::path::PathBuf;

use http_port::{ClientFiles, FarEnd, TlsError};
use process::Secret;
use reqwest::Url;
use settings::table::{
    ALL, TOOL_ALLOWED_ROOTS, TOOL_APPROVER_TOKEN, TOOL_DISABLE_EXEC, TOOL_TLS_CA, TOOL_TLS_CERT,
    TOOL_TLS_CLIENT_CA, TOOL_TLS_CLIENT_CERT, TOOL_TLS_CLIENT_KEY, TOOL_TLS_KEY, TOOL_TOKEN, TOOL_URL,
};
use settings::{FILE_ENDING, Optional, Program, Row, SettingError, Source};

#[derive(Debug)]
pub struct FarSettings {
    host: String,
    port: u16,
    tls: Option<TlsFiles>,
    /// None where a command has not read its file.
    pub(crate) approver_token: Option<Secret>,
}

#[derive(Debug)]
struct TlsFiles {
    trusted: PathBuf,
    /// Certificate and key.
    client: Option<(PathBuf, PathBuf)>,
}

impl FarSettings {
    /// None where the tool server is a child of the supervisor.
    pub(crate) fn read(source: &Source) -> Result<Option<Self>, SettingError> {
        let Some(url) = TOOL_URL.given(source)? else {
            refuse_paths(source, &OWN_TLS, "nothing, or AUTONOUS_TOOL_URL as well")?;
            let own = "nothing: a supervisor asks its tool server on this machine, without TLS. Set it for a \
                       tool server alone";
            refuse_paths(source, &TLS_THERE, own)?;
            return Ok(None);
        };
        refuse_settings_of_tools(source)?;
        let refused = |expected: &str| Err(TOOL_URL.refuse(url.to_string(), expected));
        let is_root = url.path() == "/" && url.query().is_none() && url.username().is_empty();
        let (Some(host), Some(port), true) = (url.host_str(), url.port_or_known_default(), is_root) else {
            return refused("host and port alone, such as https://tools.example:8701");
        };
        require_tokens(source, &url)?;
        if TOOL_ALLOWED_ROOTS.read(source)?.is_none_or(|roots| roots.is_empty()) {
            return refused("AUTONOUS_TOOL_ALLOWED_ROOTS as well, with the roots of the tool server there");
        }
        let tls = match url.scheme() {
            "https" => Some(TlsFiles::read(source, &url)?),
            _ if !is_loopback(host) => {
                return refused("https: without TLS, tokens would go over the network in the clear");
            }
            _ => {
                refuse_paths(source, &OWN_TLS, "nothing, or https in AUTONOUS_TOOL_URL")?;
                None
            }
        };
        let approver_token = TOOL_APPROVER_TOKEN.read(source)?;
        Ok(Some(Self { host: host.to_owned(), port, tls, approver_token }))
    }

    /// Scheme, host and port.
    pub fn address(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    /// Reads the files of TLS, before this process confines itself.
    pub fn far_end(&self) -> Result<FarEnd, TlsError> {
        let Some(files) = &self.tls else { return Ok(FarEnd::plain(&self.host, self.port)) };
        let client = files.client.as_ref().map(|(certificate, key)| ClientFiles { certificate, key });
        FarEnd::with_tls(&self.host, self.port, &files.trusted, client)
    }
}

impl TlsFiles {
    fn read(source: &Source, url: &Url) -> Result<Self, SettingError> {
        let Some(trusted) = TOOL_TLS_CA.read(source)? else {
            let expected = "AUTONOUS_TOOL_TLS_CA as well, with the certificate of the tool server there or \
                            the authority that signed it";
            return Err(TOOL_URL.refuse(url.to_string(), expected));
        };
        let client = match (TOOL_TLS_CLIENT_CERT.read(source)?, TOOL_TLS_CLIENT_KEY.read(source)?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(certificate), None) => {
                return Err(without(&TOOL_TLS_CLIENT_CERT, certificate, &TOOL_TLS_CLIENT_KEY));
            }
            (None, Some(key)) => return Err(without(&TOOL_TLS_CLIENT_KEY, key, &TOOL_TLS_CLIENT_CERT)),
        };
        Ok(Self { trusted, client })
    }
}

fn without(given: &Optional<PathBuf>, file: PathBuf, missing: &Optional<PathBuf>) -> SettingError {
    given.refuse(file.display().to_string(), format!("nothing, or {} as well", missing.name()))
}

/// What the supervisor connects with.
const OWN_TLS: [Optional<PathBuf>; 3] = [TOOL_TLS_CA, TOOL_TLS_CLIENT_CERT, TOOL_TLS_CLIENT_KEY];
/// What a tool server speaks TLS with.
const TLS_THERE: [Optional<PathBuf>; 3] = [TOOL_TLS_CERT, TOOL_TLS_KEY, TOOL_TLS_CLIENT_CA];

fn refuse_paths(source: &Source, settings: &[Optional<PathBuf>], expected: &str) -> Result<(), SettingError> {
    for setting in settings {
        if let Some(file) = setting.read(source)? {
            return Err(setting.refuse(file.display().to_string(), expected));
        }
    }
    Ok(())
}

/// Both are needed, each as it is or in a file, which a command may not have read.
fn require_tokens(source: &Source, url: &Url) -> Result<(), SettingError> {
    let (token, approver) = (TOOL_TOKEN.read(source)?, TOOL_APPROVER_TOKEN.read(source)?);
    let is_given = |name: &str, token: Option<&Secret>| {
        token.is_some() || source.text(&format!("{name}{FILE_ENDING}")).is_some()
    };
    if !is_given(TOOL_TOKEN.name(), token.as_ref())
        || !is_given(TOOL_APPROVER_TOKEN.name(), approver.as_ref())
    {
        let expected = "AUTONOUS_TOOL_TOKEN and AUTONOUS_TOOL_APPROVER_TOKEN (or the files of both) as well, \
                        with the tokens of the tool server there";
        return Err(TOOL_URL.refuse(url.to_string(), expected));
    }
    if token.zip(approver).is_some_and(|(token, approver)| token.matches(approver.expose())) {
        let expected = "another token than AUTONOUS_TOOL_TOKEN: who calls must not be who approves";
        return Err(TOOL_APPROVER_TOKEN.refuse("***", expected));
    }
    Ok(())
}

const SET_IT_THERE: &str =
    "nothing, because AUTONOUS_TOOL_URL is set: set it where that tool server is started";

/// What only a tool server reads would hold nowhere.
fn refuse_settings_of_tools(source: &Source) -> Result<(), SettingError> {
    refuse_paths(source, &TLS_THERE, SET_IT_THERE)?;
    // The supervisor shows it.
    let is_shown = |row: &dyn Row| row.name() == TOOL_DISABLE_EXEC.name();
    let is_of_tools = |row: &&&dyn Row| row.readers().programs == [Program::ToolServer] && !is_shown(**row);
    match ALL.iter().filter(is_of_tools).find(|row| source.text(row.name()).is_some()) {
        None => Ok(()),
        Some(row) => {
            let value = if row.is_secret() { "***" } else { source.text(row.name()).unwrap_or_default() };
            Err(SettingError::new(row.name(), value, SET_IT_THERE))
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
