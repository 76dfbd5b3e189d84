//! A tunnel: bytes go both ways as they are. Only the first of the client are looked at: TLS must ask the
//! server for the name that was judged, so that no host behind the same address answers instead.

use std::io;
use std::time::Duration;

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy, split};
use tokio::net::TcpStream;

use super::refusals::Refusals;
use super::target::Target;

/// How a record of a TLS handshake begins.
const HANDSHAKE: u8 = 0x16;

/// More than a client's first message of TLS has.
const MAX_GREETING_BYTES: usize = 64 << 10;

/// How long a client of TLS may take for it.
const GREETING: Duration = Duration::from_secs(60);

/// Passes on until both ends have closed.
pub(super) async fn tunnel(
    client: impl AsyncRead + AsyncWrite,
    server: TcpStream,
    target: &Target,
    refusals: &Refusals,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = server.into_split();
    let up = async {
        let greeting = greeting(&mut from_client, target).await.inspect_err(|error| {
            if let Greeting::Refused { name, why } = error {
                refusals.note(name, why);
            }
        });
        to_server.write_all(&greeting.map_err(|_| io::ErrorKind::PermissionDenied)?).await?;
        copy(&mut from_client, &mut to_server).await?;
        to_server.shutdown().await
    };
    let down = async {
        copy(&mut from_server, &mut to_client).await?;
        to_client.shutdown().await
    };
    tokio::try_join!(up, down).map(drop)
}

/// Why a client's first bytes are not passed on.
enum Greeting {
    Broken,
    Refused { name: String, why: String },
}

impl From<io::Error> for Greeting {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

async fn greeting(client: &mut (impl AsyncRead + Unpin), target: &Target) -> Result<Vec<u8>, Greeting> {
    if !target.is_for_tls() {
        return read_greeting(client, target).await;
    }
    let read = tokio::time::timeout(GREETING, read_greeting(client, target)).await;
    read.unwrap_or(Err(Greeting::Broken))
}

/// The first bytes, once it is clear that they may be passed on.
async fn read_greeting(client: &mut (impl AsyncRead + Unpin), target: &Target) -> Result<Vec<u8>, Greeting> {
    let refused = |why: String| Err(Greeting::Refused { name: target.name().to_owned(), why });
    let (mut read, mut acceptor) = (Vec::new(), Acceptor::default());
    let mut block = vec![0; 4096];
    loop {
        let length = client.read(&mut block).await?;
        let mut rest = &block[..length];
        read.extend_from_slice(rest);
        if read.first() != Some(&HANDSHAKE) {
            let is_right = read.is_empty() || !target.is_for_tls();
            return if is_right { Ok(read) } else { refused("only TLS goes to port 443".to_owned()) };
        }
        if length == 0 || read.len() > MAX_GREETING_BYTES {
            return Err(Greeting::Broken);
        }
        while !rest.is_empty() && acceptor.read_tls(&mut rest)? > 0 {}
        match acceptor.accept() {
            Ok(None) => {}
            Ok(Some(accepted)) => {
                let hello = accepted.client_hello();
                let asked = hello.server_name().map(|name| name.trim_end_matches('.').to_ascii_lowercase());
                return match asked {
                    Some(name) if name == target.host() => Ok(read),
                    Some(name) => Err(Greeting::Refused {
                        why: format!("TLS asked for it in a tunnel to {}", target.name()),
                        name,
                    }),
                    None => refused("TLS named no server in the tunnel".to_owned()),
                };
            }
            Err(_) => return refused("the tunnel began with TLS that cannot be read".to_owned()),
        }
    }
}
