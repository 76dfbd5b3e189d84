//! A steady load, and what each process holds meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use harness::system::direct_ls;
use harness::{System, leftovers, wait};
use serde_json::json;

use crate::report::Report;

const CHATS: usize = 8;

/// Samples are taken this often.
const PERIOD: Duration = Duration::from_secs(5);

/// The first part of the time, in which caches and pools fill.
const WARM_UP: f64 = 0.25;

/// What memory may grow between the first and the last quarter after the warm-up, in kB: malloc's arenas and
/// SQLite's page cache move by this much.
const SLACK_KB: u64 = 4096;

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sample {
    memory_kb: u64,
    descriptors: u64,
    threads: u64,
}

type Value = fn(&Sample) -> u64;

pub(crate) fn run(report: &mut Report, time: Duration) {
    let system = System::builder().workers(4).start();
    let begun = Instant::now();
    let (mut answered, mut round) = (0, 0);
    let mut samples: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    let mut sampled = begun;
    while begun.elapsed() < time {
        let tasks: Vec<String> = (0..CHATS)
            .map(|chat| system.say_in(&format!("chat-{chat}"), &message(round * CHATS + chat)))
            .collect();
        tasks.iter().for_each(|task| drop(system.reply(task)));
        (answered, round) = (answered + CHATS, round + 1);
        if begun.elapsed() >= time.mul_f64(WARM_UP) && sampled.elapsed() >= PERIOD {
            sampled = Instant::now();
            sample(&system, &mut samples);
        }
        wait::out(Duration::from_millis(100));
    }
    report.row("Messages answered under load", &answered.to_string(), "any", answered > 0);
    for (process, of_it) in &samples {
        flat(report, process, of_it);
    }
}

fn message(number: usize) -> String {
    match number % 4 {
        0 => format!("/bash {}", json!({"cmd": "ls -la; echo done"})),
        1 => format!("/write {}", json!({"path": format!("file-{}.txt", number % 64), "content": "text\n"})),
        2 => format!("/grep {}", json!({"pattern": "text", "path": "."})),
        _ => direct_ls("."),
    }
}

/// Adds what each long-lived process holds now.
fn sample(system: &System, samples: &mut BTreeMap<String, Vec<Sample>>) {
    let (supervisor, children) = (system.supervisor_pid(), system.children());
    let launcher = system.launcher().map(|launcher| launcher.pid);
    let server = children.iter().find(|child| child.is("tool-server")).map(|server| server.pid);
    let spawner = leftovers::processes_of(system.dir()).into_iter().find(|one| Some(one.parent) == server);
    let mut named = vec![("supervisor".to_owned(), supervisor)];
    named.extend(launcher.map(|pid| ("launcher".to_owned(), pid)));
    named.extend(spawner.map(|spawner| ("spawner".to_owned(), spawner.pid)));
    named.extend(server.map(|pid| ("tool-server".to_owned(), pid)));
    let workers = children.iter().filter(|child| child.is("agent-worker")).enumerate();
    named.extend(workers.map(|(index, worker)| (format!("agent-worker {}", index + 1), worker.pid)));
    for (name, pid) in named {
        samples.entry(name).or_default().extend(look(pid));
    }
}

fn look(pid: u32) -> Option<Sample> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |field: &str| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with(field))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    Some(Sample {
        memory_kb: number("VmRSS:")?,
        descriptors: u64::try_from(descriptors).ok()?,
        threads: number("Threads:")?,
    })
}

/// Compares the medians of the first and the last quarter.
fn flat(report: &mut Report, process: &str, samples: &[Sample]) {
    let quarter = (samples.len() / 4).max(1);
    let median = |of: &[Sample], value: Value| {
        let mut values: Vec<u64> = of.iter().map(value).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    let (first, last) = (&samples[..quarter], &samples[samples.len() - quarter..]);
    let parts: [(&str, Value, u64); 3] = [
        ("memory, kB", |sample| sample.memory_kb, SLACK_KB),
        ("descriptors", |sample| sample.descriptors, 4),
        // Those that may block come with the work and go without it.
        ("threads", |sample| sample.threads, 8),
    ];
    for (what, value, slack) in parts {
        let (before, after) = (median(first, value), median(last, value));
        let seen = format!("{before} → {after}");
        report.row(
            &format!("{process}: {what}"),
            &seen,
            &format!("+{slack} at most"),
            after <= before + slack,
        );
    }
}
