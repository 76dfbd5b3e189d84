//! `tool-server run`: the token that the server keeps by itself, and the first words for who started it.
//!
//! The token lasts over restarts, so that a client is set up once. It lies in the data directory, which no
//! root contains, and is never printed: the lines name the file.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use process::Secret;
use process::exit::BadSetting;
use process::secrets::random_token;
use rustix::fs::OFlags;
use settings::table::TOOL_TOKEN;
use settings::{FILE_ENDING, Source};
use toolkit::shell::quoted;

use crate::config::Config;

/// A file with less was cut off, or is not ours.
const MIN_CHARS: usize = 16;

/// More than any token has.
const MAX_FILE_BYTES: u64 = 4096;

/// Where the token of a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenPlace {
    /// A file that has nothing else.
    File(PathBuf),
    /// AUTONOUS_TOOL_TOKEN.
    Variable,
}

impl TokenPlace {
    /// The token that the settings name, or else the one in the data directory, which is made if there is
    /// none.
    pub fn of(source: &Source, current_dir: &Path, data_dir: &Path) -> anyhow::Result<(Self, Secret)> {
        if let Some(token) = TOOL_TOKEN.read(source)? {
            let file = source.text(&format!("{}{FILE_ENDING}", TOOL_TOKEN.name()));
            return Ok((file.map_or(Self::Variable, |file| Self::File(current_dir.join(file))), token));
        }
        let path = data_dir.join("token");
        let token = kept(&path).with_context(|| format!("cannot use the token in {}", path.display()))?;
        Ok((Self::File(path), token))
    }

    /// What a person reads at the start, with a line for the shell.
    pub fn greeting(&self, address: SocketAddr, certificate: Option<&Path>, config: &Config) -> String {
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", reachable(address));
        let mut text = String::new();
        for root in &config.files.roots {
            let _ = writeln!(text, "Root:    {}", root.display());
        }
        let _ = writeln!(text, "Journal: {}", config.files.journal.display());
        let _ = writeln!(text, "Address: {url}  (docs at {url}/docs/, for agents {url}/llms.txt)");
        let token = match self {
            Self::File(path) => {
                let _ = writeln!(text, "Token:   in {}", path.display());
                format!("$(cat {})", quoted(&path.display().to_string()))
            }
            Self::Variable => {
                let _ = writeln!(text, "Token:   AUTONOUS_TOOL_TOKEN");
                "$AUTONOUS_TOOL_TOKEN".to_owned()
            }
        };
        let trusted = certificate
            .map_or_else(String::new, |file| format!("--cacert {} ", quoted(&file.display().to_string())));
        let _ = write!(
            text,
            "Try:\n\ncurl -s {trusted}{url}/tools/ls -H \"authorization: Bearer {token}\" \
             -H 'content-type: application/json' -d '{{\"path\":\".\"}}'\n"
        );
        text
    }
}

/// The token in a file that only this user can read; a new one if there is no file.
fn kept(path: &Path) -> anyhow::Result<Secret> {
    let opened = match open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make(path)?;
            open(path)
        }
        opened => opened,
    };
    let file = opened?;
    let found = file.metadata()?;
    if !found.is_file() || found.mode() & 0o077 != 0 || found.uid() != rustix::process::geteuid().as_raw() {
        let what = "it must be a file of this user that others cannot read (`chmod 600`), or be removed";
        anyhow::bail!(BadSetting(what));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    let token = text.trim_end();
    if token.len() < MIN_CHARS || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        anyhow::bail!(BadSetting("it is no token: remove the file for a new one"));
    }
    Ok(Secret::from(token))
}

fn open(path: &Path) -> io::Result<fs::File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Writes a new token. If another server has just done so, that one stays.
fn make(path: &Path) -> anyhow::Result<()> {
    let directory = path.parent().context("a file has a directory")?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let token = random_token().context("could not read random bytes")?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(token.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(error.error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// An address that a client of this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
