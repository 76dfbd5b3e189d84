//! Tables: rows of cells, and whether they are data or only a layout.

use super::writer::Writer;

/// The most columns and rows that are kept.
const MOST_COLUMNS: usize = 64;
const MOST_ROWS: usize = 20_000;

/// A longer cell is no data.
const MOST_CELL_BYTES: usize = 1000;

/// A table between its tags.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// How long its cells are together.
    bytes: usize,
    has_header: bool,
    has_table: bool,
    /// How many structures were open when the cell began; none outside of cells.
    pub(super) open_cell: Option<usize>,
    /// How many columns that cell takes.
    pub(super) next_columns: usize,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        if self.rows.len() < MOST_ROWS {
            self.rows.push(Vec::new());
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn note_header(&mut self) {
        self.has_header = true;
    }

    pub(super) fn note_table(&mut self) {
        self.has_table = true;
    }

    pub(super) fn add(&mut self, cell: &str, columns: usize) {
        if self.rows.is_empty() {
            self.begin_row();
        }
        let Some(row) = self.rows.last_mut() else { return };
        if row.len() < MOST_COLUMNS {
            row.push(cell.trim().to_owned());
            self.bytes += cell.len();
            let more = columns.clamp(1, MOST_COLUMNS) - 1;
            row.extend(std::iter::repeat_n(String::new(), more.min(MOST_COLUMNS - row.len())));
        }
    }

    pub(super) fn write(mut self, writer: &mut Writer, marks: bool) {
        self.rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let fits = |cell: &String| {
            cell.len() <= MOST_CELL_BYTES
                && (!cell.contains('\n') || (self.has_header && !cell.contains("```")))
        };
        writer.line_break(2);
        if columns >= 2 && !self.has_table && self.rows.iter().flatten().all(fits) {
            self.write_rows(writer, columns, marks);
        } else {
            for cell in self.rows.iter().flatten().filter(|cell| !cell.is_empty()) {
                writer.lines(cell);
                writer.line_break(2);
            }
        }
        writer.line_break(2);
    }

    fn write_rows(&self, writer: &mut Writer, columns: usize, marks: bool) {
        for (index, row) in self.rows.iter().enumerate() {
            let mut cells: Vec<String> = row.iter().map(|cell| in_one_line(cell, marks)).collect();
            if marks {
                cells.resize(columns, String::new());
                writer.lines(&format!("| {} |", cells.join(" | ")));
                if index == 0 {
                    writer.lines(&format!("|{}", " --- |".repeat(columns)));
                }
            } else {
                writer.lines(cells.join("\t").trim_end());
            }
        }
    }
}

fn in_one_line(cell: &str, marks: bool) -> String {
    if !marks {
        return cell.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let lines: Vec<&str> = cell.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("<br>").replace('|', "\\|")
}
