//! `edit` of a file of 1 MB without syncing, beside reading and writing that file in a bare loop.
//!
//! It runs in this process, because the server always syncs, and syncing measures the disk.

use std::fs;

use files::change::diff::unified;
use files::change::edits::{Edit, replace};
use protocol::hash::sha256;
use serde_json::json;

use crate::files::source;
use crate::in_process::{self, InProcess};
use crate::measure::{Durations, us};
use crate::table::Table;

const FILE_BYTES: usize = 1_000_000;
const TIMES: usize = 300;

/// The text that is edited, back and forth.
const LIGHT: [&str; 2] = ["the light is on\n", "the light is off\n"];

/// The files that are edited. The server still has the bytes of the file it edited last, so two in turns
/// show what an edit of any other costs.
const NAMES: [&str; 2] = ["edited.rs", "other.rs"];

/// Switches the light of a file on and off.
#[derive(Default)]
struct Switch {
    is_off: [bool; NAMES.len()],
}

impl Switch {
    fn turn(&mut self, server: &InProcess, file: usize) -> anyhow::Result<()> {
        let is_off = &mut self.is_off[file];
        let [find, replace] = if *is_off { [LIGHT[1], LIGHT[0]] } else { LIGHT };
        *is_off = !*is_off;
        let body = json!({"path": NAMES[file], "find": find, "replace": replace});
        server.call("edit", &body.to_string()).map(drop)
    }
}

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let root = place.path().join("root");
    fs::create_dir(&root)?;
    let half = source(FILE_BYTES / 2);
    let texts = LIGHT.map(|light| format!("{half}\n{light}{half}"));
    let copied = root.join("copied.rs");
    fs::write(&copied, &texts[0])?;
    let config = in_process::config(&root, &place.path().join("data"))?;
    let server = InProcess::new(&config)?;
    for name in NAMES {
        fs::write(root.join(name), &texts[0])?;
        server.call("read", &json!({"path": name, "limit": 1}).to_string())?;
    }
    let mut switch = Switch::default();
    let [bare, edit] = Durations::in_turns(
        TIMES,
        [&mut || Ok(fs::write(&copied, fs::read(&copied)?)?), &mut || switch.turn(&server, 0)],
    )?;
    let mut times = 0;
    let in_turns = Durations::of(TIMES, || {
        times += 1;
        switch.turn(&server, times % NAMES.len())
    })?;
    for (name, is_off) in NAMES.iter().zip(switch.is_off) {
        let expected = &texts[usize::from(is_off)];
        anyhow::ensure!(&fs::read_to_string(root.join(name))? == expected, "the edits went wrong");
    }
    table.note("reading and writing it, p50", us(bare.p50_us()));
    table.note("edit without syncing, p50", us(edit.p50_us()));
    table.bound("ratio of the p50s", edit.p50_us() / bare.p50_us(), 3.0, "times");
    table.note("the same of two files in turns, p50", us(in_turns.p50_us()));
    pieces(table, [texts[0].as_bytes(), texts[1].as_bytes()], config.limits.bounds)
}

fn pieces(table: &mut Table, [old, new]: [&[u8]; 2], bounds: toolkit::Bounds) -> anyhow::Result<()> {
    let edits = [Edit { find: LIGHT[0], replace: LIGHT[1], all: false }];
    let replacing = Durations::of(TIMES, || replace(old, &edits, |_| String::new()))?;
    let hashing = Durations::of(TIMES, || anyhow::Ok(sha256(old)))?;
    let compare = || anyhow::Ok(unified("Updated.", "edited.rs", Some(Some(old)), Some(new), bounds));
    let comparing = Durations::of(TIMES, compare)?;
    table.note("of which one SHA-256 (there are two)", us(hashing.p50_us()));
    table.note("of which finding and replacing", us(replacing.p50_us()));
    table.note("of which the difference", us(comparing.p50_us()));
    Ok(())
}
