//! The calls whose commands run, on the disk: a server that was killed knows at its next start which commands
//! have not been checked.
//!
//! One file with a slot for each call. To write a slot costs a tenth of creating and deleting a file, and it
//! survives a killed server as well: in the page cache, whole, because it lies within one page. A slot that
//! cannot be read counts as a call.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use protocol::{EventId, SessionId};
use serde::{Deserialize, Serialize};
use toolkit::locked;

/// The call that a command runs for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GuardedCall {
    /// The call.
    pub call_id: EventId,
    /// Its session.
    pub session_id: SessionId,
    /// The name of its token; none of the server's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<String>,
    /// The tool that it calls.
    pub tool: String,
    /// The ID of the background process that it started.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub process: Option<String>,
}

/// Two IDs of 128 characters, even if all of them are escaped, fit in; and a page has whole slots.
const SLOT_BYTES: usize = 512;

const EMPTY: [u8; SLOT_BYTES] = [0; SLOT_BYTES];

#[derive(Debug)]
pub(super) struct RunningCalls {
    file: File,
    slots: Mutex<Vec<Option<GuardedCall>>>,
}

impl RunningCalls {
    /// Opens the file, with the calls that a killed server left in it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let slots = bytes.chunks(SLOT_BYTES).map(read_slot).collect();
        Ok(Self { file, slots: Mutex::new(slots) })
    }

    /// Notes a call; one that is noted already stays so.
    pub(super) fn begin(&self, call: &GuardedCall) -> io::Result<()> {
        let mut slots = self.slots();
        if slots.iter().flatten().any(|noted| noted == call) {
            return Ok(());
        }
        let text = serde_json::to_vec(call)?;
        let mut slot = EMPTY;
        let place = slot.get_mut(..text.len()).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        place.copy_from_slice(&text);
        let index = slots.iter().position(Option::is_none).unwrap_or(slots.len());
        self.write(index, &slot)?;
        match slots.get_mut(index) {
            Some(free) => *free = Some(call.clone()),
            None => slots.push(Some(call.clone())),
        }
        Ok(())
    }

    pub(super) fn end(&self, call: &GuardedCall) -> io::Result<()> {
        let mut slots = self.slots();
        if let Some(index) = slots.iter().position(|noted| noted.as_ref() == Some(call)) {
            self.write(index, &EMPTY)?;
            slots[index] = None;
        }
        Ok(())
    }

    /// All calls that have begun and not ended.
    pub(super) fn all(&self) -> BTreeSet<GuardedCall> {
        self.slots().iter().flatten().cloned().collect()
    }

    fn write(&self, index: usize, slot: &[u8; SLOT_BYTES]) -> io::Result<()> {
        let offset = u64::try_from(index * SLOT_BYTES).map_err(io::Error::other)?;
        self.file.write_all_at(slot, offset)
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Option<GuardedCall>>> {
        locked(&self.slots)
    }
}

fn read_slot(slot: &[u8]) -> Option<GuardedCall> {
    let end = slot.iter().rposition(|byte| *byte != 0)?;
    let unnamed = || GuardedCall {
        call_id: EventId::new(),
        session_id: SessionId::default_session(),
        token: None,
        tool: String::new(),
        process: None,
    };
    Some(serde_json::from_slice(&slot[..=end]).unwrap_or_else(|_| unnamed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(session: &str) -> GuardedCall {
        let session_id = session.parse().unwrap();
        let process = Some("p-0123abcd".to_owned());
        let token = Some("t".repeat(40));
        GuardedCall { call_id: EventId::new(), session_id, token, tool: "bash".to_owned(), process }
    }

    #[test]
    fn calls_that_have_not_ended_are_found_by_the_next_server() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("running");
        let [first, second, third] = ["a", &"\\".repeat(128), "c"].map(call);
        let running = RunningCalls::open(&path).unwrap();
        assert_eq!(running.all(), BTreeSet::new());
        for call in [&first, &first, &second] {
            running.begin(call).unwrap();
        }
        assert_eq!(RunningCalls::open(&path).unwrap().all(), BTreeSet::from([first.clone(), second.clone()]));

        let next = RunningCalls::open(&path).unwrap();
        next.end(&first).unwrap();
        next.end(&third).unwrap();
        next.begin(&third).unwrap();
        assert_eq!(RunningCalls::open(&path).unwrap().all(), BTreeSet::from([second.clone(), third.clone()]));
        assert_eq!(path.metadata().unwrap().len(), 2 * 512, "a free slot is used again");
        next.end(&second).unwrap();
        next.end(&third).unwrap();
        assert_eq!(RunningCalls::open(&path).unwrap().all(), BTreeSet::new());
    }

    #[test]
    fn what_cannot_be_read_counts_as_a_call_until_it_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("running");
        std::fs::write(&path, [&EMPTY[..], b"{\"call_id\":"].concat()).unwrap();
        let running = RunningCalls::open(&path).unwrap();
        let calls = running.all();
        assert_eq!(calls.len(), 1);
        calls.iter().for_each(|call| running.end(call).unwrap());
        assert_eq!(RunningCalls::open(&path).unwrap().all(), BTreeSet::new());
    }

    #[test]
    fn a_call_that_cannot_be_noted_is_an_error() {
        let running = RunningCalls { file: File::open("/dev/null").unwrap(), slots: Mutex::default() };
        assert!(running.begin(&call("a")).is_err());
        assert_eq!(running.all(), BTreeSet::new());
    }
}
