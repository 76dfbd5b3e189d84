//! What the server covers, a command neither sees nor changes.

use std::fs;
use std::path::Path;

use crate::fixture::{Fixture, Run, Scenario};

const REPOSITORY: &str =
    "git init -q . && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m m";

const PROTECTED: [&str; 6] =
    [".git/config", ".git/hooks", ".git/modules/lib/hooks", ".vscode", ".envrc", "sub/.MCP.json"];

impl Fixture {
    /// Runs a script with these paths below the root covered.
    fn run_covered(&self, covers: &[(&str, &str)], script: &str) -> Run {
        let paths: Vec<String> = covers.iter().map(|(_, path)| self.beneath(path)).collect();
        let options: Vec<&str> =
            covers.iter().zip(&paths).flat_map(|((option, _), path)| [*option, path.as_str()]).collect();
        self.run_with(&options, script)
    }

    pub(crate) fn beneath(&self, path: &str) -> String {
        self.root().join(path).display().to_string()
    }
}

#[test]
fn a_protected_file_is_read_only_and_a_pinned_directory_stays() {
    let protect = PROTECTED.map(|path| ("--protect", path));
    let covers: Vec<_> = [("--pin", ".git")].into_iter().chain(protect).collect();
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
            let run = fixture.run_covered(&covers, attack);
            assert!(run.was_executed(), "{run:?}");
            assert_eq!(control_content(&fixture), before, "{run:?}");
        }
    }
}

/// Creates the control files where there are none, and reads them all.
fn control_content(fixture: &Fixture) -> Vec<Option<Vec<u8>>> {
    if !fixture.root().join(".git").exists() && !fixture.root().join("x").exists() {
        fixture.prepare(&format!(
            "{REPOSITORY}; mkdir -p .vscode sub .git/modules/lib/hooks .git/hooks; \
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
fn work_in_a_covered_repository_is_not_hindered() {
    for fixture in Fixture::all() {
        fixture.prepare(REPOSITORY);
        let covers = [("--pin", ".git"), ("--protect", ".git/config"), ("--protect", ".git/hooks")];
        let script = "echo x > f && git add f && git -c user.email=a@b.c -c user.name=n commit -qm two && \
                      git branch b && git tag t && git checkout -q b && git stash list && git gc -q && \
                      git log --format=%s";
        let run = fixture.run_covered(&covers, script);
        assert_eq!(run.output, "two\nm\n", "{run:?}");
    }
}

#[test]
fn what_is_hidden_cannot_be_read_moved_or_removed() {
    for fixture in Fixture::in_tier_a() {
        fixture.prepare("mkdir -p sub/.ssh; echo KEY > sub/.ssh/id; echo KEY > .env; echo fine > other");
        let plain = fixture.run_plain("cat .env sub/.ssh/id");
        assert!(String::from_utf8(plain.stdout).unwrap().contains("KEY"));
        let script = "cat .env sub/.ssh/id other; ls sub/.ssh; rm -f .env; mv .env y; \
                      cp -r . /tmp/all; cat /tmp/all/.env";
        let run = fixture.run_covered(&[("--hide", ".env"), ("--hide", "sub/.ssh")], script);
        assert_eq!(run.output, "fine\n", "{run:?}");
        assert_eq!(fs::read_to_string(fixture.root().join(".env")).unwrap(), "KEY\n", "{run:?}");
    }
}

#[test]
fn nothing_runs_if_what_is_to_be_covered_moved() {
    for fixture in Fixture::in_tier_a() {
        fixture.prepare("mkdir sub; echo KEY > sub/.env; echo KEY > .env");
        for (cover, replaced) in [("sub/.env", "sub/.env"), ("sub/.env", "sub"), (".env", ".env")] {
            let replaced = fixture.beneath(replaced);
            let options = ["--replace", replaced.as_str(), "--hide", &fixture.beneath(cover)];
            let run = fixture.run_with(&options, "cat .env.old sub.old/.env; echo ran > ran");
            assert!(run.report.contains("moved before it could be hidden or protected"), "{run:?}");
            assert!(run.report.contains(cover), "{run:?}");
            assert!(!fixture.root().join("ran").exists(), "{run:?}");
            fs::remove_file(&replaced).unwrap();
            fs::rename(Path::new(&replaced).with_extension("old"), replaced).unwrap();
        }
    }
}

#[test]
fn a_link_is_never_covered_in_place_of_its_target() {
    for fixture in Fixture::in_tier_a() {
        fixture.prepare("mkdir sub; echo KEY > sub/.env; ln -s sub link");
        let run = fixture.run_covered(&[("--hide", "link/.env")], "cat sub/.env");
        assert!(run.report.contains("moved before"), "{run:?}");
    }
}

#[test]
fn thousands_of_covers_are_mounted_in_time() {
    for fixture in Fixture::in_tier_a() {
        fixture
            .prepare("mkdir {1..50}; for d in {1..50}; do echo KEY | tee $d/{1..40}.pem > /dev/null; done");
        let paths: Vec<String> =
            (1..=50).flat_map(|d| (1..=40).map(move |f| format!("{d}/{f}.pem"))).collect();
        let covers: Vec<_> = paths.iter().map(|path| ("--hide", path.as_str())).collect();
        let run = fixture.run_covered(&covers, "cat */*.pem | wc -c; ls */*.pem | wc -l; cat 50/40.pem");
        assert_eq!(run.output, "0\n2000\n", "{run:?}");
        assert!(run.number("run_us") < 5_000_000, "{run:?}");
    }
}
