//! The supervisor on another machine, which asks for what is asked of it: it keeps a stream open, fetches the
//! files of a request, and sends the answer. This machine connects to nobody.
//!
//! What waits for an answer is sent again on a new stream. The supervisor makes an effect once for each call,
//! and a question can be asked twice.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use protocol::effect::{EffectAnswer, EffectRequest, MAX_LINE_BYTES};
use tokio::sync::watch;
use toolkit::locked;

use super::{NoAnswer, left_until};

/// How long a request waits for a supervisor that is connected.
const CONNECT: Duration = Duration::from_secs(5);

/// The requests that wait for their answers.
#[derive(Debug, Default)]
pub struct FarSupervisor {
    waiting: Mutex<Waiting>,
    /// What streams have to look at.
    changes: watch::Sender<Changes>,
}

#[derive(Debug, Default)]
struct Waiting {
    last_number: u64,
    requests: BTreeMap<u64, Request>,
}

#[derive(Debug)]
struct Request {
    line: String,
    files: Vec<Arc<File>>,
    was_sent: bool,
    answer: mpsc::Sender<EffectAnswer>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Changes {
    /// The number of the newest request.
    newest: u64,
    /// The number of the newest stream: one that was opened before it ends.
    stream: u64,
    is_closing: bool,
}

impl FarSupervisor {
    /// Asks, and waits at most until the deadline.
    pub(super) fn exchange(
        &self,
        request: &EffectRequest,
        files: &[BorrowedFd<'_>],
        deadline: Instant,
    ) -> Result<EffectAnswer, NoAnswer> {
        let (number, answered) = self.add(request, files).map_err(NoAnswer::NotAsked)?;
        let mut answer = answered.recv_timeout(left_until(deadline.min(Instant::now() + CONNECT)));
        if answer == Err(RecvTimeoutError::Timeout) && self.was_sent(number) {
            answer = answered.recv_timeout(left_until(deadline));
        }
        let request = locked(&self.waiting).requests.remove(&number);
        // An answer can have come at the last moment.
        match answer.or_else(|_| answered.try_recv()) {
            Ok(answer) => Ok(answer),
            Err(_) if request.is_some_and(|request| !request.was_sent) => {
                Err(NoAnswer::NotAsked(io::Error::other("no supervisor is connected")))
            }
            Err(_) => Err(NoAnswer::NotKnown(io::ErrorKind::TimedOut.into())),
        }
    }

    fn add(
        &self,
        request: &EffectRequest,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<(u64, mpsc::Receiver<EffectAnswer>)> {
        let line = serde_json::to_string(request)?;
        if line.len() > MAX_LINE_BYTES {
            return Err(io::Error::other("the request is too long"));
        }
        let files = files.iter().map(|file| Ok(Arc::new(File::from(file.try_clone_to_owned()?))));
        let files = files.collect::<io::Result<_>>()?;
        let (answer, answered) = mpsc::channel();
        let mut waiting = locked(&self.waiting);
        waiting.last_number += 1;
        let number = waiting.last_number;
        waiting.requests.insert(number, Request { line, files, was_sent: false, answer });
        drop(waiting);
        self.changes.send_modify(|changes| changes.newest = changes.newest.max(number));
        Ok((number, answered))
    }

    fn was_sent(&self, number: u64) -> bool {
        locked(&self.waiting).requests.get(&number).is_some_and(|request| request.was_sent)
    }

    /// A stream of the requests, beginning with all that wait. It takes the place of an earlier one.
    pub(crate) fn stream(self: &Arc<Self>) -> RequestStream {
        let mut own = 0;
        self.changes.send_modify(|changes| {
            changes.stream += 1;
            own = changes.stream;
        });
        tracing::info!("the supervisor has connected{}", if own > 1 { " again" } else { "" });
        RequestStream { supervisor: Arc::clone(self), changes: self.changes.subscribe(), own, sent: 0 }
    }

    /// The requests that wait behind this one, which are sent now.
    fn take_after(&self, sent: u64) -> Vec<(u64, String)> {
        let mut waiting = locked(&self.waiting);
        let new = waiting.requests.range_mut(sent + 1..).map(|(number, request)| {
            request.was_sent = true;
            (*number, request.line.clone())
        });
        new.collect()
    }

    /// A file of a request that waits.
    pub(crate) fn file(&self, number: u64, index: usize) -> Option<Arc<File>> {
        locked(&self.waiting).requests.get(&number)?.files.get(index).cloned()
    }

    /// Answers a request; false if it does not wait any more.
    pub(crate) fn answer(&self, number: u64, answer: EffectAnswer) -> bool {
        let request = locked(&self.waiting).requests.remove(&number);
        request.is_some_and(|request| request.answer.send(answer).is_ok())
    }

    /// Ends the stream.
    pub(crate) fn close(&self) {
        self.changes.send_modify(|changes| changes.is_closing = true);
    }
}

/// The requests, as they come.
pub(crate) struct RequestStream {
    supervisor: Arc<FarSupervisor>,
    changes: watch::Receiver<Changes>,
    own: u64,
    /// The last one that went over this stream.
    sent: u64,
}

impl RequestStream {
    /// The next requests, with their numbers; none at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Vec<(u64, String)>> {
        loop {
            let now = *self.changes.borrow_and_update();
            if now.is_closing || now.stream != self.own {
                return None;
            }
            let new = self.supervisor.take_after(self.sent);
            if let Some((last, _)) = new.last() {
                self.sent = *last;
                return Some(new);
            }
            self.changes.changed().await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use protocol::effect::{Answer, Ask};
    use protocol::{EventId, SessionId};

    use super::*;

    fn request() -> EffectRequest {
        let session = SessionId::default_session();
        EffectRequest { call: EventId::new(), session, task: None, ask: Ask::HasSeenOutside }
    }

    fn deadline(after: Duration) -> Instant {
        Instant::now() + after
    }

    #[test]
    fn without_a_supervisor_nothing_was_asked_and_with_a_silent_one_it_is_not_known() {
        let far = Arc::new(FarSupervisor::default());
        let soon = Duration::from_millis(20);
        let refused = far.exchange(&request(), &[], deadline(soon));
        assert!(matches!(refused, Err(NoAnswer::NotAsked(_))), "{refused:?}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut stream = far.stream();
        let asking = thread::spawn({
            let far = Arc::clone(&far);
            move || far.exchange(&request(), &[], deadline(Duration::from_millis(300)))
        });
        let (number, _) = runtime.block_on(stream.next()).unwrap().remove(0);
        let answer = asking.join().unwrap();
        assert!(matches!(answer, Err(NoAnswer::NotKnown(_))), "{answer:?}");
        assert!(!far.answer(number, Ok(Answer::Done)), "nobody waits for it any more");
    }

    #[test]
    fn what_waits_is_sent_again_on_a_new_stream_which_ends_the_old_one() {
        let far = Arc::new(FarSupervisor::default());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut first = far.stream();
        let asking = thread::spawn({
            let far = Arc::clone(&far);
            move || far.exchange(&request(), &[], deadline(Duration::from_secs(30)))
        });
        let seen = runtime.block_on(first.next()).unwrap();
        let mut second = far.stream();
        assert_eq!(runtime.block_on(second.next()), Some(seen.clone()));
        assert_eq!(runtime.block_on(first.next()), None);
        assert!(far.answer(seen[0].0, Ok(Answer::Yes { yes: true })));
        assert_eq!(asking.join().unwrap().unwrap(), Ok(Answer::Yes { yes: true }));
        far.close();
        assert_eq!(runtime.block_on(second.next()), None);
    }
}
