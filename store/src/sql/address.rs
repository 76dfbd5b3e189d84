//! The address of a PostgreSQL server, as `AUTONOUS_DATABASE_URL` gives it.
//!
//! A connection is encrypted and the server's certificate is verified, unless the server is on this machine
//! or the address says `sslmode=disable`. The modes of libpq that give way to an open connection are refused.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use postgres::config::Host;
use postgres::{Client, Config, NoTls};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;
use url::form_urlencoded;

use super::{Result, ServerError};

/// How long the server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The port of a server that names none: PostgreSQL's.
const DEFAULT_PORT: u16 = 5432;

/// Each side drops a connection on which it hears nothing of the other for so long: five seconds, then three
/// probes two seconds apart. What a lost node has locked is free again then.
const PROBE_AFTER: Duration = Duration::from_secs(5);
const PROBE_EVERY: Duration = Duration::from_secs(2);
const PROBES: u32 = 3;
const SILENCE: Duration = Duration::from_secs(11);

/// A transaction whose program says nothing for so long is rolled back: all other nodes wait for it.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(5);

/// Where a server is, and how it is asked. Does not print the password.
#[derive(Clone)]
pub struct ServerAddress {
    config: Config,
    /// `postgres://user@host/name`, for people.
    shown: String,
    tls: Option<Certificates>,
    /// A file of passwords, as libpq reads it. Read at each connection: a password can change.
    password_file: Option<PathBuf>,
    /// Where the tables are; none for the user's default.
    schema: Option<String>,
    /// The node that asks; none for a program that is none.
    node: Option<String>,
}

#[derive(Clone)]
struct Certificates {
    /// Who signs the server's certificate; none for the public authorities.
    authorities: Option<PathBuf>,
    /// Our certificate and its key.
    own: Option<(PathBuf, PathBuf)>,
}

/// Why a text is no address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It does not begin with `postgres://`.
    #[error("it is no URL such as postgres://user@host/database: {0}")]
    NoUrl(String),
    /// libpq's other modes.
    #[error(
        "sslmode={0} is not supported: write sslmode=verify-full for a connection that is encrypted and \
         whose server is verified, or sslmode=disable for an open one"
    )]
    Mode(String),
    /// A socket in the file system. The supervisor opens none: what listens there often trusts its user.
    #[error("a server has a name or IP address, such as localhost; a socket is none: {0}")]
    Socket(String),
    /// One of two that belong together.
    #[error("sslcert and sslkey belong together: a certificate and its key")]
    HalfACertificate,
    /// The client's own objection.
    #[error("{0}")]
    Option(String),
}

impl ServerAddress {
    /// Reads a URL: `postgres://user:password@host:port/database`, with libpq's `sslmode`, `sslrootcert`,
    /// `sslcert`, `sslkey` and `passfile`, and what the client knows, such as `target_session_attrs`. Several
    /// servers, of which one at a time takes changes, are `host:port,host:port`.
    pub fn parse(text: &str) -> std::result::Result<Self, AddressError> {
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| AddressError::NoUrl("it has no scheme".to_owned()))?;
        if !["postgres", "postgresql"].contains(&scheme) {
            return Err(AddressError::NoUrl(format!("it begins with {scheme}:")));
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut own = Own::default();
        let options = form_urlencoded::parse(query.as_bytes()).into_owned();
        let others = options.filter(|(name, value)| !own.takes(name, value));
        let others = form_urlencoded::Serializer::new(String::new()).extend_pairs(others).finish();
        // A `+` is no space to the client.
        let url = format!("postgres://{place}?{}", others.replace('+', "%20"));
        let mut config: Config = url.parse().map_err(|error: postgres::Error| {
            AddressError::Option(crate::sql::ServerError::from(error).to_string())
        })?;
        let names = config.get_hosts().iter().map(name).collect::<std::result::Result<Vec<_>, _>>()?;
        if names.is_empty() {
            return Err(AddressError::NoUrl("it names no host".to_owned()));
        }
        let shown = shown(&config, &names);
        let is_near = names.into_iter().all(is_near);
        let tls = own.certificates(is_near)?;
        config.ssl_mode(match tls {
            Some(_) => postgres::config::SslMode::Require,
            None => postgres::config::SslMode::Disable,
        });
        config.application_name("autonous").connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(SILENCE);
        config.keepalives_idle(PROBE_AFTER).keepalives_interval(PROBE_EVERY).keepalives_retries(PROBES);
        Ok(Self { config, shown, tls, password_file: own.password_file, schema: None, node: None })
    }

    /// The same server with this list of schemas: the first is where the tables are.
    pub fn in_schema(&self, schema: &str) -> Self {
        Self { schema: Some(schema.to_owned()), ..self.clone() }
    }

