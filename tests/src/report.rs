//! The report of a long run: a table of counts, some with an upper bound. It knows no run.

use std::fmt;

#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<Row>,
}

#[derive(Debug)]
pub struct Row {
    pub what: &'static str,
    pub found: usize,
    /// The bound; none if the count is only informative.
    pub most: Option<usize>,
    pub details: Vec<String>,
}

impl Report {
    pub fn new() -> Self {
        Self { rows: Vec::new() }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn holds(&self) -> bool {
        self.rows.iter().all(Row::holds)
    }

    pub fn inform(&mut self, what: &'static str, found: usize) {
        self.rows.push(Row { what, found, most: None, details: Vec::new() });
    }

    pub fn forbid(&mut self, what: &'static str, details: Vec<String>) {
        self.bound(what, details, 0);
    }

    pub fn bound(&mut self, what: &'static str, details: Vec<String>, most: usize) {
        self.measure(what, details.len(), most, details);
    }

    /// A number, and the most that it may be.
    pub fn measure(&mut self, what: &'static str, found: usize, most: usize, details: Vec<String>) {
        self.rows.push(Row { what, found, most: Some(most), details });
    }
}

impl Row {
    pub fn holds(&self) -> bool {
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
