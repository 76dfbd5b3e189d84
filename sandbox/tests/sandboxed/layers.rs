//! Layers that are really missing: the sandbox falls back to the lower tier, or no command runs and the
//! error says why.

use crate::fixture::{Fixture, Scenario};

fn check(scenario: Scenario, options: &[&str], expected: &str) {
    let run = Fixture::new(scenario).run_program(options, &["/bin/true"]);
    assert!(run.report.contains(expected), "expected {expected:?}: {run:?}");
    assert_eq!(run.was_executed(), expected.starts_with("tier"), "{run:?}");
}

#[test]
fn a_missing_layer_lowers_the_tier_or_refuses_all_commands() {
    use Scenario::{OrdinaryInTierA, OrdinaryInTierB};
    let unavailable = "error the required sandbox is not available here";
    for (scenario, options, expected) in [
        (OrdinaryInTierA, &["--without", "namespaces"][..], "tier B"),
        (OrdinaryInTierA, &["--without", "mounts"], "tier B"),
        (OrdinaryInTierA, &["--without", "namespaces", "--full"], unavailable),
        (OrdinaryInTierA, &["--without", "mounts", "--full"], unavailable),
        (OrdinaryInTierA, &["--without", "landlock"], "tier A"),
        (OrdinaryInTierB, &["--without", "landlock"], unavailable),
        (OrdinaryInTierA, &["--without", "seccomp", "--full"], unavailable),
    ] {
        check(scenario, options, expected);
    }
    for scenario in Scenario::all() {
        check(scenario, &["--without", "seccomp"], "could not install the system call filter");
        if scenario.is_root() {
            let refused = "could not run without namespaces as an ordinary user";
            check(scenario, &["--without", "namespaces"], refused);
            check(scenario, &["--landlock"], refused);
        }
    }
}

#[test]
fn the_self_check_finds_no_escape() {
    for fixture in Fixture::all() {
        let run = fixture.run_program(&["--check-full"], &[]);
        assert!(run.report.contains("escape false"), "{run:?}");
        assert!(!run.report.contains("finding Broken"), "{run:?}");
        assert!(run.report.matches("finding Holds").count() >= 20, "{run:?}");
        assert_eq!(run.report.contains("finding StatedLoss"), fixture.scenario.is_tier_b(), "{run:?}");
    }
}
