//! The programs: a question as their options, and their answers read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A result of `rg`: the path, and the line with its column, or the number of lines, or nothing more.
pub(super) type Hit = (Vec<u8>, Option<u64>, Option<u64>);

pub(super) fn rg(root: &Path, question: &Value) -> BTreeSet<Hit> {
    let mut command = program(&["rg"]);
    command.current_dir(root).args(["--no-config", "--no-ignore-global", "--crlf", "--sort=none"]);
    let is = |name: &str| question[name].as_bool();
    for (applies, option) in [
        (is("literal") == Some(true), "--fixed-strings"),
        (is("case_sensitive") == Some(false), "--ignore-case"),
        (is("include_hidden") == Some(true), "--hidden"),
        (is("include_ignored") == Some(true), "--no-ignore"),
        (question["path"].is_null(), "--no-ignore-parent"),
    ] {
        command.args(applies.then_some(option));
    }
    command.args(question["glob"].as_str().map(|glob| format!("--glob={glob}")));
    let pattern = question["pattern"].as_str().unwrap();
    let path = question["path"].as_str().unwrap_or(".");
    let asked = |form: &[&str], command: &mut Command| {
        output(command.args(form).args(["-e", pattern, "--", path]), &[0, 1])
    };
    match question["output"].as_str() {
        Some("files") => terminated(&asked(&["--files-with-matches", "--null"], &mut command), 0)
            .map(|path| (path, None, None))
            .collect(),
        Some("count") => counts(&asked(&["--count", "--null"], &mut command)),
        _ => lines(&asked(&["--json"], &mut command)),
    }
}

/// Asks `fd`. It reads git's ignore files outside of repositories, too, in some versions.
pub(super) fn fd(root: &Path, question: &Value, has_git: bool) -> BTreeSet<Vec<u8>> {
    let mut command = program(&["fdfind", "fd"]);
    command.current_dir(root).args(["--print0", "--case-sensitive", "--color=never"]);
    let is = |name: &str| question[name].as_bool() == Some(true);
    for (applies, option) in [
        (is("include_hidden"), "--hidden"),
        (is("include_ignored"), "--no-ignore"),
        (!has_git, "--no-ignore-vcs"),
        (question["path"].is_null(), "--no-ignore-parent"),
    ] {
        command.args(applies.then_some(option));
    }
    command.args(question["max_depth"].as_u64().map(|depth| format!("--max-depth={depth}")));
    command.args(match question["type"].as_str() {
        Some("file") => Some("--type=f"),
        Some("dir") => Some("--type=d"),
        _ => None,
    });
    let glob = question["name_pattern"].as_str().unwrap_or("*");
    if glob.contains('/') {
        command.args(["--full-path", "--glob", "--", root.join(glob).to_str().unwrap()]);
    } else {
        command.args(["--glob", "--", glob]);
    }
    let answer = output(command.arg(question["path"].as_str().unwrap_or(".")), &[0, 1]);
    terminated(&answer, 0).map(|path| path.strip_suffix(b"/").map(<[u8]>::to_vec).unwrap_or(path)).collect()
}

/// The program under one of its names, without any user's settings.
fn program(names: &[&str]) -> Command {
    let has = |name: &&&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let name = names.iter().find(has);
    let mut command =
        Command::new(name.unwrap_or_else(|| panic!("this test needs {names:?}: type `make setup`")));
    command.env("HOME", "/nonexistent").env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
    command
}

fn output(command: &mut Command, good: &[i32]) -> Vec<u8> {
    let output = command.output().unwrap();
    let code = output.status.code().unwrap();
    assert!(good.contains(&code), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The pieces that end in a byte, as paths.
fn terminated(bytes: &[u8], by: u8) -> impl Iterator<Item = Vec<u8>> {
    bytes.split(move |byte| *byte == by).filter(|piece| !piece.is_empty()).map(path)
}

fn path(bytes: &[u8]) -> Vec<u8> {
    bytes.strip_prefix(b"./").unwrap_or(bytes).to_vec()
}

/// `path NUL number newline`, where a path may have newlines.
fn counts(mut bytes: &[u8]) -> BTreeSet<Hit> {
    let mut hits = BTreeSet::new();
    while let Some(nul) = bytes.iter().position(|byte| *byte == 0) {
        let rest = &bytes[nul + 1..];
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let number = OsStr::from_bytes(&rest[..end]).to_str().unwrap().trim_end().parse().unwrap();
        hits.insert((path(&bytes[..nul]), Some(number), None));
        bytes = &rest[end + 1..];
    }
    hits
}

/// The lines of `--json`. Of a binary file `rg` shows the part before the NUL; the tool shows nothing.
fn lines(bytes: &[u8]) -> BTreeSet<Hit> {
    let messages = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let (mut hits, mut binary) = (BTreeSet::new(), BTreeSet::new());
    for message in messages.map(|line| serde_json::from_slice::<Value>(line).unwrap()) {
        let data = &message["data"];
        if message["type"] == "match" {
            let column = data["submatches"][0]["start"].as_u64().map(|start| start + 1);
            hits.insert((json_path(&data["path"]), data["line_number"].as_u64(), column));
        } else if !data["binary_offset"].is_null() {
            binary.insert(json_path(&data["path"]));
        }
    }
    hits.into_iter().filter(|(path, ..)| !binary.contains(path)).collect()
}

fn json_path(value: &Value) -> Vec<u8> {
    match value["text"].as_str() {
        Some(text) => path(text.as_bytes()),
        None => path(&STANDARD.decode(value["bytes"].as_str().unwrap()).unwrap()),
    }
}
