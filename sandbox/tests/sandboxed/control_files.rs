//! How commands meet denied names and control files.

use std::fs;

use crate::fixture::{Fixture, Scenario};

const REPOSITORY: &str =
    "git init -q . && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m m";

#[test]
fn an_existing_control_file_is_read_only() {
    for scenario in Scenario::all().into_iter().filter(|scenario| !scenario.is_tier_b()) {
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
            let fixture = Fixture::new(scenario);
            let before = control_content(&fixture);
            fixture.run_plain(attack);
            assert_ne!(control_content(&fixture), before, "works without the sandbox: {attack}");

            let fixture = Fixture::new(scenario);
            let before = control_content(&fixture);
            let run = fixture.run(attack);
            assert!(run.was_executed(), "{run:?}");
            assert_eq!(control_content(&fixture), before, "{run:?}");
        }
    }
}

/// Creates the control files where there are none, and reads them all.
fn control_content(fixture: &Fixture) -> Vec<Option<Vec<u8>>> {
    if !fixture.root().join(".git").exists() && !fixture.root().join("x").exists() {
        fixture.prepare(&format!(
            "{REPOSITORY}; mkdir -p .vscode sub .git/modules/lib/hooks; \
             echo a | tee .vscode/tasks.json .envrc sub/.MCP.json"
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
    .map(|name| fs::read(fixture.root().join(name)).ok())
    .collect()
}

#[test]
fn work_in_a_repository_is_not_hindered() {
    for fixture in Fixture::all() {
        fixture.prepare(REPOSITORY);
        let run = fixture.run(
            "echo x > f && git add f && git -c user.email=a@b.c -c user.name=n commit -qm two && \
             git branch b && git tag t && git checkout -q b && git stash list && git gc -q && \
             git log --format=%s",
        );
        assert_eq!(run.output, "two\nm\n", "{run:?}");
        assert_eq!(run.control_files(&fixture), Vec::<String>::new(), "{run:?}");
    }
}

#[test]
fn a_new_control_file_is_reported() {
    for (script, expected) in [
        ("mkdir a && echo x > a/.envrc", &["a/.envrc"][..]),
        ("ln -s decoy .codex && mkdir decoy && echo x > .codex/config.toml", &[".codex"]),
        ("mkdir -p .Claude && echo x > .Claude/settings.json", &[".Claude"]),
        ("git init -q new && git -C new config core.fsmonitor x && touch new/.git/hooks/pre-commit", &[]),
        ("echo x > ordinary", &[]),
    ] {
        for fixture in Fixture::all() {
            let run = fixture.run(script);
            assert_eq!(run.control_files(&fixture), expected, "{run:?}");
        }
    }
}

#[test]
fn a_replaced_or_redirected_repository_is_reported() {
    for fixture in Fixture::all() {
        fixture.prepare(&format!("{REPOSITORY}; mkdir sub && cd sub && {REPOSITORY}"));
        let run = fixture.run("mv sub old; cp -r old sub; echo x > sub/.git/hooks/pre-commit");
        let reported = run.control_files(&fixture);
        assert!(reported.iter().any(|path| path.starts_with("sub/.git")), "{run:?}");
        let run = fixture.run("cp -r .git evil; echo ../evil > .git/commondir");
        assert_eq!(run.control_files(&fixture), [".git/commondir"], "{run:?}");
    }
}

#[test]
fn tier_b_reports_what_it_could_not_prevent() {
    for fixture in Fixture::in_tier_b() {
        fixture.prepare(REPOSITORY);
        let run = fixture.run("echo x > .git/hooks/pre-commit; echo >> .git/config");
        assert_eq!(run.control_files(&fixture), [".git/config", ".git/hooks/pre-commit"], "{run:?}");
    }
}

#[test]
fn a_denied_name_is_hidden_from_commands() {
    for fixture in Fixture::in_tier_a() {
        fixture.prepare("mkdir -p sub/.ssh; echo KEY > sub/.ssh/id; echo KEY > .env; echo fine > other");
        let plain = fixture.run_plain("cat .env sub/.ssh/id");
        assert!(String::from_utf8(plain.stdout).unwrap().contains("KEY"));
        let script = "cat .env sub/.ssh/id other; ls sub/.ssh; rm -f .env; mv .env y; \
                      cp -r . /tmp/all; cat /tmp/all/.env";
        let run = fixture.run_with(&["--deny", ".env", "--deny", ".ssh"], script);
        assert_eq!(run.output, "fine\n", "{run:?}");
        assert_eq!(fs::read_to_string(fixture.root().join(".env")).unwrap(), "KEY\n", "{run:?}");
    }
}
