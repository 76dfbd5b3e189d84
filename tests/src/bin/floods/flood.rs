//! One flood: a command that takes all resources it can get, while another caller lists a directory.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use harness::{Request, ToolServer};
use protocol::Envelope;
use serde_json::json;

pub(crate) const HEADING: &str = "\
    | flood | ended by | ms | peak MB | output MB | other calls | p99 ms | verdict |\n\
    |---|---|---:|---:|---:|---:|---:|---|";

/// The most resident memory that the server may use.
const MOST_MB: u64 = 100;

/// The most disk space that a full output may take.
const MOST_OUTPUT_MB: u64 = 64;

/// The p99 latency allowed for other calls.
const MOST_P99: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
pub(crate) struct Flood {
    name: &'static str,
    cmd: &'static str,
    timeout_seconds: u64,
}

pub(crate) const FLOODS: [Flood; 5] = [
    Flood { name: "yes", cmd: "yes", timeout_seconds: 5 },
    Flood { name: "zeros", cmd: "cat /dev/zero", timeout_seconds: 5 },
    Flood {
        name: "forks",
        cmd: "python3 -c 'import os\nwhile True:\n try: os.fork()\n except OSError: pass'",
        timeout_seconds: 5,
    },
    Flood {
        name: "memory",
        cmd: "python3 -c 'a = []\nwhile True: a.append(bytearray(1 << 20))'",
        timeout_seconds: 20,
    },
    Flood {
        name: "a million files",
        cmd: "mkdir -p many && cd many && python3 -c 'for i in range(1000000): open(str(i), \"w\").close()'",
        timeout_seconds: 20,
    },
];

impl Flood {
    /// Runs it, prints its row, and returns whether it is ok.
    pub(crate) fn run(self, server: &mut ToolServer) -> bool {
        server.program().forget_peak();
        let output_before = size_mb(&server.dir().data().join("output"));
        let begin = Instant::now();
        let (envelope, mut waits) = thread::scope(|scope| {
            let flood = scope.spawn(|| self.call(server));
            let mut waits = Vec::new();
            while !flood.is_finished() {
                let asked = Instant::now();
                server.send(Request::call("ls", &json!({"path": ".", "limit": 1})));
                waits.push(asked.elapsed());
                thread::sleep(Duration::from_millis(5));
            }
            (flood.join().expect("the caller does not panic"), waits)
        });
        let took = begin.elapsed();
        waits.sort_unstable();
        let p99 = waits[waits.len() * 99 / 100];
        let output = size_mb(&server.dir().data().join("output")) - output_before;
        let peak = server.program().peak_kb() / 1024;
        let in_time = took < Duration::from_secs(self.timeout_seconds + 2);
        let is_ok = in_time && peak < MOST_MB && output <= MOST_OUTPUT_MB && p99 < MOST_P99;
        println!(
            "| {} | {} | {} | {peak} | {output} | {} | {} | {} |",
            self.name,
            end_of(&envelope),
            took.as_millis(),
            waits.len(),
            p99.as_millis(),
            if is_ok { "ok" } else { "MISSED" },
        );
        let _ = fs::remove_dir_all(server.root().join("many"));
        is_ok
    }

    fn call(self, server: &ToolServer) -> Envelope {
        server.call("bash", &json!({"cmd": self.cmd, "timeout_seconds": self.timeout_seconds}))
    }
}

fn end_of(envelope: &Envelope) -> String {
    match (&envelope.meta.error, &envelope.meta.data["signal"]) {
        (None, _) => "itself".to_owned(),
        (Some(error), signal) if signal.is_null() => format!("{} (exit {})", error.code, envelope.exit_code),
        (Some(error), signal) => format!("{} (signal {signal})", error.code),
    }
}

fn size_mb(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).expect("the output directory is there").flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|facts| facts.len()).sum::<u64>() >> 20
}
