//! Processes are killed at random while several chats write: a short version of `make crash`.

use harness::crash::CrashTest;

#[test]
fn nothing_is_lost_whichever_process_is_killed_whenever() {
    let seed = protocol::now_ms().unsigned_abs();
    let report = CrashTest { rounds: 8, chats: 5, copies: 4, seed }.run(|_| ());
    assert!(report.holds(), "seed {seed}\n{report}");
}
