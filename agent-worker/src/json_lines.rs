//! The lines between supervisor and worker: one bounded JSON object each, in both directions at once.
//!
//! Reading and writing run as separate tasks, so that a cancel is seen while a result is being written.
//! [`crate::serve`] decides what a line means.

use protocol::{FromWorker, MAX_LINE_BYTES, ToWorker};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

/// How many lines are buffered before the writer waits.
const WAITING_LINES: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("a line on stdin is not a valid message to a worker: {0}")]
    Malformed(#[source] serde_json::Error),
    #[error("a line on stdin is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    #[error("cannot read stdin: {0}")]
    Unreadable(#[source] std::io::Error),
}

/// The messages that arrive. The channel ends with the input or after the first error.
pub(crate) fn incoming(
    input: impl AsyncRead + Unpin + Send + 'static,
) -> mpsc::Receiver<Result<ToWorker, LineError>> {
    let (sender, receiver) = mpsc::channel(WAITING_LINES);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        while let Some(message) = next(&mut input).await.transpose() {
            let last = message.is_err();
            if sender.send(message).await.is_err() || last {
                break;
            }
        }
    });
    receiver
}

/// Writes messages in the order in which they are sent. The channel closes when its reader has gone.
pub(crate) fn outgoing(mut output: impl AsyncWrite + Unpin + Send + 'static) -> mpsc::Sender<FromWorker> {
    let (sender, mut receiver) = mpsc::channel(WAITING_LINES);
    tokio::spawn(async move {
        while let Some(message) = receiver.recv().await {
            if let Err(error) = write(&mut output, &message).await {
                tracing::error!(%error, "cannot write to stdout");
                break;
            }
        }
    });
    sender
}

/// The next message; none at the end of the input. A last line without a newline was cut off when the
/// supervisor died, and counts as the end.
async fn next(input: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<ToWorker>, LineError> {
    let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    input.take(limit).read_until(b'\n', &mut line).await.map_err(LineError::Unreadable)?;
    if line.last() != Some(&b'\n') {
        return if line.len() < MAX_LINE_BYTES { Ok(None) } else { Err(LineError::TooLong) };
    }
    serde_json::from_slice(&line).map(Some).map_err(LineError::Malformed)
}

async fn write(output: &mut (impl AsyncWrite + Unpin), message: &FromWorker) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(input: &'static [u8]) -> Vec<Result<ToWorker, String>> {
        let mut messages = incoming(input);
        let mut read = Vec::new();
        while let Some(message) = messages.recv().await {
            read.push(message.map_err(|error| error.to_string()));
        }
        read
    }

    #[tokio::test]
    async fn lines_are_read_until_the_input_ends() {
        let read = read(b"{\"type\":\"cancel\",\"task_id\":\"a\"}\n{\"type\":\"canc").await;
        assert_eq!(read, [Ok(ToWorker::Cancel { task_id: "a".parse().unwrap() })]);
    }

    #[tokio::test]
    async fn nothing_is_read_after_a_malformed_line() {
        let read = read(b"{\"type\":\"dance\"}\n{\"type\":\"cancel\",\"task_id\":\"a\"}\n").await;
        assert_eq!(read.len(), 1);
        assert!(read[0].as_ref().unwrap_err().starts_with("a line on stdin is not a valid message"));
    }

    #[tokio::test]
    async fn an_endless_line_is_refused() {
        let mut messages = incoming(tokio::io::repeat(b' '));
        assert!(matches!(messages.recv().await, Some(Err(LineError::TooLong))));
    }
}
