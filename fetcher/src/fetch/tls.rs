//! TLS: certificates are judged by the roots that are part of the program and by those of the machine.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A longer file with the machine's roots is not read.
const MAX_ROOTS_BYTES: u64 = 8 << 20;

/// How connections are encrypted. It is built before the first request, not at the start.
pub(crate) struct Tls {
    /// The machine's roots.
    roots: Option<File>,
    config: Option<Arc<ClientConfig>>,
}

impl Tls {
    pub(crate) fn new(roots: Option<File>) -> Self {
        Self { roots, config: None }
    }

    pub(crate) fn prepare(&mut self) {
        if self.config.is_none() {
            self.config = config(self.roots.take());
        }
    }

    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config.clone().ok_or(io::ErrorKind::Unsupported)?;
        let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        let name = ServerName::try_from(bare.to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(config).connect(name, stream).await
    }
}

fn config(system: Option<File>) -> Option<Arc<ClientConfig>> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let mut text = Vec::new();
    if let Some(system) = system
        && system.take(MAX_ROOTS_BYTES).read_to_end(&mut text).is_ok()
    {
        let (bundled, known) = (roots.roots.len(), webpki_roots::TLS_SERVER_ROOTS);
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&text).flatten());
        let mut index = 0;
        // Most are in both lists.
        roots.roots.retain(|root| {
            index += 1;
            index <= bundled
                || !known.iter().any(|known| known.subject_public_key_info == root.subject_public_key_info)
        });
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Some(Arc::new(config))
}
