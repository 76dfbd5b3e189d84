//! A table as lines of equal columns, for code: messengers have no tables. One that is wider than a phone's
//! screen is a list, since a phone breaks its lines.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

use super::Style;
use super::builder::Builder;

/// The characters of code that fit on one line of a phone in portrait, 390 points wide.
const PHONE_COLUMNS: usize = 40;

const BETWEEN: &str = " │ ";

/// A table's cells without formatting, row by row; the first row is its head.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn write(self, to: &mut Builder) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let is_wide =
            widths.iter().sum::<usize>() + BETWEEN.width() * columns.saturating_sub(1) > PHONE_COLUMNS;
        if is_wide && self.rows.len() > 1 {
            self.write_as_list(to);
        } else {
            to.write_code(None, &self.lines(&widths));
        }
    }

    /// An item for each row: its first cell, and below it the others behind the heads of their columns.
    fn write_as_list(&self, to: &mut Builder) {
        let Some((head, rows)) = self.rows.split_first() else { return };
        to.begin_list();
        for row in rows {
            to.begin_item("• ".to_owned());
            let mut cells = head.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
            if let Some((_, first)) = cells.next() {
                to.write_in(Style::Bold, first);
            }
            for (name, cell) in cells {
                to.end_line();
                to.write(&if name.is_empty() { cell.clone() } else { format!("{name}: {cell}") });
            }
            to.flush_marker();
        }
        to.end_list();
    }

    /// The table with a line below its head.
    fn lines(&self, widths: &[usize]) -> String {
        let mut lines: Vec<String> = self.rows.iter().map(|row| self.line(row, widths)).collect();
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
        cells.join(BETWEEN).trim_end().to_owned()
    }
}
