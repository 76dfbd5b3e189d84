//! What a kill between two steps leaves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use protocol::journal::{CallEnded, CallReplayed, CallStarted};
use serde_json::{from_value, json};

use super::*;

/// Keeps what it is given, unless the process "is killed" before that.
#[derive(Default)]
struct Mortal {
    is_killed: AtomicBool,
    kept: Mutex<Vec<(EventId, &'static str)>>,
}

impl Recorder for Mortal {
    fn started(&self, _: &CallIds, _: CallStarted) -> io::Result<()> {
        Ok(())
    }

    fn replayed(&self, _: &CallIds, _: CallReplayed) -> io::Result<()> {
        Ok(())
    }

    fn approval(&self, _: &CallIds, id: EventId, body: RecordBody) -> io::Result<()> {
        // Nothing behind a panic is run, as nothing is behind a kill.
        assert!(!self.is_killed.load(Ordering::SeqCst), "killed");
        let kind = match body {
            RecordBody::ApprovalRequested(_) => "requested",
            RecordBody::ApprovalGranted(_) => "granted",
            RecordBody::ApprovalExpired(_) => "expired",
            _ => "other",
        };
        locked(&self.kept).push((id, kind));
        Ok(())
    }

    fn ended(&self, _: &CallIds, _: CallEnded) {}
}

/// A call of `bash` that a rule asks about.
fn asked(now: i64) -> Approval {
    from_value(json!({
        "id": EventId::new(), "state": "pending", "tool": "bash", "risk": "medium", "arguments": {},
        "preview": "touch x", "reason": "", "rule": "", "session": "s", "task_id": null, "token": "caller",
        "digest": "d", "created_at_ms": now, "expires_at_ms": now,
    }))
    .expect("an approval")
}

fn wanted() -> Wanted {
    Wanted {
        tool: "bash".to_owned(),
        session: from_value(json!("s")).expect("a session"),
        task_id: None,
        rules: vec![
            from_value(json!({"rule": "r", "digest": "d", "about": "bash", "can_last": false}))
                .expect("a rule"),
        ],
        hosts: Vec::new(),
        is_scheduled: false,
        circumstances: Vec::new(),
        finds_answer_again: false,
    }
}

#[test]
fn a_kill_between_a_state_and_its_record_leaves_no_state_without_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let recorder = Arc::new(Mortal::default());
    let open = |timeout| {
        Approvals::open(directory.path(), Arc::clone(&recorder) as Arc<dyn Recorder>, timeout, timeout)
            .expect("approvals")
    };
    let killed_in = |step: &dyn Fn()| {
        recorder.is_killed.store(true, Ordering::SeqCst);
        assert!(catch_unwind(AssertUnwindSafe(step)).is_err(), "the step needs a record");
        recorder.is_killed.store(false, Ordering::SeqCst);
    };
    let kinds = || locked(&recorder.kept).iter().map(|(_, kind)| *kind).collect::<Vec<_>>();
    let hour = Duration::from_secs(3600);

    let approvals = open(hour);
    killed_in(&|| drop(approvals.ask(&wanted(), asked)));
    let approvals = open(hour);
    approvals.expire_now().expect("the record is made");
    assert_eq!(kinds(), ["requested"]);
    let id = approvals.list().first().expect("the request outlived the kill").id.clone();
    assert_eq!(locked(&recorder.kept)[0].0, id, "a request's record has its ID");

    let yes = || from_value(json!({"decision": "grant"})).expect("a decision");
    killed_in(&|| drop(approvals.decide(&id, yes())));
    let approvals = open(hour);
    approvals.expire_now().expect("the record is made");
    assert_eq!(kinds(), ["requested", "granted"]);
    assert_eq!(approvals.get(&id).expect("it is kept").state, ApprovalState::Granted);

    // Each record is made once.
    open(hour).expire_now().expect("nothing is owed");
    assert_eq!(kinds(), ["requested", "granted"]);
}
