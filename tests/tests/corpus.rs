//! The corpus of attacks against the real server, case by case.

use e2e::corpus::{self, Case, Expected, Trial};

fn outcomes(
    cases: &[Case],
    attempt: impl Fn(Trial<'_>) -> Result<(), String>,
) -> Vec<(String, Result<(), String>)> {
    cases.iter().map(|case| (case.id.clone(), Trial::prepare(case).and_then(&attempt))).collect()
}

#[test]
fn every_case_of_a_registered_tool_holds() {
    let tools = corpus::registered_tools();
    assert!(tools.contains("ls"), "{tools:?}");
    let cases = corpus::load();
    let known: Vec<Case> = cases.into_iter().filter(|case| tools.contains(&case.tool)).collect();
    assert!(known.iter().any(|case| case.tool == "ls"), "the corpus has cases of ls");
    println!("{}", corpus::report("tools", &outcomes(&known, |trial| trial.call_tool())));
}

#[test]
fn every_raw_request_is_answered_and_leaves_the_server_alive() {
    let cases: Vec<Case> = corpus::load().into_iter().filter(|case| case.tool == "http").collect();
    assert!(cases.len() >= 20, "the corpus has raw requests: {}", cases.len());
    println!("{}", corpus::report("raw requests", &outcomes(&cases, |trial| trial.send_request())));
}

#[test]
fn every_wrong_raw_request_is_refused_for_what_is_wrong_with_it_when_it_names_ls() {
    let names_a_tool = |case: &Case| serde_json::to_string(&case.args).unwrap().contains("/tools/");
    let wrong: Vec<Case> = corpus::load()
        .into_iter()
        .filter(|case| case.tool == "http" && case.expected == Expected::Denied && names_a_tool(case))
        .collect();
    assert!(wrong.len() >= 15, "the corpus has wrong requests: {}", wrong.len());
    let outcomes = outcomes(&wrong, |trial| trial.send_request_to("ls"));
    println!("{}", corpus::report("raw requests to ls", &outcomes));
}
