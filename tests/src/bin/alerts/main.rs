//! Causes each alert of deploy/prometheus/alerts.yml, and waits for a real Prometheus to fire it.
//!
//! `make alerts` gets Prometheus from Debian's packages. Before that, its own tool judges the rules and what
//! both ports tell, and a healthy system fires nothing.

mod cases;
mod prometheus;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use harness::project_copy::workspace;
use harness::{Request, System};

use cases::{CASES, targets};
use prometheus::Prometheus;

/// How often a healthy system is scraped before it counts as silent.
const SCRAPES: usize = 20;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1).map(PathBuf::from) else {
        println!("Usage: alerts DIRECTORY [ALERT] (the directory has `prometheus` and `promtool`)");
        return ExitCode::FAILURE;
    };
    let file = workspace().join("deploy/prometheus/alerts.yml");
    let rules = fs::read_to_string(&file).expect("the rules are in the project");
    let mut failed = Vec::new();
    let mut note = |what: &str, holds: bool| {
        println!("{what}: {}", if holds { "yes" } else { "NO" });
        if !holds {
            failed.push(what.to_owned());
        }
    };
    note("promtool accepts the rules", run(&directory, &["check", "rules"], Some(&file), ""));
    let config = workspace().join("deploy/prometheus/prometheus.yml");
    note(
        "promtool accepts the example",
        run(&directory, &["check", "config", "--syntax-only"], Some(&config), ""),
    );
    healthy(&directory, &rules, &mut note);
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let named: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    for alert in named.iter().filter(|alert| alert.contains(&wanted)) {
        let Some((_, cause)) = CASES.iter().find(|(name, _)| name == alert) else {
            note(&format!("{alert} has a case"), false);
            continue;
        };
        let started = |targets: &[prometheus::Target]| {
            let prometheus = Prometheus::start(&directory.join("prometheus"), &rules, targets);
            prometheus.wait_for_scrapes(2);
            prometheus
        };
        note(&format!("{alert} fires"), cause(&started, alert));
    }
    println!("\n{} alerts, {} faults", named.len(), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What both ports tell is well-formed, and nothing fires.
fn healthy(directory: &Path, rules: &str, note: &mut impl FnMut(&str, bool)) {
    let system = System::start();
    system.run_task(&harness::system::direct_ls("."));
    system.tool("bash", &serde_json::json!({"cmd": "true"}));
    for (name, text) in [
        ("supervisor", system.control(Request::get("/metrics")).text()),
        ("tool server", system.ask_tool_server(Request::get("/metrics")).text()),
    ] {
        note(
            &format!("promtool accepts the metrics of the {name}"),
            run(directory, &["check", "metrics"], None, &text),
        );
    }
    let prometheus = Prometheus::start(&directory.join("prometheus"), rules, &targets(&system));
    prometheus.wait_for_scrapes(SCRAPES);
    let (errors, firing) = (prometheus.scrape_errors(), prometheus.firing());
    if !(errors.is_empty() && firing.is_empty()) {
        println!("{errors:?} {firing:?}\n{}", prometheus.log());
    }
    note("Prometheus reads both ports", errors.is_empty());
    note("a healthy system fires nothing", firing.is_empty());
}

/// Whether a command of promtool succeeds.
fn run(directory: &Path, arguments: &[&str], file: Option<&Path>, input: &str) -> bool {
    let mut command = Command::new(directory.join("promtool"));
    command.args(arguments).args(file).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool starts");
    child.stdin.take().expect("its input is a pipe").write_all(input.as_bytes()).expect("it reads its input");
    let output = child.wait_with_output().expect("promtool ends");
    if !output.status.success() || !output.stderr.is_empty() && file.is_none() {
        println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}
