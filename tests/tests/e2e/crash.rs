//! Processes are killed at random while several chats write: a short version of `make crash`.

use harness::crash::CrashTest;

#[test]
fn nothing_is_lost_whichever_process_is_killed_whenever() {
    for workers in [1, 4] {
        let seed = protocol::now_ms().unsigned_abs();
        let report = CrashTest { rounds: 5, chats: 5, workers, copies: 3, seed }.run(|_| ());
        assert!(report.holds(), "{workers} workers, seed {seed}\n{report}");
    }
}
