//! The table of what was measured, each number beside its target.

use std::fmt;

/// Rows under a title.
#[derive(Debug)]
pub(crate) struct Table {
    title: &'static str,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: String,
    measured: String,
    target: String,
    verdict: &'static str,
}

impl Table {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, rows: Vec::new() }
    }

    /// A number without a target.
    pub(crate) fn note(&mut self, what: &str, measured: impl fmt::Display) {
        self.add(what, measured.to_string(), String::new(), "");
    }

    /// A number that should stay at or below a bound, both in `unit`.
    pub(crate) fn bound(&mut self, what: &str, measured: f64, most: f64, unit: &str) {
        let target = format!("at most {most} {unit}");
        self.add(what, format!("{measured:.1} {unit}"), target, verdict(measured <= most));
    }

    /// A number that should stay at or above a bound, both in `unit`.
    pub(crate) fn reach(&mut self, what: &str, measured: f64, least: f64, unit: &str) {
        let target = format!("at least {least} {unit}");
        self.add(what, format!("{measured:.2} {unit}"), target, verdict(measured >= least));
    }

    fn add(&mut self, what: &str, measured: String, target: String, verdict: &'static str) {
        self.rows.push(Row { what: what.to_owned(), measured, target, verdict });
    }
}

fn verdict(is_kept: bool) -> &'static str {
    if is_kept { "ok" } else { "MISSED" }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        for Row { what, measured, target, verdict } in &self.rows {
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
        table.bound("not kept", 2.1, 2.0, "ms");
        table.reach("reached", 1.5, 1.5, "times");
        table.note("only said", "7");
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Title");
        assert!(lines[1].contains("2.0 ms") && lines[1].ends_with("at most 2 ms       ok"), "{text}");
        assert!(lines[2].ends_with("MISSED") && lines[4].ends_with(" 7"), "{text}");
        assert!(lines[3].ends_with("at least 1.5 times ok"), "{text}");
    }
}
