//! The corpus of attacks against the real server, case by case.

use e2e::corpus::{self, Case, Expected, Trial};

/// Tools that change a file only after its session has read it.
const LOCKED: [&str; 2] = ["edit", "write"];

/// Tries a case as it stands. A change that must be stopped is tried with and without reading the file
/// first, so that it is not the optimistic lock alone that stops it; one that must work is read first.
fn hold(case: &Case) -> Result<(), String> {
    if !LOCKED.contains(&case.tool.as_str()) {
        return Trial::prepare(case)?.call_tool(false);
    }
    Trial::prepare(case)?.call_tool(true).map_err(|why| format!("read first: {why}"))?;
    if case.right_outcomes() == [Expected::Ok] {
        return Ok(());
    }
    Trial::prepare(case)?.call_tool(false).map_err(|why| format!("not read first: {why}"))
}

/// Cases of commands that need more than a server and a place: listeners, probe programs, a look at the host.
const ATTACKS_ON_THE_SANDBOX: [&str; 6] =
    ["exfil", "persistence", "resource", "sandbox_net", "sandbox_proc", "sandbox_sys"];

fn needs_more(case: &Case) -> bool {
    case.tool == "bash" && ATTACKS_ON_THE_SANDBOX.contains(&case.category.as_str())
}

#[test]
fn every_case_of_a_registered_tool_holds() {
    let tools = corpus::registered_tools();
    for tool in ["ls", "find", "grep", "read", "write", "edit", "bash"] {
        assert!(tools.contains(tool), "{tool} is missing: {tools:?}");
    }
    let cases = corpus::load().into_iter().filter(|case| case.tool != "http");
    let (known, unknown): (Vec<Case>, Vec<Case>) = cases.partition(|case| tools.contains(&case.tool));
    println!("{} cases are of tools that the server does not have", unknown.len());
    let (attacks, known): (Vec<Case>, Vec<Case>) = known.into_iter().partition(needs_more);
    println!("{} cases need more than a server and a place", attacks.len());
    println!("{}", corpus::report("tools", &corpus::tried(&known, hold)));
}

#[test]
fn every_raw_request_is_answered_and_leaves_the_server_alive() {
    let cases: Vec<Case> = corpus::load().into_iter().filter(|case| case.tool == "http").collect();
    assert!(cases.len() >= 20, "the corpus has raw requests: {}", cases.len());
    let outcomes = corpus::tried(&cases, |case| Trial::prepare(case)?.send_request());
    println!("{}", corpus::report("raw requests", &outcomes));
}

#[test]
fn every_wrong_raw_request_is_refused_for_what_is_wrong_with_it_when_it_names_ls() {
    let names_a_tool = |case: &Case| serde_json::to_string(&case.args).unwrap().contains("/tools/");
    let wrong: Vec<Case> = corpus::load()
        .into_iter()
        .filter(|case| case.tool == "http" && case.expected == Expected::Denied && names_a_tool(case))
        .collect();
    assert!(wrong.len() >= 15, "the corpus has wrong requests: {}", wrong.len());
    let outcomes = corpus::tried(&wrong, |case| Trial::prepare(case)?.send_request_to("ls"));
    println!("{}", corpus::report("raw requests to ls", &outcomes));
}
