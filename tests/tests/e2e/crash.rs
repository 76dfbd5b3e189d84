//! The plug is pulled again and again while several chats write: a short version of `make crash`.

use harness::crash::CrashTest;

#[test]
fn nothing_is_lost_when_any_process_is_killed_at_any_moment() {
    let seed = protocol::now_ms().unsigned_abs();
    let report = CrashTest { rounds: 8, chats: 5, copies: 4, seed }.run(|_| ());
    assert!(report.holds(), "seed {seed}\n{report}");
}
