//! The report: a table of counts, some with an upper bound.

use std::fmt;

#[derive(Debug)]
pub struct Report {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: &'static str,
    found: usize,
    /// The bound; none if the count is only informative.
    most: Option<usize>,
    details: Vec<String>,
}

impl Report {
    pub(super) fn new() -> Self {
        Self { rows: Vec::new() }
    }

    pub fn holds(&self) -> bool {
        self.rows.iter().all(Row::holds)
    }

    pub(super) fn inform(&mut self, what: &'static str, found: usize) {
        self.rows.push(Row { what, found, most: None, details: Vec::new() });
    }

    pub(super) fn forbid(&mut self, what: &'static str, details: Vec<String>) {
        self.bound(what, details, 0);
    }

    pub(super) fn bound(&mut self, what: &'static str, details: Vec<String>, most: usize) {
        self.rows.push(Row { what, found: details.len(), most: Some(most), details });
    }
}

impl Row {
    fn holds(&self) -> bool {
        self.most.is_none_or(|most| self.found <= most)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, most, .. } = self;
        match most {
            None => write!(f, "  {what:<64} {found:>6}"),
            Some(most) => {
                let outcome = if self.holds() { "ok" } else { "WRONG" };
                write!(f, "  {what:<64} {found:>6}   at most {most:<4} {outcome}")
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            writeln!(f, "{row}")?;
            if !row.holds() {
                row.details.iter().take(10).try_for_each(|detail| writeln!(f, "      {detail}"))?;
            }
        }
        Ok(())
    }
}
