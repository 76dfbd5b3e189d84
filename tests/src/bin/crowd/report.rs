//! The rows, each printed as soon as it is known.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: usize,
    missed: usize,
}

impl Report {
    pub(crate) fn holds(&self) -> bool {
        self.missed == 0
    }

    /// A time, and the most that it may be.
    pub(crate) fn time(&mut self, what: &str, seen: Duration, most: Duration) {
        self.row(what, &format!("{seen:.3?}"), &format!("at most {most:?}"), seen <= most);
    }

    /// A number, and what it must be.
    pub(crate) fn exactly(&mut self, what: &str, seen: usize, expected: usize) {
        self.row(what, &seen.to_string(), &expected.to_string(), seen == expected);
    }

    pub(crate) fn row(&mut self, what: &str, seen: &str, target: &str, holds: bool) {
        self.rows += 1;
        self.missed += usize::from(!holds);
        println!("  {what:<62} {seen:>14}   {target}{}", if holds { "" } else { "   MISSED" });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows, {} missed", self.rows, self.missed)
    }
}
