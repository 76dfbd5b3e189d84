//! A port of this machine whose requests a server on another machine answers. Those who connect here need not
//! know of the other machine, of TLS, or of a client's key.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, Interest, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::tls::{TlsError, certificates, key};

/// The most connections at once.
const MOST: usize = 512;

/// How long one attempt to connect may take.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a connection waits for a server that is away, as a socket of this machine would keep it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(250);

/// A machine that says nothing for this long is gone: first after the quiet, then after each of three probes.
const QUIET: Duration = Duration::from_secs(10);
const PROBE_PAUSE: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// The server at the other end.
pub struct FarEnd {
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A client's certificate and its key, both in PEM.
#[derive(Debug, Clone, Copy)]
pub struct ClientFiles<'a> {
    /// With its chain.
    pub certificate: &'a Path,
    /// Its key.
    pub key: &'a Path,
}

impl FarEnd {
    /// A server without TLS, which is for this machine alone.
    pub fn plain(host: &str, port: u16) -> Self {
        Self { host: host.to_owned(), port, tls: None }
    }

    /// A server with TLS. `trusted` is its certificate, or the authority that signed it, in PEM.
    pub fn with_tls(
        host: &str,
        port: u16,
        trusted: &Path,
        client: Option<ClientFiles<'_>>,
    ) -> Result<Self, TlsError> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(bare.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))?;
        let provider = Arc::new(default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Pair)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Trusted::read(trusted, provider)?));
        let mut config = match client {
            None => builder.with_no_client_auth(),
            Some(files) => builder
                .with_client_auth_cert(certificates(files.certificate)?, key(files.key)?)
                .map_err(TlsError::Pair)?,
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let tls = Some((TlsConnector::from(Arc::new(config)), name));
        Ok(Self { host: bare.to_owned(), port, tls })
    }

    /// Tries once whether it can be connected to.
    pub async fn probe(&self) -> io::Result<()> {
        timeout(CONNECT, self.connect()).await?.map(drop)
    }

    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, QUIET)?;
        sockopt::set_tcp_keepintvl(&stream, PROBE_PAUSE)?;
        sockopt::set_tcp_keepcnt(&stream, PROBES)?;
        match &self.tls {
            None => Ok(Box::new(stream)),
            Some((tls, name)) => Ok(Box::new(tls.connect(name.clone(), stream).await?)),
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Accepts connections for ever, and joins each with one to the server. `trouble` says why the server cannot
/// be connected to, if so.
pub async fn tunnel(listener: TcpListener, far: Arc<FarEnd>, trouble: watch::Sender<Option<String>>) {
    let room = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((near, _)) => {
                let (far, trouble) = (Arc::clone(&far), trouble.clone());
                tokio::spawn(async move {
                    if let Err(error) = join(near, &far, &trouble).await {
                        tracing::debug!(%error, "a connection to the server was cut off");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::error!(%error, "could not accept a connection");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn join(mut near: TcpStream, far: &FarEnd, trouble: &watch::Sender<Option<String>>) -> io::Result<()> {
    near.set_nodelay(true)?;
    let give_up = Instant::now() + PATIENCE;
    let mut stream = loop {
        let connected = timeout(CONNECT, far.connect()).await.unwrap_or_else(|late| Err(late.into()));
        match connected {
            Ok(stream) => {
                trouble.send_if_modified(|trouble| trouble.take().is_some());
                break stream;
            }
            Err(error) => {
                note(trouble, &error);
                if Instant::now() >= give_up {
                    return Err(error);
                }
                sleep(PAUSE).await;
            }
        }
    };
    // What a client has given up must not be done later.
    if near.ready(Interest::READABLE | Interest::WRITABLE).await?.is_read_closed() {
        return Ok(());
    }
    copy_bidirectional(&mut near, &mut stream).await.map(drop)
}

fn note(trouble: &watch::Sender<Option<String>>, error: &io::Error) {
    let text = error.to_string();
    trouble.send_if_modified(|known| {
        let is_new = known.as_ref() != Some(&text);
        if is_new {
            *known = Some(text);
        }
        is_new
    });
}

/// Trusts the certificates of a file: as the server's own, and as authorities.
#[derive(Debug)]
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    authority: Arc<WebPkiServerVerifier>,
}

impl Trusted {
    fn read(file: &Path, provider: Arc<rustls::crypto::CryptoProvider>) -> Result<Self, TlsError> {
        let certificates = certificates(file)?;
        let mut roots = RootCertStore::empty();
        for one in &certificates {
            roots.add(one.clone()).map_err(|error| TlsError::file(file, error))?;
        }
        let authority = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        Ok(Self { certificates, authority })
    }
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The very certificate is known, whatever names and times it has. That the server has its key is
        // verified with the signature of the handshake.
        if self.certificates.iter().any(|known| known.as_ref() == end_entity.as_ref()) {
            return Ok(ServerCertVerified::assertion());
        }
        self.authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authority.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authority.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authority.supported_verify_schemes()
    }
}
