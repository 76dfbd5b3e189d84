//! Denied names and control files, as commands meet them.

use std::fs;

use crate::place::{Place, Setting};

fn tier_a() -> impl Iterator<Item = Setting> {
    Setting::all().into_iter().filter(|setting| !setting.tier_b())
}

fn tier_b() -> impl Iterator<Item = Setting> {
    Setting::all().into_iter().filter(|setting| setting.tier_b())
}

const REPOSITORY: &str =
    "git init -q . && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m m";

#[test]
fn a_control_file_that_exists_is_read_only() {
    for setting in tier_a() {
        for attack in [
            "echo '#!/bin/sh' > .git/hooks/pre-commit",
            "git config core.fsmonitor 'sh -c id'",
            "echo x >> .git/config",
            "rm .git/config",
            "mv .git x; cp -r x .git; echo x > .git/hooks/pre-commit",
            "rm -rf .git/hooks; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
            "rm -rf .git; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
            "echo x > .vscode/tasks.json",
            "mv .vscode old; mkdir .vscode; echo x > .vscode/tasks.json",
            "echo x > .envrc",
            "echo x > new; mv new .envrc",
            "echo x > sub/.MCP.json",
            "echo x > .git/modules/lib/hooks/post-checkout",
        ] {
            let works = Place::new(setting);
            let before = control_content(&works);
            works.plain(attack);
            assert_ne!(control_content(&works), before, "works unheld: {attack}");

            let place = Place::new(setting);
            let before = control_content(&place);
            let held = place.held(attack);
            assert!(held.ran(), "{held:?}");
            assert_eq!(control_content(&place), before, "{setting:?}: {attack}: {held:?}");
        }
    }
}

/// Makes the control files where they are not, and reads them all.
fn control_content(place: &Place) -> Vec<Option<Vec<u8>>> {
    if !place.root().join(".git").exists() && !place.root().join("x").exists() {
        place.prepare(&format!(
            "{REPOSITORY}; mkdir -p .vscode sub .git/modules/lib/hooks; echo a > .vscode/tasks.json; echo a > .envrc; echo a > sub/.MCP.json"
        ));
    }
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".vscode/tasks.json",
        ".envrc",
        "sub/.MCP.json",
        ".git/modules/lib/hooks/post-checkout",
    ]
    .iter()
    .map(|name| fs::read(place.root().join(name)).ok())
    .collect()
}

#[test]
fn work_in_a_repository_goes_on() {
    for setting in Setting::all() {
        let place = Place::new(setting);
        place.prepare(REPOSITORY);
        let held = place.held(
            "echo x > f && git add f && git -c user.email=a@b.c -c user.name=n commit -qm two && git branch b && git tag t && git checkout -q b && git stash list && git gc -q && git log --format=%s",
        );
        assert_eq!(held.output, "two\nm\n", "{setting:?}: {held:?}");
        assert_eq!(held.control_files(&place), Vec::<String>::new(), "{setting:?}: {held:?}");
    }
}

#[test]
fn a_control_file_that_appears_is_reported() {
    for setting in Setting::all() {
        for (script, expected) in [
            ("mkdir a && echo x > a/.envrc", &["a/.envrc"][..]),
            ("ln -s decoy .codex && mkdir decoy && echo x > .codex/config.toml", &[".codex"]),
            ("mkdir -p .Claude && echo x > .Claude/settings.json", &[".Claude"]),
            ("git init -q new && git -C new config core.fsmonitor x && touch new/.git/hooks/pre-commit", &[]),
            ("echo x > ordinary", &[]),
        ] {
            let place = Place::new(setting);
            let held = place.held(script);
            assert_eq!(held.control_files(&place), expected, "{setting:?}: {script}: {held:?}");
        }
    }
}

#[test]
fn a_repository_that_was_put_in_the_place_of_another_is_reported() {
    for setting in Setting::all() {
        let place = Place::new(setting);
        place.prepare(&format!("mkdir sub && cd sub && {REPOSITORY}"));
        let held = place.held("mv sub old; cp -r old sub; echo x > sub/.git/hooks/pre-commit");
        assert!(
            held.control_files(&place).iter().any(|path| path.starts_with("sub/.git")),
            "{setting:?}: {held:?}"
        );
    }
}

#[test]
fn a_redirected_repository_is_reported() {
    for setting in Setting::all() {
        let place = Place::new(setting);
        place.prepare(REPOSITORY);
        let held = place.held("cp -r .git evil; echo ../evil > .git/commondir");
        assert_eq!(held.control_files(&place), [".git/commondir"], "{setting:?}: {held:?}");
    }
}

#[test]
fn tier_b_reports_what_it_could_not_prevent() {
    for setting in tier_b() {
        let place = Place::new(setting);
        place.prepare(REPOSITORY);
        let held = place.held("echo x > .git/hooks/pre-commit; echo >> .git/config");
        assert_eq!(held.control_files(&place), [".git/config", ".git/hooks/pre-commit"], "{held:?}");
    }
}

#[test]
fn a_denied_name_is_hidden_from_commands() {
    for setting in tier_a() {
        let place = Place::new(setting);
        place.prepare("mkdir -p sub/.ssh; echo KEY > sub/.ssh/id; echo KEY > .env; echo fine > other");
        assert!(String::from_utf8(place.plain("cat .env sub/.ssh/id").stdout).unwrap().contains("KEY"));
        let script = "cat .env sub/.ssh/id other; ls sub/.ssh; rm -f .env; mv .env y; cp -r . /tmp/all; cat /tmp/all/.env";
        let held = place.held_with(&["--deny", ".env", "--deny", ".ssh"], script);
        assert_eq!(held.output, "fine\n", "{setting:?}: {held:?}");
        assert_eq!(fs::read_to_string(place.root().join(".env")).unwrap(), "KEY\n", "{setting:?}");
    }
}
