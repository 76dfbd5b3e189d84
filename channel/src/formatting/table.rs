//! A table as lines of equal columns, for code: messengers have no tables.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

/// A table's cells without formatting, row by row; the first row is its head.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// The table with a line below its head.
    pub(super) fn lines(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| self.line(row, &widths)).collect();
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        if !lines.is_empty() {
            lines.insert(1, rule.join("─┼─"));
        }
        lines.join("\n")
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cell = |(column, width): (usize, &usize)| {
            let text = row.get(column).map_or("", String::as_str);
            let blanks = width - text.width();
            let before = match self.alignments.get(column) {
                Some(Alignment::Right) => blanks,
                Some(Alignment::Center) => blanks / 2,
                Some(Alignment::Left | Alignment::None) | None => 0,
            };
            format!("{}{text}{}", " ".repeat(before), " ".repeat(blanks - before))
        };
        let cells: Vec<String> = widths.iter().enumerate().map(cell).collect();
        cells.join(" │ ").trim_end().to_owned()
    }
}
