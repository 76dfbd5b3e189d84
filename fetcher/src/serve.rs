//! The fetcher's own main loop: take the secrets, give up everything but the network, then fork a process for
//! each request and each proxy that the tool server hands over.
//!
//! It reads nothing but descriptors. Requests and answers pass only through the processes that it forks.

use std::fs::File;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use process::confinement::{Powers, confine, end_forks};
use process::forked::{self, ForkResult};
use process::parent_pipe::Watched;
use process::sign_of_life::ASKED;
use process::{descriptors, fd_passing, sign_of_life};
use rustix::process::{Resource, Rlimit, setrlimit, setsid};
use rustix::thread::set_name;
use settings::Source;

use crate::credentials::Credentials;
use crate::fetch::{self, Context, Tls};
use crate::proxy;
use crate::web_settings::Settings;

/// What it says once it is confined.
pub(crate) const READY: u8 = b'+';

/// Where Linux distributions keep the certificates that the machine trusts, all in one file.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What one request may take of the processor and of memory, whatever it reads.
const CPU_SECONDS: u64 = 330;
const MEMORY_BYTES: u64 = 4 << 30;

/// Runs as the fetcher until the tool server is gone.
pub(crate) fn serve(
    settings: &Settings,
    source: &Source,
    secrets: Option<OwnedFd>,
    (mut socket, parent): (UnixStream, Watched),
) -> ! {
    match prepare(settings, source, secrets, (&socket, &parent)) {
        Err(why) => {
            let _ = socket.write_all(b"-").and_then(|()| socket.write_all(why.as_bytes()));
        }
        Ok(mut context) => {
            let _ = socket.write_all(&[READY]);
            forked::tidy_heap();
            while let Ok(Some((kind, handed))) = fd_passing::receive(&socket) {
                let mut handed = handed.into_iter();
                let (Some(stream), listener) = (handed.next(), handed.next()) else { continue };
                if kind == ASKED {
                    sign_of_life::answer(&stream);
                    continue;
                }
                if listener.is_none() {
                    // Now, so that it is done once, and only if there is a request at all.
                    context.tls.prepare();
                }
                if let Ok(ForkResult::Child) = forked::fork() {
                    drop(socket);
                    answer(&context, UnixStream::from(stream), listener.map(TcpListener::from));
                }
            }
        }
    }
    forked::exit(0)
}

fn prepare<'a>(
    settings: &'a Settings,
    source: &Source,
    secrets: Option<OwnedFd>,
    (socket, parent): (&UnixStream, &Watched),
) -> Result<Context<'a>, String> {
    let failed = |what: &str, why: &dyn std::fmt::Display| format!("the fetcher cannot {what}: {why}");
    let _ = set_name(c"fetcher");
    forked::default_signals().map_err(|error| failed("reset signals", &error))?;
    setsid().map_err(|error| failed("leave its session", &error))?;
    parent.end_with_parent().map_err(|error| failed("watch its parent", &error))?;
    let source = source.clone().with_secrets_in(secrets).map_err(|error| error.to_string())?;
    let credentials = Credentials::read(settings, &source).map_err(|error| error.to_string())?;
    drop(source);
    let roots = SYSTEM_ROOTS.iter().find_map(|path| File::open(path).ok());
    let kept: Vec<_> =
        [socket.as_fd(), parent.as_fd()].into_iter().chain(roots.as_ref().map(File::as_fd)).collect();
    descriptors::silence()
        .and_then(|()| descriptors::close_all_but(&kept))
        .map_err(|error| failed("close inherited descriptors", &error))?;
    forked::erase_environment();
    forked::ignore_children().map_err(|error| failed("ignore its children", &error))?;
    confine(&Powers::connections_and_forks()).map_err(|error| failed("confine itself", &error))?;
    Ok(Context { settings, credentials, tls: Tls::new(roots) })
}

/// Runs as the process of one request, or as the proxy of one command, which connects to `listener`.
fn answer(context: &Context<'_>, stream: UnixStream, listener: Option<TcpListener>) -> ! {
    let limit = |bound| Rlimit { current: Some(bound), maximum: Some(bound) };
    let limited = setrlimit(Resource::Cpu, limit(CPU_SECONDS))
        .and_then(|()| setrlimit(Resource::As, limit(MEMORY_BYTES)))
        .is_ok();
    // Without them it must not read what a stranger sends.
    if limited && end_forks().is_ok() {
        let _ = set_name(if listener.is_some() { c"proxy" } else { c"fetch" });
        match listener {
            None => fetch::run(context, stream),
            Some(listener) => proxy::run(stream, listener),
        }
    }
    forked::exit(0)
}
