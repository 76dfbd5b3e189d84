//! The JSON lines between supervisor and worker. Both directions run at once, so that a full pipe never
//! blocks both sides.

use protocol::{FromWorker, MAX_LINE_BYTES, ToWorker};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// Lines that may wait to be written or handled.
const QUEUE_LENGTH: usize = 64;

/// A running worker's stdin and stdout. Dropping it closes stdin, which tells the worker to exit.
#[derive(Debug)]
pub(crate) struct WorkerLink {
    outgoing: mpsc::Sender<Vec<u8>>,
    incoming: mpsc::Receiver<Result<FromWorker, LineError>>,
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
        let reading = tokio::spawn(read_messages(BufReader::new(stdout), to_handle));
        let _tasks = [writing, reading].map(AbortOnDropHandle::new);
        Self { outgoing, incoming, _tasks }
    }

    pub(crate) async fn send(&self, message: &ToWorker) -> Result<(), LineError> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        if line.len() > MAX_LINE_BYTES {
            return Err(LineError::TooLongToSend);
        }
        self.outgoing.send(line).await.map_err(|_| LineError::Closed)
    }

    /// The next message; none when the worker has closed its output.
    pub(crate) async fn next(&mut self) -> Option<Result<FromWorker, LineError>> {
        self.incoming.recv().await
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
    mut stdout: impl AsyncBufRead + Unpin,
    messages: mpsc::Sender<Result<FromWorker, LineError>>,
) {
    let mut line = Vec::new();
    loop {
        let message = match read_line(&mut stdout, &mut line).await {
            Ok(true) => serde_json::from_slice(&line).map_err(LineError::from),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        let broken = message.is_err();
        if messages.send(message).await.is_err() || broken {
            return;
        }
    }
}

/// Reads one line without its newline. Returns false at the end; a last line without a newline was cut off
/// when the worker exited, and is ignored.
async fn read_line(reader: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> Result<bool, LineError> {
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

    async fn messages_of(output: &'static [u8]) -> Vec<Result<FromWorker, String>> {
        let mut link = WorkerLink::new(tokio::io::sink(), output);
        let mut messages = Vec::new();
        while let Some(message) = link.next().await {
            messages.push(message.map_err(|error| error.to_string()));
        }
        messages
    }

    #[tokio::test]
    async fn messages_come_in_order_and_a_cut_last_line_is_ignored() {
        let messages = messages_of(b"{\"type\":\"heartbeat\"}\n{\"type\":\"heartbeat\"}\n{\"type\":").await;
        assert_eq!(messages.len(), 2);
        assert!(messages.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn nothing_is_read_after_an_invalid_message() {
        let messages = messages_of(b"hello\n{\"type\":\"heartbeat\"}\n").await;
        assert!(
            messages.len() == 1 && messages[0].as_ref().is_err_and(|error| error.contains("invalid message"))
        );
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_refused_before_it_is_all_there() {
        let endless = tokio::io::repeat(b'x');
        let mut link = WorkerLink::new(tokio::io::sink(), endless);
        assert!(matches!(link.next().await, Some(Err(LineError::TooLong))));
    }
}
