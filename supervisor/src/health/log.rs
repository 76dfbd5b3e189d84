//! Whether this process's log is written, from the queue in front of it.

use process::log_queue::LogCondition;

use super::Reading;

const REMEDY: &str = "Work continues without its log. Free the disk of the log, or let its reader continue; \
                      if that has ended, restart the supervisor.";

pub(crate) fn reading(log: &LogCondition) -> Reading {
    let dropped = match log.dropped {
        0 => String::new(),
        1 => "; 1 line was dropped".to_owned(),
        lines => format!("; {lines} lines were dropped"),
    };
    match &log.trouble {
        Some(trouble) => Reading::degraded(format!("{trouble}{dropped}"), REMEDY),
        None => Reading::ok(format!("is written{dropped}")),
    }
}
