//! Output on its way to a caller that wants it while its call runs: in numbered pieces, as they come.

use std::time::{Duration, Instant};

use toolkit::{Call, OutputPart, OutputSink};

use super::kept::{From, Kept, LookBack, Piece, Stream};
use super::process::Process;

/// The output of a command that its call waits for. A piece ends where a line does, or once it is long, so
/// that a secret in a line is whole; what follows the last newline comes at the end.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    sink: &'a dyn OutputSink,
    kept: Kept,
    sent: u64,
}

impl<'a> Live<'a> {
    /// For a call whose command runs; none if its caller does not want that.
    pub(crate) fn begin(call: &'a Call) -> Option<Self> {
        let sink = call.sink()?;
        sink.begin();
        Some(Self { sink, kept: Kept::default(), sent: 0 })
    }

    pub(crate) fn add(&mut self, stream: Stream, block: &[u8]) {
        self.kept.add(stream, block, Instant::now());
        self.send();
    }

    /// Nothing more comes.
    pub(crate) fn finish(mut self) {
        self.kept.finish_lines(Instant::now(), true);
        self.send();
    }

    fn send(&mut self) {
        let (pieces, _) = self.kept.read(From::After(self.sent));
        pass_on(self.sink, &pieces, &self.kept.look_back());
        self.sent = self.kept.last();
    }
}

impl Process {
    /// Passes on its output from there to there; waits for some, or for its end, as long as this says. The
    /// number of the last piece.
    pub fn pass_on(&self, sink: &dyn OutputSink, from: From, to: u64, wait: Duration) -> u64 {
        let mut output = self.read(from, wait, || true);
        output.pieces.retain(|piece| piece.seq <= to);
        if output.dropped_bytes > 0 {
            sink.lose(output.dropped_bytes);
        }
        pass_on(sink, &output.pieces, &output.look_back);
        match (output.pieces.last(), from) {
            (Some(piece), _) => piece.seq,
            (None, From::After(seq)) => seq,
            (None, From::Tail(_)) => output.status.last_seq,
        }
    }
}

fn pass_on(sink: &dyn OutputSink, pieces: &[Piece], look_back: &LookBack) {
    for piece in pieces {
        let (before, stream) = (look_back.before(piece), piece.stream.name());
        sink.take(OutputPart { seq: piece.seq, stream, bytes: &piece.bytes, before: &before });
    }
}
