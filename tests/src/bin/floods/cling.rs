//! A command that does everything not to be ended: it ignores SIGTERM, and a daemon in a session of its own
//! holds the output open.

use std::time::{Duration, Instant};

use harness::ToolServer;
use harness::leftovers::processes_with;
use serde_json::json;

/// How soon after the deadline the answer must be there.
const MOST_LATE: Duration = Duration::from_millis(200);

/// Ends a clinging command so often, prints what came of it, and says whether it held.
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
    let holds = left == 0 && most <= MOST_LATE;
    println!(
        "\n{times} clinging commands: {left} left a process; the answer came {} ms after the deadline at the \
         median and {} ms at most: {}",
        median.as_millis(),
        most.as_millis(),
        if holds { "holds" } else { "MISSED" },
    );
    holds
}
