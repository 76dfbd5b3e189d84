//! The table of what was measured, each number beside its target.

use std::fmt;
use std::time::Duration;

use crate::measure::{Durations, Work};

/// Rows under a title.
#[derive(Debug)]
pub(crate) struct Table {
    title: &'static str,
    rows: Vec<[String; 4]>,
}

impl Table {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, rows: Vec::new() }
    }

    /// A number without a target.
    pub(crate) fn note(&mut self, what: &str, measured: impl fmt::Display) {
        self.rows.push([what.to_owned(), measured.to_string(), String::new(), String::new()]);
    }

    /// A time without a target.
    pub(crate) fn time(&mut self, what: &str, measured: Duration) {
        self.note(what, format!("{measured:.2?}"));
    }

    /// A time that should stay at or below a bound in milliseconds.
    pub(crate) fn within(&mut self, what: &str, measured: Duration, most_ms: f64) {
        self.bound(what, measured.as_secs_f64() * 1e3, most_ms, "ms");
    }

    /// A number that should stay at or below a bound, both in `unit`.
    pub(crate) fn bound(&mut self, what: &str, measured: f64, most: f64, unit: &str) {
        self.judged(what, measured, format!("at most {most} {unit}"), measured <= most, unit);
    }

    /// A number that should stay at or above a bound, both in `unit`.
    pub(crate) fn reach(&mut self, what: &str, measured: f64, least: f64, unit: &str) {
        self.judged(what, measured, format!("at least {least} {unit}"), measured >= least, unit);
    }

    /// Measures two things in turns, and bounds how many times the first one's median the second's may be.
    pub(crate) fn compare(
        &mut self,
        (times, in_a_turn): (usize, usize),
        [(first, one), (second, other)]: [(&str, Work<'_>); 2],
        (what, most): (&str, f64),
    ) -> anyhow::Result<[Durations; 2]> {
        let durations = Durations::in_turns(times, in_a_turn, [one, other])?;
        self.time(&format!("{first}, p50"), durations[0].p50());
        self.time(&format!("{second}, p50"), durations[1].p50());
        self.bound(what, durations[1].against(&durations[0]), most, "times");
        Ok(durations)
    }

    fn judged(&mut self, what: &str, measured: f64, target: String, is_kept: bool, unit: &str) {
        let verdict = if is_kept { "ok" } else { "MISSED" };
        self.rows.push([what.to_owned(), format!("{measured:.2} {unit}"), target, verdict.to_owned()]);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        for [what, measured, target, verdict] in &self.rows {
            let line = format!("  {what:<52} {measured:>18}   {target:<18} {verdict}");
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whether_its_target_is_kept() {
        let mut table = Table::new("Title");
        table.bound("kept", 2.0, 2.0, "ms");
        table.within("not kept", Duration::from_micros(2100), 2.0);
        table.reach("reached", 1.5, 1.5, "times");
        table.note("only said", "7");
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Title");
        assert!(lines[1].contains("2.00 ms") && lines[1].ends_with("at most 2 ms       ok"), "{text}");
        assert!(lines[2].ends_with("MISSED") && lines[4].ends_with(" 7"), "{text}");
        assert!(lines[3].ends_with("at least 1.5 times ok"), "{text}");
    }
}
