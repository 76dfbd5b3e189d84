//! A picture of the conversation in a terminal, as an emulator of one shows it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use harness::browser::Browser;
use harness::{FakeModel, ModelReply, System, TestDir};
use serde_json::json;

use crate::control_page::save;

const COLUMNS: u16 = 84;
const ROWS: u16 = 24;

const RULES: &str = "[[rule]]\ntools = [\"delete\"]\ndecision = \"ask\"\nreason = \"it deletes a file\"\n";

/// The colours of the sixteen that programs name.
const COLOURS: [&str; 8] =
    ["#30363d", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d0d7de"];

const STYLE: &str = "body{margin:0;background:#161b22;color:#d0d7de}\
     pre{margin:0;padding:14px 18px;font:15px/1.35 \"DejaVu Sans Mono\",monospace}";

/// Takes the picture into a directory, and returns its path.
pub(crate) fn take(directory: &Path) -> PathBuf {
    let model = FakeModel::answering(vec![
        ModelReply::text("There are two notes: **plan.md** and `old.md`, which is empty."),
        ModelReply::call("read", &json!({"path": "old.md"})),
        ModelReply::call("delete", &json!({"path": "old.md"})),
        ModelReply::text("`old.md` is gone."),
    ]);
    let system = System::builder().policy(RULES).model(&model).start();
    for (name, content) in [("plan.md", "# Plan\n"), ("old.md", "")] {
        std::fs::write(system.workspace().join(name), content).expect("the workspace is ours");
    }
    let mut terminal = system.terminal(&["chat"], COLUMNS);
    terminal.wait_for("> ", 0);
    terminal.type_in("Which notes are there?\r");
    let before = terminal.wait_for("which is empty", 0).len();
    terminal.type_in("Please delete the empty one.\r");
    terminal.wait_for("It deletes a file", before);
    terminal.wait_for("[d]eny", before);
    let mut screen = vt100::Parser::new(ROWS, COLUMNS, 0);
    screen.process(terminal.shown().as_bytes());
    let page = directory.join("terminal-chat.html");
    std::fs::write(&page, html(screen.screen())).expect("a page can be written");
    let profile = TestDir::new();
    let mut browser = Browser::start(profile.path());
    browser.look(820, true);
    let page = page.canonicalize().expect("the page was written");
    browser.open(&format!("file://{}", page.display()));
    browser.wait_until("document.readyState === 'complete'");
    save(&mut browser, directory.join("terminal-chat.png"), 372)
}

/// The rows that have something, each cell in its colour.
fn html(screen: &vt100::Screen) -> String {
    let mut text = String::new();
    let last = screen.rows(0, COLUMNS).enumerate().filter(|(_, row)| !row.trim().is_empty()).last();
    let rows = last.map_or(0, |(row, _)| row + 1);
    for row in 0..u16::try_from(rows).unwrap_or(ROWS) {
        for column in 0..COLUMNS {
            let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
                continue;
            };
            let shown = if cell.has_contents() { cell.contents() } else { " " };
            let shown = shown.replace('&', "&amp;").replace('<', "&lt;");
            let bold = if cell.bold() { "font-weight:bold;" } else { "" };
            let dim = if cell.dim() { "opacity:.65;" } else { "" };
            let colour = match cell.fgcolor() {
                vt100::Color::Idx(index) => format!("color:{};", COLOURS[usize::from(index) % COLOURS.len()]),
                vt100::Color::Default | vt100::Color::Rgb(..) => String::new(),
            };
            let style = format!("{bold}{dim}{colour}");
            let _ = match style.is_empty() {
                true => write!(text, "{shown}"),
                false => write!(text, "<span style='{style}'>{shown}</span>"),
            };
        }
        text.push('\n');
    }
    format!("<!doctype html><meta charset=utf-8><title>chat</title><style>{STYLE}</style><pre>{text}</pre>\n")
}
