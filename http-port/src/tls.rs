//! TLS for a port: the server's certificate, and the authority of its clients, where they need one.
//!
//! The files are read once, before a process confines itself.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Speaks TLS with those who connect.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tls")
    }
}

/// Why a port cannot have TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or does not hold what it should.
    #[error("{file:?} cannot be used: {reason}")]
    File {
        /// Its path.
        file: PathBuf,
        /// What it lacks.
        reason: String,
    },
    /// The key is not that of the certificate, or neither is of a kind that is supported.
    #[error("the certificate and the key do not fit together: {0}")]
    Pair(rustls::Error),
    /// The certificates of the authority cannot be used.
    #[error("the authority cannot be used: {0}")]
    Authority(#[from] VerifierBuilderError),
    /// A server has no such name.
    #[error("{0:?} is no name of a server")]
    Name(String),
}

impl TlsError {
    pub(crate) fn file(file: &Path, reason: impl ToString) -> Self {
        Self::File { file: file.to_owned(), reason: reason.to_string() }
    }
}

impl Tls {
    /// Reads the certificate with its chain and its key, both in PEM. With an authority, also in PEM, a
    /// client must show a certificate that it signed.
    pub fn read(certificate: &Path, key: &Path, authority: Option<&Path>) -> Result<Self, TlsError> {
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Pair)?;
        let builder = match authority {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let mut roots = RootCertStore::empty();
                for one in certificates(file)? {
                    roots.add(one).map_err(|error| TlsError::file(file, error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build()?)
            }
        };
        let read = self::key(key)?;
        let mut config =
            builder.with_single_cert(certificates(certificate)?, read).map_err(TlsError::Pair)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        self.0.accept(stream).await
    }
}

pub(crate) fn key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| TlsError::file(file, error))
}

/// At least one.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| TlsError::file(file, error))?;
    if found.is_empty() { Err(TlsError::file(file, "it has no certificate in PEM")) } else { Ok(found) }
}
