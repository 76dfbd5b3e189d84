//! The tables of docs/reference.md are those of the table. `make docs` writes them.

use std::fmt::Write as _;
use std::path::Path;

use settings::table::ALL;
use settings::{Program, Row, WhenUnset};

const SECTIONS: [(&str, Program); 3] =
    [("Supervisor", Program::Supervisor), ("Tool server", Program::ToolServer), ("Worker", Program::Worker)];

const HEAD: &str = "| variable | values | default | meaning |\n|---|---|---|---|\n";

/// The table of the settings that belong to a program first.
fn table(program: Program) -> String {
    let mut table = HEAD.to_owned();
    for row in ALL.iter().filter(|row| row.readers().programs.first() == Some(&program)) {
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            row.name(),
            values(*row),
            default(*row),
            row.meaning()
        );
    }
    table
}

fn values(row: &dyn Row) -> String {
    let expected = row.expected();
    match expected.strip_prefix("a whole number from ") {
        None => expected.trim_start_matches("one of ").to_owned(),
        Some(range) if range.contains(" to ") => range.to_owned(),
        Some(least) => format!("at least {least}"),
    }
}

fn default(row: &dyn Row) -> String {
    match row.default() {
        WhenUnset::Value("") => "none".to_owned(),
        WhenUnset::Value(value) => format!("`{value}`"),
        WhenUnset::Words(words) => words.to_owned(),
    }
}

#[test]
fn the_tables_of_the_docs_are_those_of_the_settings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference.md");
    let read = || std::fs::read_to_string(&path).unwrap();
    let mut generated = read();
    for (section, program) in SECTIONS {
        let section = generated.find(&format!("\n### {section}\n")).expect("the docs have this section");
        let start = section + generated[section..].find("| variable |").expect("it has a table");
        let rows = generated[start..].split_inclusive('\n').take_while(|line| line.starts_with('|'));
        let end = start + rows.map(str::len).sum::<usize>();
        generated.replace_range(start..end, &table(program));
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    assert!(read() == generated, "docs/reference.md is out of date: run `make docs`");
}
