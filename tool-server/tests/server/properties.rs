//! Properties for all contents and all orders of calls: edits can be reversed, dry runs predict the change,
//! and no update is lost.

use std::fs;

use crate::properties_support::text::{self, Edited};
use crate::properties_support::{patch, sessions};
use crate::support::TestServer;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use protocol::{Envelope, Status};
use serde_json::{Value, json};

/// Runs a property on one server; each case uses its own files.
fn hold<S: Strategy>(
    cases: u32,
    strategy: S,
    property: impl AsyncFn(&TestServer, &str, S::Value) -> Result<(), TestCaseError>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(TestServer::start());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let number = std::cell::Cell::new(0);
    let result = TestRunner::new(config).run(&strategy, |value| {
        number.set(number.get() + 1);
        runtime.block_on(property(&server, &format!("case-{}", number.get()), value))
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

fn require_ok(envelope: &Envelope) -> Result<(), TestCaseError> {
    prop_assert!(envelope.ok, "{}", envelope.stderr);
    Ok(())
}

#[test]
fn an_edit_and_its_inverse_restore_every_byte() {
    hold(200, text::edited(), async |server, name, edited: Edited| {
        let file = server.root.join(name);
        fs::write(&file, &edited.original).unwrap();
        require_ok(&server.call("read", json!({"path": name})).await)?;
        let edit = |find: &str, replace: &str| {
            server.call("edit", json!({"path": name, "find": find, "replace": replace, "all": edited.all}))
        };
        require_ok(&edit(&edited.find, &edited.replace).await)?;
        prop_assert_eq!(fs::read(&file).unwrap(), edited.expected.clone());
        require_ok(&edit(&edited.replace, &edited.find).await)?;
        prop_assert_eq!(fs::read(&file).unwrap(), edited.original.clone());
        Ok(())
    });
}

/// A change of a file with lines, by each tool that can make it.
fn change(path: &str, tool: usize, lines: &[String], new: &str) -> (&'static str, Value) {
    let find = |index: usize| &lines[index % lines.len()];
    match tool {
        0 => ("write", json!({"path": path, "content": new})),
        1 => ("write", json!({"path": path, "content": new, "mode": "append"})),
        2 => ("edit", json!({"path": path, "find": find(0), "replace": new, "all": true})),
        3 => {
            let edits = json!([{"find": find(0), "replace": new, "all": true}]);
            ("multi_edit", json!({"path": path, "edits": edits}))
        }
        _ => ("delete", json!({"path": path})),
    }
}

#[test]
fn a_dry_run_changes_nothing_and_its_difference_is_the_real_one() {
    let strategy = (text::lines(), text::plain(), 0..5_usize, any::<bool>());
    hold(200, strategy, async |server, name, (lines, new, tool, ends)| {
        let old = lines.join("\n") + if ends { "\n" } else { "" };
        let file = server.root.join(name);
        fs::write(&file, &old).unwrap();
        require_ok(&server.call("read", json!({"path": name})).await)?;
        let (tool, mut arguments) = change(name, tool, &lines, &new);
        let real = arguments.clone();
        arguments["dry_run"] = json!(true);
        let predicted = server.call(tool, arguments).await;
        prop_assert_eq!(fs::read_to_string(&file).unwrap(), old.clone(), "a dry run changed the file");
        let done = server.call(tool, real).await;
        // The words and the names of the file: a trial has shorter ones.
        let difference = |stdout: &str| stdout.lines().skip(3).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(difference(&predicted.stdout), difference(&done.stdout));
        prop_assert_eq!(
            predicted.meta.error.map(|error| error.code),
            done.meta.error.map(|error| error.code)
        );
        prop_assert!(!predicted.ok || predicted.meta.status == Status::Partial);
        let after = fs::read_to_string(&file).unwrap_or_default();
        prop_assert_eq!(patch::applied(&old, &done.stdout), after);
        for fact in ["operation", "replacements", "bytes_before", "bytes_after", "sha256_after"] {
            prop_assert_eq!(&predicted.meta.data[fact], &done.meta.data[fact], "{}", fact);
        }
        Ok(())
    });
}

#[test]
fn no_order_of_calls_by_two_sessions_loses_an_update() {
    hold(60, sessions::steps(), async |server, name, steps: Vec<sessions::Step>| {
        let mut model = sessions::Model::new(server, name);
        for step in steps {
            model.take(step).await?;
        }
        Ok(())
    });
}

/// Adds a line by an edit, and retries until no other session interferes; returns the number of conflicts.
async fn add_line(server: &TestServer, session: &str, line: &str) -> usize {
    for conflicts in 0..1000 {
        let read = server.call_in(session, "read", json!({"path": "f", "line_numbers": false})).await;
        let last = read.stdout.lines().last().unwrap().to_owned();
        let edit = json!({"path": "f", "find": format!("{last}\n"), "replace": format!("{last}\n{line}\n")});
        let edited = server.call_in(session, "edit", edit).await;
        match edited.meta.error {
            None => return conflicts,
            Some(error) => assert_eq!(error.code, protocol::ErrorCode::Conflict, "{}", error.message),
        }
    }
    panic!("{session} does not get through");
}

#[tokio::test]
async fn two_sessions_that_change_one_file_at_once_lose_no_update() {
    const LINES: usize = 40;
    let server = TestServer::start().await;
    fs::write(server.root.join("f"), "begin\n").unwrap();
    let work = async |session: &str| {
        let mut conflicts = 0;
        for number in 0..LINES {
            conflicts += add_line(&server, session, &format!("{session} {number}")).await;
        }
        conflicts
    };
    let (one, two) = tokio::join!(work("one"), work("two"));
    assert!(one + two > 0, "the sessions never met, so nothing was shown");
    let text = fs::read_to_string(server.root.join("f")).unwrap();
    assert_eq!(text.lines().count(), 1 + 2 * LINES);
    for session in ["one", "two"] {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(session)).collect();
        let expected: Vec<String> = (0..LINES).map(|number| format!("{session} {number}")).collect();
        assert_eq!(lines, expected);
    }
}
