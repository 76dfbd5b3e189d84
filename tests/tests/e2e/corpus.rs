//! The corpus of attacks, case by case, against the real server.

use harness::Request;
use harness::corpus::{self, CANARY, CANARY_NAME, Case, CaseRun, Expected, Mode, StatedLoss};
use harness::corpus::{runs_unsandboxed, works_unsandboxed};

/// Tools that change a file only after its session has read it.
const LOCKED: [&str; 2] = ["edit", "write"];

/// The cases that fail in tier B, each with what `/capabilities` says about it.
const LOSSES_OF_TIER_B: [StatedLoss; 5] = [
    ("kfs-005", METADATA),
    ("kfs-006", METADATA),
    ("kfs-007", METADATA),
    ("kfs-009", METADATA),
    ("ok-023", "Commands have no access to /tmp; TMPDIR names a private directory of unlimited size."),
];

const METADATA: &str = "Commands can see, watch and change the metadata of this user's files outside the \
    roots (stat, inotify, chmod, timestamps), but not their content.";

/// Runs a case. A change that must be stopped is tried with and without reading the file first, because the
/// optimistic lock alone would stop it without; one that must work reads first.
fn hold(case: &Case, mode: Mode) -> Result<(), String> {
    if !LOCKED.contains(&case.tool.as_str()) {
        return CaseRun::prepare(case, mode)?.call_tool(false);
    }
    CaseRun::prepare(case, mode)?.call_tool(true).map_err(|why| format!("read first: {why}"))?;
    if case.right_outcomes() == [Expected::Ok] {
        return Ok(());
    }
    CaseRun::prepare(case, mode)?.call_tool(false).map_err(|why| format!("not read first: {why}"))
}

fn check(what: &str, mode: Mode, losses: &[StatedLoss]) {
    let tools = corpus::registered_tools();
    for tool in ["ls", "find", "grep", "read", "write", "edit", "bash"] {
        assert!(tools.contains(tool), "{tool} is missing: {tools:?}");
    }
    let cases = corpus::load();
    assert!(cases.iter().all(|case| tools.contains(&case.tool)), "{tools:?}");
    println!("{}", corpus::report(what, &corpus::run_all(&cases, |case| hold(case, mode)), losses));
}

#[test]
fn every_case_holds_in_tier_a_as_whoever_runs_the_tests() {
    check("tier A, as whoever runs the tests", Mode::TierA, &[]);
}

#[test]
fn every_case_holds_in_tier_a_as_an_ordinary_user() {
    check("tier A, as an ordinary user", Mode::TierAAsOrdinaryUser, &[]);
}

#[test]
fn every_case_holds_in_tier_b_but_for_its_stated_losses() {
    check("tier B, as an ordinary user", Mode::TierBAsOrdinaryUser, &LOSSES_OF_TIER_B);
}

#[test]
fn a_canary_is_not_redacted() {
    let server = Mode::TierA.builder().start();
    let said = format!("{CANARY_NAME}={CANARY}");
    let shown = server.call("bash", &serde_json::json!({"cmd": format!("echo {said}")}));
    assert_eq!(shown.stdout.trim_end(), said, "redaction must not hide what the sandbox lets through");
}

#[test]
fn every_listed_loss_is_stated_by_the_server() {
    let server = Mode::TierBAsOrdinaryUser.builder().start();
    let stated = server.send(Request::get("/capabilities")).text();
    for (id, loss) in LOSSES_OF_TIER_B {
        assert!(stated.contains(loss), "{id}: {loss:?} is not in {stated}");
    }
}

#[test]
fn a_control_file_that_a_command_changes_in_tier_b_is_reported() {
    let server = Mode::TierBAsOrdinaryUser.builder().start();
    let bash = |cmd: &str| server.call("bash", &serde_json::json!({"cmd": cmd}));
    assert!(bash("git init -q g").ok);
    let changed = bash("cd g && git config --local core.fsmonitor \"sh -c id\" && git status");
    assert!(changed.ok, "git works beside a configuration of the system: {}", changed.stderr);
    let reported = changed.meta.data["created_control_files"].to_string();
    assert!(reported.contains("g/.git/config"), "{reported}");
}

#[test]
fn every_attack_by_a_command_works_without_the_sandbox() {
    let attacks: Vec<Case> = corpus::load()
        .into_iter()
        .filter(|case| match runs_unsandboxed(case) {
            Some(Err(why)) => {
                println!("{} is not run without the sandbox: {why}", case.id);
                false
            }
            tried => tried.is_some(),
        })
        .collect();
    assert!(attacks.len() >= 30, "the corpus has attacks by commands: {}", attacks.len());
    println!("{}", corpus::report("without the sandbox", &corpus::run_all(&attacks, works_unsandboxed), &[]));
}
