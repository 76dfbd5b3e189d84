//! The trees that are searched.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::tree::make;
use tempfile::TempDir;

/// How much of the registry is searched unless all of it is asked for.
const REGISTRY_BYTES: u64 = 12 << 20;

/// A tree; what was made for the test goes away with it.
pub(crate) struct Tree {
    pub root: PathBuf,
    _made: Option<TempDir>,
}

impl Tree {
    /// The files that git tracks in a repository, as a repository of their own.
    pub(crate) fn copied(repository: &Path, most_bytes: u64) -> Self {
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(repository).output();
        let listed = listed.expect("git is needed to list this project's files").stdout;
        let files = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let files = files.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
        let tree = Self::copy(repository, files, most_bytes);
        write(&tree.root.join(".git/info/exclude"), "*.lock\n");
        tree
    }

    /// The sources that cargo unpacked, up to a bound.
    pub(crate) fn registry() -> Self {
        let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo = cargo.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo"));
        let root = cargo.join("registry/src");
        if std::env::var_os("AUTONOUS_TEST_WHOLE_REGISTRY").is_some() {
            return Self { root, _made: None };
        }
        let mut files = Vec::new();
        files_beneath(&root, &root, &mut files);
        files.sort();
        // Every crate has something of it, the small files first.
        files.sort_by_key(|file| fs::metadata(root.join(file)).map_or(0, |metadata| metadata.len() / 20_000));
        Self::copy(&root, files, REGISTRY_BYTES)
    }

    /// Fifty thousand files, with ignore files, hidden names, links and odd names.
    pub(crate) fn generated() -> Self {
        let made = tempfile::tempdir().unwrap();
        let root = made.path().join("tree");
        (0..50_000).for_each(|number| write(&root.join(numbered(number)), content(number)));
        ignore_files(&root);
        odd_names(&root.join("odd"));
        links(&root);
        Self { root, _made: Some(made) }
    }

    fn copy(from: &Path, files: Vec<PathBuf>, most_bytes: u64) -> Self {
        let made = tempfile::tempdir().unwrap();
        let root = made.path().join("tree");
        let mut bytes = 0;
        for file in files {
            // A file that somebody deletes meanwhile is not part of the tree.
            let Ok(content) = fs::read(from.join(&file)) else { continue };
            bytes += content.len() as u64;
            if bytes > most_bytes {
                break;
            }
            write(&root.join(file), &content);
        }
        Self { root, _made: Some(made) }
    }
}

fn files_beneath(root: &Path, directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            files_beneath(root, &entry.path(), files);
        } else {
            files.push(entry.path().strip_prefix(root).unwrap().to_owned());
        }
    }
}

fn numbered(number: usize) -> String {
    let (directory, sub) = (number % 40, number / 40 % 10);
    let extension = ["txt", "rs", "log", "md", "tmp"][number % 5];
    let hidden = if number.is_multiple_of(97) { "." } else { "" };
    let deep = if number.is_multiple_of(13) { "deep/.hidden/src/" } else { "" };
    format!("d{directory:02}/s{sub}/{deep}{hidden}f{number}.{extension}")
}

fn content(number: usize) -> String {
    match number % 11 {
        0 => String::new(),
        1 => format!("fn f{number}() {{\r\n    needle\r\n}}\r\n"),
        2 => format!("needle {number}\n\0 and what makes it binary\n"),
        3 => format!("no final newline {number} Größe needle"),
        4 => "a line\n\n".repeat(number % 50),
        _ => format!(
            "// {number}\nfn f() -> usize {{ {number}; }}\nuse impl name error ERROR a.b (x) 2024-01\n"
        ),
    }
}

fn ignore_files(root: &Path) {
    let files = [
        (".git/info/exclude", "f*7.md\n"),
        (".gitignore", "*.log\n/d05/\n!/d06/**/*.log\nd1?/s2/*.txt\n**/deep/**/f*3.rs\n"),
        (".ignore", "*.tmp\n!d07/s3/*.tmp\n"),
        ("d07/.gitignore", "!*.log\n*.md\ns4/\n"),
        ("d07/s3/.ignore", "f*2.*\n!.f*\n"),
        ("d08/.git/HEAD", "a repository in a repository\n"),
        ("d08/.gitignore", "*.rs\n"),
        ("d08/s1/.gitignore", "!f*8.rs\n# comment\n\\#odd\n[\ntrailing   \n"),
        ("d09/.git", "gitdir: ../elsewhere\n"),
        ("d09/s5/.gitignore", "*\n!*/\n!*.rs\n"),
        ("d11/.gitignore", "!.f*\n!.hidden/\n"),
    ];
    make(root, &files);
}

fn odd_names(directory: &Path) {
    let long = [b'n'; 255];
    let names: [&[u8]; 14] = [
        b"new\nline",
        b"tab\tname",
        b" leading and trailing ",
        b"-v",
        b"--files",
        b"back\\slash",
        b"\xff\xfe bytes",
        b"quote'\"",
        b"glob[a]*?{b}",
        "größe 日本".as_bytes(),
        "\u{202e}reversed".as_bytes(),
        b"semi;colon",
        b"\x1b[31m",
        &long,
    ];
    for name in names {
        write(&directory.join(OsStr::from_bytes(name)), "needle\n");
        if name.len() < 200 {
            write(&directory.join("d").join(OsStr::from_bytes(name)).join("x"), "a needle\n");
        }
    }
    let utf16: Vec<u8> = "needle ü\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    write(&directory.join("utf16"), [&[0xff, 0xfe], utf16.as_slice()].concat());
    write(&directory.join("latin1"), b"gr\xf6\xdfe needle\n");
    write(&directory.join("late nul"), [b"needle\n".repeat(40_000), vec![0]].concat());
}

fn links(root: &Path) {
    fs::create_dir(root.join("links")).unwrap();
    for (name, target) in [
        ("file", "../odd/utf16"),
        ("dir", "../d01"),
        ("broken", "nowhere"),
        ("loop", "loop"),
        ("up", ".."),
        ("ignored.log", "x"),
    ] {
        symlink(target, root.join("links").join(name)).unwrap();
    }
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
