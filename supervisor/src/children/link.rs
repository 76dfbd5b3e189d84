//! The JSON lines between supervisor and worker. Both directions run at once, so that a full pipe never
//! blocks both sides.

use protocol::{FromWorker, MAX_LINE_BYTES, ToWorker};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// Lines that may wait to be written or handled.
const QUEUE_LENGTH: usize = 64;

/// Read at once: as much as a pipe holds (pipe(7)).
const READ_BYTES: usize = 64 << 10;

/// The messages that one read found, in order.
pub(crate) type Messages = Vec<FromWorker>;

/// A running worker's stdin and stdout. Dropping it closes stdin, which tells the worker to exit.
#[derive(Debug)]
pub(crate) struct WorkerLink {
    outgoing: mpsc::Sender<Vec<u8>>,
    incoming: mpsc::Receiver<Result<Messages, LineError>>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("could not read its output: {0}")]
    Read(#[from] std::io::Error),
    #[error("it sent a line of more than {MAX_LINE_BYTES} bytes")]
    TooLong,
    #[error("it sent an invalid message: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("a message to it has more than {MAX_LINE_BYTES} bytes")]
    TooLongToSend,
    #[error("it accepts no more messages")]
    Closed,
}

impl WorkerLink {
    pub(crate) fn new(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let (outgoing, to_write) = mpsc::channel(QUEUE_LENGTH);
        let (to_handle, incoming) = mpsc::channel(QUEUE_LENGTH);
        let writing = tokio::spawn(write_lines(stdin, to_write));
        let reading = tokio::spawn(read_messages(BufReader::with_capacity(READ_BYTES, stdout), to_handle));
        let _tasks = [writing, reading].map(AbortOnDropHandle::new);
        Self { outgoing, incoming, _tasks }
    }

    pub(crate) async fn send(&self, message: &ToWorker) -> Result<(), LineError> {
        self.sender().send(message).await
    }

    /// What sends beside this link, while the worker accepts messages.
    pub(crate) fn sender(&self) -> LinkSender {
        LinkSender(self.outgoing.downgrade())
    }

    /// The next messages, at least one; none when the worker has closed its output.
    pub(crate) async fn next(&mut self) -> Option<Result<Messages, LineError>> {
        self.incoming.recv().await
    }
}

/// Sends messages while the link is there; it does not keep the worker's stdin open.
#[derive(Debug, Clone)]
pub(crate) struct LinkSender(mpsc::WeakSender<Vec<u8>>);

impl LinkSender {
    pub(crate) async fn send(&self, message: &ToWorker) -> Result<(), LineError> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        if line.len() > MAX_LINE_BYTES {
            return Err(LineError::TooLongToSend);
        }
        let outgoing = self.0.upgrade().ok_or(LineError::Closed)?;
        outgoing.send(line).await.map_err(|_| LineError::Closed)
    }
}

async fn write_lines(mut stdin: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        // A worker that exited is noticed by the end of its output.
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read_messages(
    mut stdout: BufReader<impl AsyncRead + Unpin>,
    to_handle: mpsc::Sender<Result<Messages, LineError>>,
) {
    let mut line = Vec::new();
    loop {
        let (messages, end) = read_together(&mut stdout, &mut line).await;
        if !messages.is_empty() && to_handle.send(Ok(messages)).await.is_err() {
            return;
        }
        match end {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                // Their receiver may have gone away.
                let _ = to_handle.send(Err(error)).await;
                return;
            }
        }
    }
}

/// Waits for a line, and takes those that came with it. Returns whether more may follow.
async fn read_together(
    stdout: &mut BufReader<impl AsyncRead + Unpin>,
    line: &mut Vec<u8>,
) -> (Messages, Result<bool, LineError>) {
    let mut messages = Vec::new();
    loop {
        match read_line(stdout, line).await {
            Ok(true) => {}
            end => return (messages, end),
        }
        match serde_json::from_slice(line) {
            Ok(message) => messages.push(message),
            Err(error) => return (messages, Err(error.into())),
        }
        if !stdout.buffer().contains(&b'\n') {
            return (messages, Ok(true));
        }
    }
}

/// Reads one line without its newline. Returns false at the end; a last line without a newline was cut off
/// when the worker exited, and is ignored.
async fn read_line(
    reader: &mut BufReader<impl AsyncRead + Unpin>,
    line: &mut Vec<u8>,
) -> Result<bool, LineError> {
    line.clear();
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(false);
        }
        let newline = available.iter().position(|byte| *byte == b'\n');
        let taken = newline.map_or(available.len(), |at| at + 1);
        if line.len() + taken > MAX_LINE_BYTES {
            return Err(LineError::TooLong);
        }
        line.extend_from_slice(&available[..newline.unwrap_or(taken)]);
        reader.consume(taken);
        if newline.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEARTBEAT: &[u8] = b"{\"type\":\"heartbeat\"}\n";

    /// How many messages each read found, and why reading ended, if it was an error.
    async fn reads_of(output: impl AsyncRead + Send + Unpin + 'static) -> (Vec<usize>, Option<LineError>) {
        let mut link = WorkerLink::new(tokio::io::sink(), output);
        let mut reads = Vec::new();
        while let Some(read) = link.next().await {
            match read {
                Ok(messages) => reads.push(messages.len()),
                Err(error) => return (reads, Some(error)),
            }
        }
        (reads, None)
    }

    #[tokio::test]
    async fn what_comes_in_one_read_is_handed_on_together_and_a_cut_last_line_is_ignored() {
        let together = [HEARTBEAT, HEARTBEAT, b"{\"type\":"].concat();
        let (reads, error) = reads_of(std::io::Cursor::new(together)).await;
        assert!(reads == [2] && error.is_none(), "{reads:?} {error:?}");
    }

    #[tokio::test]
    async fn a_message_does_not_wait_for_the_rest_of_the_next_one() {
        let first = [HEARTBEAT, b"{\"type\":"].concat();
        let (mut worker, output) = tokio::io::duplex(READ_BYTES);
        let mut link = WorkerLink::new(tokio::io::sink(), output);
        worker.write_all(&first).await.unwrap();
        assert_eq!(link.next().await.unwrap().unwrap().len(), 1);
        worker.write_all(b"\"heartbeat\"}\n").await.unwrap();
        assert_eq!(link.next().await.unwrap().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn nothing_is_read_after_an_invalid_message() {
        let (reads, error) =
            reads_of(std::io::Cursor::new([HEARTBEAT, b"hello\n", HEARTBEAT].concat())).await;
        assert!(reads == [1] && matches!(error, Some(LineError::Malformed(_))), "{reads:?} {error:?}");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_refused_before_it_is_all_there() {
        let (reads, error) = reads_of(tokio::io::repeat(b'x')).await;
        assert!(reads.is_empty() && matches!(error, Some(LineError::TooLong)), "{error:?}");
    }
}
