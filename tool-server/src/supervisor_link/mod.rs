//! The supervisor, as the tool server sees it: it answers questions of tools, and makes their effects.
//!
//! Many requests can be under way, and each has its own deadline. They go over a socket to the supervisor
//! that has started this process, or wait for one on another machine to fetch them.

mod far;
mod socket;

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use listenfd::ListenFd;
use protocol::effect::{Answer, Ask, EffectRequest};
use protocol::{ErrorCode, EventId, SessionId, ToolError};
use rustix::net::{AddressFamily, SocketType};
use toolkit::Call;

pub use far::FarSupervisor;
pub(crate) use far::RequestStream;
use socket::Socket;

/// How long a question may take that has no call.
const QUESTION: Duration = Duration::from_secs(10);

/// How long the tool server waits to be let in again after the supervisor's rate has refused a call.
const RETRY_SECONDS: u64 = 60;

/// The way to the supervisor.
#[derive(Debug)]
pub(crate) enum Supervisor {
    Socket(Socket),
    Far(Arc<FarSupervisor>),
}

/// Why a request has no answer.
#[derive(Debug)]
enum NoAnswer {
    /// It did not reach the supervisor.
    NotAsked(io::Error),
    /// It may have.
    NotKnown(io::Error),
}

impl Supervisor {
    /// The one that has given a socket to itself behind the one that is listened on, or one on another
    /// machine, which connects to this one.
    pub(crate) fn of(inherited: &mut ListenFd, is_far: bool) -> anyhow::Result<Option<Self>> {
        if is_far {
            return Ok(Some(Self::Far(Arc::default())));
        }
        let (family, kind) =
            (i32::from(AddressFamily::UNIX.as_raw()), SocketType::STREAM.as_raw().cast_signed());
        let socket: Option<UnixStream> = inherited
            .take_custom(1, family, kind, "unix stream socket")
            .context("LISTEN_FDS has no second socket to a supervisor")?;
        let socket = socket.map(Socket::new).transpose().context("cannot use the supervisor's socket")?;
        Ok(socket.map(Self::Socket))
    }

    /// What the one on another machine connects to.
    pub(crate) fn as_far(&self) -> Option<Arc<FarSupervisor>> {
        match self {
            Self::Far(far) => Some(Arc::clone(far)),
            Self::Socket(_) => None,
        }
    }

    /// Asks for a call. Waits at most until the call's deadline, and then as well if its caller has gone.
    pub(crate) fn ask(&self, call: &Call, ask: Ask) -> Result<Answer, ToolError> {
        self.ask_with(call, ask, &[])
    }

    /// The same with open files.
    pub(crate) fn ask_with(
        &self,
        call: &Call,
        ask: Ask,
        files: &[BorrowedFd<'_>],
    ) -> Result<Answer, ToolError> {
        let (id, session) = (call.id.clone(), call.scope.session().clone());
        let request = EffectRequest { call: id, session, task: call.task.clone(), ask };
        self.exchange(&request, files, call.deadline)
    }

    /// Asks a question about a session, for the operator's rules.
    pub(crate) fn question(&self, session: &SessionId, ask: Ask) -> Result<Answer, ToolError> {
        let request = EffectRequest { call: EventId::new(), session: session.clone(), task: None, ask };
        self.exchange(&request, &[], Instant::now() + QUESTION)
    }

    fn exchange(
        &self,
        request: &EffectRequest,
        files: &[BorrowedFd<'_>],
        deadline: Instant,
    ) -> Result<Answer, ToolError> {
        let answer = match self {
            Self::Socket(socket) => socket.exchange(request, files, deadline),
            Self::Far(far) => far.exchange(request, files, deadline),
        };
        let answer = answer.map_err(|none| match none {
            NoAnswer::NotAsked(error) => {
                tracing::warn!(%error, "the supervisor could not be asked");
                ToolError::new(ErrorCode::IoError, "The supervisor could not be asked; nothing was done.")
                    .with_hint("Please try again in a moment.")
            }
            NoAnswer::NotKnown(error) => {
                tracing::warn!(%error, "the supervisor gave no answer");
                let message = "The supervisor gave no answer, so it is not known whether this was done.";
                ToolError::new(ErrorCode::Interrupted, message)
                    .with_hint("Look whether it was done before you repeat it, or ask the user.")
            }
        })?;
        answer.map_err(|error| match error.code {
            ErrorCode::QuotaExceeded => error.with_retry_after(RETRY_SECONDS),
            _ => error,
        })
    }
}

/// The time to a deadline; never none, which a socket takes for no limit.
fn left_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

/// The error for an answer to another question.
pub(crate) fn unexpected(answer: &Answer) -> ToolError {
    tracing::error!(?answer, "the supervisor answered another question");
    ToolError::new(ErrorCode::Internal, "The supervisor gave an answer that was not asked for.")
}