    /// The schema that [`ServerAddress::in_schema`] gave.
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The same server, asked by a node.
    pub fn by_node(self, name: &str) -> Self {
        Self { node: Some(name.to_owned()), ..self }
    }

    /// The node that asks; none for a program that is none.
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// What a session begins with, beside the options of the address.
    fn options(&self) -> String {
        let mut options = self.config.get_options().unwrap_or_default().to_owned();
        let mut set = |name: &str, value: &str| options.push_str(&format!(" -c {name}={value}"));
        set("idle_in_transaction_session_timeout", &IDLE_IN_TRANSACTION.as_millis().to_string());
        set("tcp_keepalives_idle", &PROBE_AFTER.as_secs().to_string());
        set("tcp_keepalives_interval", &PROBE_EVERY.as_secs().to_string());
        set("tcp_keepalives_count", &PROBES.to_string());
        set("tcp_user_timeout", &SILENCE.as_millis().to_string());
        if let Some(schema) = &self.schema {
            set("search_path", schema);
        }
        if let Some(node) = &self.node {
            set("autonous.node", node);
        }
        options
    }

    /// The files that a connection reads.
    pub fn files(&self) -> Vec<&Path> {
        let tls = self.tls.iter().flat_map(|tls| {
            let own = tls.own.iter().flat_map(|(certificate, key)| [certificate, key]);
            tls.authorities.iter().chain(own)
        });
        tls.chain(&self.password_file).map(PathBuf::as_path).collect()
    }

    pub(super) fn connect(&self) -> Result<Client> {
        let mut config = self.config.clone();
        config.options(&self.options());
        if let (Some(file), None) = (&self.password_file, config.get_password()) {
            let password = self.password_in(file)?;
            config.password(password);
        }
        Ok(match &self.tls {
            Some(certificates) => config.connect(certificates.connector()?)?,
            None => config.connect(NoTls)?,
        })
    }

    /// The password of the first line of the file that fits: `host:port:database:user:password`.
    fn password_in(&self, file: &Path) -> Result<String> {
        let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
        let wanted = self.names();
        let fits = |line: &&str| {
            let fields: Vec<&str> = line.splitn(5, ':').collect();
            let is_of = |(field, name): (&&str, &String)| *field == "*" || *field == name;
            fields.len() == 5 && wanted.iter().any(|names| fields.iter().zip(names).all(is_of))
        };
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let found = lines.filter(fits).find_map(|line| line.splitn(5, ':').nth(4));
        found.map(str::to_owned).ok_or_else(|| {
            let wanted = wanted.first().map(|names| names.join(":")).unwrap_or_default();
            ServerError::new(format!("{} has no line for {wanted}", file.display())).into()
        })
    }

    /// Host, port, database and user of each server, as a file of passwords has them.
    fn names(&self) -> Vec<[String; 4]> {
        let user = self.config.get_user().unwrap_or_default();
        let database = self.config.get_dbname().unwrap_or(user);
        let of_one = |(index, host): (usize, &Host)| {
            let port = port(&self.config, index).unwrap_or(DEFAULT_PORT).to_string();
            Some([name(host).ok()?.to_owned(), port, database.to_owned(), user.to_owned()])
        };
        self.config.get_hosts().iter().enumerate().filter_map(of_one).collect()
    }
}

/// The port of a server, if the address names it: each has its own, or all have the same.
fn port(config: &Config, index: usize) -> Option<u16> {
    let ports = config.get_ports();
    ports.get(index).or(ports.first()).copied()
}

fn name(host: &Host) -> std::result::Result<&str, AddressError> {
    match host {
        Host::Tcp(name) => Ok(name),
        Host::Unix(path) => Err(AddressError::Socket(path.display().to_string())),
    }
}

/// Whether a host is this machine.
fn is_near(name: &str) -> bool {
    name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The options of a URL that the client does not know.
#[derive(Default)]
struct Own {
    mode: Option<String>,
    authorities: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    password_file: Option<PathBuf>,
}

impl Own {
    /// Whether it is one of them.
    fn takes(&mut self, name: &str, value: &str) -> bool {
        let place = match name {
            "sslmode" => {
                self.mode = Some(value.to_owned());
                return true;
            }
            "sslrootcert" => &mut self.authorities,
            "sslcert" => &mut self.certificate,
            "sslkey" => &mut self.key,
            "passfile" => &mut self.password_file,
            _ => return false,
        };
        *place = Some(PathBuf::from(value));
        true
    }

    fn certificates(&mut self, is_near: bool) -> std::result::Result<Option<Certificates>, AddressError> {
        let own = match (self.certificate.take(), self.key.take()) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(AddressError::HalfACertificate),
        };
        let certificates = Certificates { authorities: self.authorities.take(), own };
        let is_asked = certificates.authorities.is_some() || certificates.own.is_some();
        match self.mode.as_deref() {
            Some("disable") => Ok(None),
            Some("verify-full" | "require") => Ok(Some(certificates)),
            None => Ok((is_asked || !is_near).then_some(certificates)),
            Some(other) => Err(AddressError::Mode(other.to_owned())),
        }
    }
}

