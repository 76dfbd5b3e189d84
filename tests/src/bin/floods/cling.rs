//! A command that refuses to die: it ignores SIGTERM, and a daemon in its own session keeps the output open.

use std::time::{Duration, Instant};

use harness::ToolServer;
use harness::leftovers::processes_with;
use serde_json::json;

/// How long after its deadline a call may be answered.
const MOST_LATE: Duration = Duration::from_millis(200);

/// Runs the command this many times into its deadline, prints the result, and returns whether it is ok.
pub(crate) fn end_again_and_again(server: &ToolServer, times: usize) -> bool {
    let (mut left, mut late) = (0, Vec::with_capacity(times));
    for time in 0..times {
        let word = format!("clinging-{}-{time}", std::process::id());
        let cmd = format!(
            "trap '' TERM; (setsid bash -c 'trap \"\" TERM; (exec -a {word} sleep 300) & exec -a {word} \
             sleep 300' &); sleep 300"
        );
        let begin = Instant::now();
        server.call("bash", &json!({"cmd": cmd, "timeout_seconds": 1}));
        late.push(begin.elapsed().saturating_sub(Duration::from_secs(1)));
        left += usize::from(!processes_with(&word).is_empty());
    }
    late.sort_unstable();
    let (median, most) = (late[times / 2], late[times - 1]);
    let is_ok = left == 0 && most <= MOST_LATE;
    println!(
        "\n{times} commands that refuse to die: {left} left a process behind; answered {} ms (median) and {} \
         ms (at most) after the deadline: {}",
        median.as_millis(),
        most.as_millis(),
        if is_ok { "ok" } else { "MISSED" },
    );
    is_ok
}
