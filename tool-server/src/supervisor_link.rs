//! The supervisor, as the tool server sees it: it answers questions of tools, and makes their effects.
//!
//! Each request goes over a stream of its own, which is passed over the one socket that this process has
//! inherited, so many can be under way, and each has its own deadline.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use process::fd_passing;
use protocol::effect::{Answer, Ask, EffectAnswer, EffectRequest, MAX_LINE_BYTES};
use protocol::{ErrorCode, EventId, SessionId, ToolError};
use toolkit::Call;

/// How long a request may wait until it is received.
const SEND: Duration = Duration::from_secs(5);

/// How long a question may take that has no call.
const QUESTION: Duration = Duration::from_secs(10);

/// How long the tool server waits to be let in again after the supervisor's rate has refused a call.
const RETRY_SECONDS: u64 = 60;

/// The socket to the supervisor.
#[derive(Debug)]
pub struct Supervisor {
    socket: UnixStream,
}

impl Supervisor {
    /// The supervisor at the other end.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_write_timeout(Some(SEND))?;
        Ok(Self { socket })
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
        let stream = self.send(request, files).map_err(|error| {
            tracing::warn!(%error, "the supervisor could not be asked");
            ToolError::new(ErrorCode::IoError, "The supervisor could not be asked; nothing was done.")
                .with_hint("Please try again in a moment.")
        })?;
        let answer = receive(stream, deadline).map_err(|error| {
            tracing::warn!(%error, "the supervisor gave no answer");
            let message = "The supervisor gave no answer, so it is not known whether this was done.";
            ToolError::new(ErrorCode::Interrupted, message)
                .with_hint("Look whether it was done before you repeat it, or ask the user.")
        })?;
        answer.map_err(|error| match error.code {
            ErrorCode::QuotaExceeded => error.with_retry_after(RETRY_SECONDS),
            _ => error,
        })
    }

    fn send(&self, request: &EffectRequest, files: &[BorrowedFd<'_>]) -> io::Result<UnixStream> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        if line.len() > MAX_LINE_BYTES {
            return Err(io::Error::other("the request is too long"));
        }
        let (mut ours, theirs) = UnixStream::pair()?;
        let descriptors: Vec<BorrowedFd<'_>> =
            [theirs.as_fd()].into_iter().chain(files.iter().copied()).collect();
        fd_passing::send(&self.socket, b'+', &descriptors)?;
        ours.set_write_timeout(Some(SEND))?;
        ours.write_all(&line)?;
        Ok(ours)
    }
}

fn receive(stream: UnixStream, deadline: Instant) -> io::Result<EffectAnswer> {
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    stream.set_read_timeout(Some(left))?;
    let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    BufReader::new(stream.take(limit)).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}

/// The error for an answer to another question.
pub(crate) fn unexpected(answer: &Answer) -> ToolError {
    tracing::error!(?answer, "the supervisor answered another question");
    ToolError::new(ErrorCode::Internal, "The supervisor gave an answer that was not asked for.")
}