impl Certificates {
    fn connector(&self) -> Result<MakeRustlsConnect> {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            Some(file) => {
                for certificate in certificates(file)? {
                    roots.add(certificate).map_err(|error| unreadable(file, &error))?;
                }
            }
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| ServerError::new(error.to_string()))?
            .with_root_certificates(roots);
        let config = match &self.own {
            Some((certificate, key)) => {
                let read = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
                builder
                    .with_client_auth_cert(certificates(certificate)?, read)
                    .map_err(|error| unreadable(certificate, &error))?
            }
            None => builder.with_no_client_auth(),
        };
        Ok(MakeRustlsConnect::new(config))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    Ok(read.map_err(|error| unreadable(file, &error))?)
}

fn unreadable(file: &Path, error: &dyn fmt::Display) -> ServerError {
    ServerError::new(format!("could not read {}: {error}", file.display()))
}

fn shown(config: &Config, hosts: &[&str]) -> String {
    let user = config.get_user().map_or(String::new(), |user| format!("{user}@"));
    let server = |(index, host): (usize, &&str)| match port(config, index) {
        Some(port) => format!("{host}:{port}"),
        None => (*host).to_owned(),
    };
    let servers: Vec<String> = hosts.iter().enumerate().map(server).collect();
    format!("postgres://{user}{}/{}", servers.join(","), config.get_dbname().unwrap_or_default())
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address = ServerAddress::parse("postgres://ada:secret@db.example:6432/autonous").unwrap();
        assert_eq!(address.to_string(), "postgres://ada@db.example:6432/autonous");
        assert!(!format!("{address:?}").contains("secret"));
        assert!(address.tls.is_some(), "another machine is asked over TLS");
        let several = ServerAddress::parse("postgres://ada:secret@one:1,two:2/a").unwrap();
        assert_eq!(several.to_string(), "postgres://ada@one:1,two:2/a");
    }

    #[test]
    fn only_this_machine_is_asked_in_the_open_unless_the_address_says_so() {
        for (text, is_encrypted) in [
            ("postgres://localhost/a", false),
            ("postgres://127.0.0.1/a", false),
            ("postgres://[::1]/a", false),
            ("postgres://db.example/a", true),
            ("postgres://db.example/a?sslmode=disable", false),
            ("postgres://localhost/a?sslmode=verify-full", true),
            ("postgres://localhost/a?sslrootcert=/ca.pem", true),
        ] {
            let address = ServerAddress::parse(text).unwrap();
            assert_eq!(address.tls.is_some(), is_encrypted, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        for (text, wrong) in [
            ("/var/lib/a.db", "postgres://user@host/database"),
            ("mysql://a/b", "begins with mysql:"),
            ("postgres://a/b?sslmode=prefer", "sslmode=prefer is not supported"),
            ("postgres://a/b?sslcert=/a.pem", "belong together"),
            ("postgres://a/b?no_such_option=1", "no_such_option"),
            ("postgres:///a", "names no host"),
            ("postgres:///a?host=/run/postgresql", "a socket is none: /run/postgresql"),
        ] {
            let error = ServerAddress::parse(text).unwrap_err().to_string();
            assert!(error.contains(wrong), "{text}: {error}");
        }
    }

    #[test]
    fn a_password_is_in_the_first_line_that_fits() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("passwords");
        std::fs::write(&file, "# all\nother:*:*:*:1\ndb.example:5432:*:ada:two:parts\n*:*:*:*:3\n").unwrap();
        let password = |text: &str| ServerAddress::parse(text).unwrap().password_in(&file).unwrap();
        assert_eq!(password("postgres://ada@db.example/x"), "two:parts");
        assert_eq!(password("postgres://ada@first:1,db.example:5432/x"), "two:parts");
        assert_eq!(password("postgres://bob@db.example/x"), "3");
        std::fs::write(&file, "other:*:*:*:1\n").unwrap();
        let address = ServerAddress::parse("postgres://ada@db.example/x").unwrap();
        let error = address.password_in(&file).unwrap_err().to_string();
        assert!(error.ends_with("has no line for db.example:5432:x:ada"), "{error}");
    }
}
