//! A table that is never wider than the terminal: its last column gets the space that the others leave.
//!
//! Lines below a row, colours and cut cells make this more than the lean table crates do.

use super::paint::{Colour, Paint};
use super::width::{fitted, in_one_line, of};

const GAP: &str = "  ";

/// The minimum width of the last column.
const NARROWEST_LAST: usize = 10;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub title: &'static str,
    /// Its maximum width; ignored for the last column.
    pub most: usize,
    /// Whether it is aligned right.
    pub right: bool,
}

impl Column {
    pub(crate) const fn text(title: &'static str, most: usize) -> Self {
        Self { title, most, right: false }
    }

    pub(crate) const fn number(title: &'static str, most: usize) -> Self {
        Self { title, most, right: true }
    }
}

/// Rows, and lines below a row.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    columns: &'a [Column],
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    cells: Vec<(String, Option<Colour>)>,
    notes: Vec<(Colour, String)>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(columns: &'a [Column]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = (String, Option<Colour>)>) {
        let cells = cells.into_iter().map(|(text, colour)| (in_one_line(&text), colour)).collect();
        self.rows.push(Row { cells, notes: Vec::new() });
    }

    /// Adds a line below the newest row.
    pub(crate) fn note(&mut self, colour: Colour, text: &str) {
        if let Some(row) = self.rows.last_mut() {
            row.notes.push((colour, in_one_line(text)));
        }
    }

    /// The lines, each at most `width` columns wide.
    pub(crate) fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let widths = self.widths(width);
        let titles = self.columns.iter().map(|column| (column.title.to_owned(), Some(Colour::Head)));
        let mut lines = vec![self.line(&titles.collect::<Vec<_>>(), &widths, paint)];
        for row in &self.rows {
            lines.push(self.line(&row.cells, &widths, paint));
            let indent = widths.first().copied().unwrap_or(0) + GAP.len();
            lines.extend(row.notes.iter().map(|(colour, note)| {
                let note = fitted(note, width.saturating_sub(indent));
                format!("{}{}", " ".repeat(indent), paint.paint(*colour, &note))
            }));
        }
        lines
    }

    /// Each column is as wide as its widest cell, up to its maximum.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut left = width;
        let last = self.columns.len().saturating_sub(1);
        self.columns
            .iter()
            .enumerate()
            .map(|(number, column)| {
                let cells = self.rows.iter().filter_map(|row| row.cells.get(number));
                let widest = cells.map(|(text, _)| of(text)).max().unwrap_or(0).max(of(column.title));
                let most = if number == last { left.max(NARROWEST_LAST) } else { column.most };
                let own = widest.min(most);
                left = left.saturating_sub(own + GAP.len());
                own
            })
            .collect()
    }

    fn line(&self, cells: &[(String, Option<Colour>)], widths: &[usize], paint: Paint) -> String {
        let set = self.columns.iter().zip(widths).zip(cells).map(|((column, width), (text, colour))| {
            let text = fitted(text, *width);
            let padding = " ".repeat(width.saturating_sub(of(&text)));
            let text = colour.map_or(text.clone(), |colour| paint.paint(colour, &text));
            if column.right { padding + &text } else { text + &padding }
        });
        set.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[Column::text("A", 6), Column::number("N", 4), Column::text("TEXT", 0)];

    fn table(text: &str) -> Table<'static> {
        let mut table = Table::new(COLUMNS);
        table.row([("one".to_owned(), None), ("1".to_owned(), None), (text.to_owned(), None)]);
        table.note(Colour::Bad, text);
        table
    }

    #[test]
    fn columns_are_as_wide_as_they_must_be_and_numbers_stand_right() {
        let mut table = table("x");
        table.row([("longer than six".to_owned(), None), ("12".to_owned(), None), ("y".to_owned(), None)]);
        let lines = table.lines(40, Paint(false));
        assert_eq!(lines, ["A        N  TEXT", "one      1  x", "        x", "longe…  12  y"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_whatever_is_in_it() {
        for text in [&"a".repeat(200), &"日".repeat(100), &"🚀 ".repeat(90), "a\nb\u{1b}[2J"] {
            for line in table(text).lines(40, Paint(false)) {
                assert!(of(&line) <= 40 && !line.contains(char::is_control), "{line:?}");
            }
        }
    }

    #[test]
    fn colours_are_only_there_when_they_are_asked_for() {
        assert!(table("x").lines(40, Paint(true)).concat().contains("\u{1b}[31mx\u{1b}[0m"));
        assert!(!table("x").lines(40, Paint(false)).concat().contains('\u{1b}'));
    }
}
