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

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use rustls::ServerConfig;
    use rustls_pki_types::PrivateKeyDer;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// An authority of the tests alone; its key is gone.
    const AUTHORITY: &str = include_str!("tls_data/authority.txt");
    /// For `example.test` and 127.0.0.1, until 2126 and until 2021.
    const CERTIFICATE: &str = include_str!("tls_data/certificate.txt");
    const EXPIRED: &str = include_str!("tls_data/expired.txt");
    const KEY: &str = include_str!("tls_data/key.txt");

    fn trusting(roots: &str) -> Tls {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(roots.as_bytes()).unwrap();
        file.rewind().unwrap();
        let mut tls = Tls::new(Some(file));
        tls.prepare();
        tls
    }

    /// Connects to a server with this certificate.
    async fn connect(tls: &Tls, host: &str, certificate: &str) -> io::Result<()> {
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key);
        let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let (client, _) = tokio::join!(tls.connect(host, stream), acceptor.accept(accepted));
        client.map(drop)
    }

    #[tokio::test]
    async fn a_certificate_must_come_from_a_trusted_root_be_for_the_host_and_be_valid() {
        let (with, without) = (trusting(AUTHORITY), trusting(""));
        connect(&with, "example.test", CERTIFICATE).await.unwrap();
        connect(&with, "127.0.0.1", CERTIFICATE).await.unwrap();
        for (tls, host, certificate, said) in [
            (&without, "example.test", CERTIFICATE, "UnknownIssuer"),
            (&with, "other.test", CERTIFICATE, "NotValidForName"),
            (&with, "127.0.0.2", CERTIFICATE, "NotValidForName"),
            (&with, "example.test", EXPIRED, "Expired"),
        ] {
            let error = connect(tls, host, certificate).await.unwrap_err();
            assert!(format!("{error:?}").contains(said), "{said}: {error:?}");
        }
    }
}
