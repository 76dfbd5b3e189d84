//! The tool server's end: it starts the fetcher, and gives it requests.

use std::io::{self, Read};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use process::fd_passing;
use process::forked::{self, ForkResult};
use process::parent_pipe::{self, Held};
use process::sign_of_life::{self, Loss};
use serde::Serialize;
use settings::Source;

use crate::messages::{Job, Message};
use crate::proxy::{Proxy, ProxyRules};
use crate::serve::{self, READY};
use crate::stream;
use crate::web_settings::Settings;

/// How often a wait looks whether the caller has gone.
const LOOK_UP: Duration = Duration::from_millis(100);

/// The longest that the fetcher may take until it is confined.
const START: Duration = Duration::from_secs(10);

/// Why there is no fetcher.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StartError {
    #[error("cannot start the fetcher")]
    Start(#[source] io::Error),
    #[error("{0}")]
    Refused(String),
    #[error("the fetcher ended before it was confined")]
    Silent,
}

/// The fetcher. When this is dropped, it ends.
#[derive(Debug)]
pub struct Fetcher {
    socket: UnixStream,
    _alive: Held,
}

impl Fetcher {
    /// Forks it. The process has one thread and no secret; `secrets` is a pipe with those of the profiles.
    pub fn start(settings: &Settings, source: &Source, secrets: Option<OwnedFd>) -> Result<Self, StartError> {
        let (socket, theirs) = UnixStream::pair().map_err(StartError::Start)?;
        let (held, watched) = parent_pipe::pair().map_err(StartError::Start)?;
        match forked::fork().map_err(StartError::Start)? {
            ForkResult::Child => {
                drop((socket, held));
                serve::serve(settings, source, secrets, (theirs, watched))
            }
            ForkResult::Parent(_) => Ok(Self { socket, _alive: held }),
        }
    }

    /// Waits until it is confined and has all secrets.
    pub fn ready(&self) -> Result<(), StartError> {
        self.socket.set_read_timeout(Some(START)).map_err(StartError::Start)?;
        let mut answer = [0];
        (&self.socket).read_exact(&mut answer).map_err(|_| StartError::Silent)?;
        if answer[0] == READY {
            return Ok(());
        }
        let mut why = String::new();
        (&self.socket).read_to_string(&mut why).map_err(|_| StartError::Silent)?;
        Err(StartError::Refused(why))
    }

    /// Blocks until it is lost: nothing can be fetched then, so the server should end. `tell` hears when it
    /// is quiet, and when it no longer is.
    pub fn watch(&self, tell: impl FnMut(bool)) -> Loss {
        sign_of_life::watch(&self.socket, tell)
    }

    /// Gives it a job. Dropping what comes back ends the job.
    pub fn begin(&self, job: &Job) -> io::Result<Exchange> {
        self.hand_over(job, None).map(|stream| Exchange { stream })
    }

    /// Starts a proxy for those that connect to `listener`. Dropping what comes back ends it.
    pub fn proxy(&self, listener: &OwnedFd, rules: &ProxyRules) -> io::Result<Proxy> {
        self.hand_over(rules, Some(listener)).map(Proxy::behind)
    }

    fn hand_over(&self, message: &impl Serialize, listener: Option<&OwnedFd>) -> io::Result<UnixStream> {
        let (mut ours, theirs) = UnixStream::pair()?;
        let handed: Vec<_> = [theirs.as_fd()].into_iter().chain(listener.map(OwnedFd::as_fd)).collect();
        fd_passing::send(&self.socket, b'+', &handed)?;
        drop(theirs);
        stream::send(&mut ours, message)?;
        Ok(ours)
    }
}

/// A job that runs.
#[derive(Debug)]
pub struct Exchange {
    stream: UnixStream,
}

impl Exchange {
    /// The next message. `check` is asked now and then whether it is still wanted.
    pub fn next<E: From<io::Error>>(
        &mut self,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Message, E> {
        self.stream.set_read_timeout(Some(LOOK_UP))?;
        let mut patient = Patient { stream: &self.stream, check: &mut check, stopped: None };
        let message = stream::receive(&mut patient);
        match (patient.stopped, message) {
            (Some(stopped), _) => Err(stopped),
            (None, message) => Ok(message?),
        }
    }
}

/// A stream that looks up while it waits.
struct Patient<'a, E, C> {
    stream: &'a UnixStream,
    check: &'a mut C,
    stopped: Option<E>,
}

impl<E, C: FnMut() -> Result<(), E>> Read for Patient<'_, E, C> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if let Err(stopped) = (self.check)() {
                        self.stopped = Some(stopped);
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
                read => return read,
            }
        }
    }
}
