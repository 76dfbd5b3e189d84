//! Layers that are really taken away: the tier falls as designed, or no command runs and the reason is said.

use crate::place::{Held, Place, Setting};

fn start(setting: Setting, options: &[&str]) -> Held {
    let place = Place::new(setting);
    Held::from(place.command(options, &["/bin/true"]).output().unwrap())
}

fn check(setting: Setting, options: &[&str], expected: &str) {
    let held = start(setting, options);
    assert!(held.report.contains(expected), "{setting:?} with {options:?}: {held:?}");
    assert_eq!(held.ran(), expected.starts_with("tier"), "{setting:?} with {options:?}: {held:?}");
}

/// A setting that does not ask for tier B by itself.
fn ordinary() -> Setting {
    Setting::OrdinaryInTierA
}

#[test]
fn without_namespaces_the_tier_falls_and_full_refuses() {
    for layer in ["namespaces", "mounts"] {
        check(ordinary(), &["--without", layer], "tier B");
        check(
            ordinary(),
            &["--without", layer, "--full"],
            "error the sandbox that was demanded cannot be had here",
        );
    }
}

#[test]
fn without_landlock_tier_a_stands_and_tier_b_is_refused() {
    check(ordinary(), &["--without", "landlock"], "tier A");
    check(Setting::OrdinaryInTierB, &["--without", "landlock"], "error the sandbox");
}

#[test]
fn without_a_system_call_filter_no_command_runs() {
    for setting in Setting::all() {
        check(setting, &["--without", "seccomp"], "could not put the system call filter in force");
    }
    check(ordinary(), &["--without", "seccomp", "--full"], "error the sandbox that was demanded");
}

#[test]
fn root_without_namespaces_gets_no_commands() {
    for setting in Setting::all().into_iter().filter(|setting| setting.is_root()) {
        check(setting, &["--without", "namespaces"], "could not run without namespaces as an ordinary user");
        check(setting, &["--landlock"], "could not run without namespaces as an ordinary user");
    }
}

#[test]
fn the_self_check_finds_no_escape() {
    for setting in Setting::all() {
        let place = Place::new(setting);
        let held = Held::from(place.command(&["--check-full"], &[]).output().unwrap());
        assert!(held.report.contains("escape false"), "{setting:?}: {held:?}");
        assert!(!held.report.contains("finding Broken"), "{setting:?}: {held:?}");
        assert!(held.report.matches("finding Holds").count() >= 20, "{setting:?}: {held:?}");
        assert_eq!(held.report.contains("finding StatedLoss"), setting.tier_b(), "{setting:?}: {held:?}");
    }
}
