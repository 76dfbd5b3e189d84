//! A family uses one bot while its processes are killed and its network breaks: a short version of
//! `make crowd PART=family`.

use harness::family::FamilyTest;

#[test]
fn everybody_is_answered_once_and_in_order_and_never_left_without_a_sign() {
    let report = FamilyTest { days: 2, seed: 25 }.run(|_| ());
    assert!(report.holds(), "{report}");
}
