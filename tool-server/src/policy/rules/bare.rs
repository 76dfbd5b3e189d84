//! Commands that stand alone where a tool does the same with evidence: sorted, paged, with hashes, and
//! remembered for the optimistic lock.
//!
//! What the tool can not do passes: other options, places outside of the roots, words that only the
//! shell can expand.

use super::Rule;
use crate::policy::PolicySettings;
use crate::policy::arguments::Arguments;
use crate::policy::command::Command;
use crate::policy::paths::is_beyond_tools;
use crate::policy::word::Word;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "Listing alone",
        words: &["ls", "dir", "vdir"],
        other_words: "",
        when: "alone.",
        applies: lists,
        reason: "alone it does what the tool `ls` does, which also pages and tells size and time.",
        hint: "Call the tool `ls` with `path` (`include_hidden`, `recursive`). For owner and mode: `stat -c '%A %U %n' <path>`.",
        refused: &[
            "ls",
            "ls -la src",
            "cd src && ls",
            "\\ls",
            "# look\nls -R",
            "LC_ALL=C ls",
            "bash -c 'ls -l'",
        ],
        passed: &[
            "ls | wc -l",
            "ls; pwd",
            "ls > list.txt",
            "ls $(git rev-parse --show-toplevel)",
            "echo $(ls)",
            "ls \"$dir\"",
            "ls /usr/include",
            "make && ls",
        ],
    },
    Rule {
        name: "Showing a file alone",
        words: &["cat", "head", "tail", "sed"],
        other_words: "",
        when: "alone; `sed` with `-n` and nothing but line numbers to print.",
        applies: shows,
        reason: "alone it does what the tool `read` does, which also numbers lines and lets you edit afterwards.",
        hint: "Call the tool `read` with `path` (`start_line` and `limit`, or `offset` and `limit_bytes`).",
        refused: &[
            "cat a.txt",
            "head -20 a",
            "tail -n 5 log",
            "sed -n '1,5p' a",
            "sed -n 10p a",
            "sed -ne '1,5p' a",
            "cd x && cat a b",
        ],
        passed: &[
            "cat a | grep x",
            "cat a b > c",
            "cat > f <<'EOF'\nx\nEOF",
            "cat a; cat b",
            "sed -i s/a/b/ f",
            "sed -n 's/a/b/p' f",
            "cat /etc/os-release",
            "cat \"$file\"",
            "cd \"$dir\" && cat a",
            "cat -A a",
            "cargo test | tail -5",
            "make 2>&1 | head",
        ],
    },
    Rule {
        name: "Searching text alone",
        words: &["grep", "egrep", "fgrep", "rg"],
        other_words: "",
        when: "alone, with options that the tool has.",
        applies: searches,
        reason: "alone it does what the tool `grep` does, which also sorts, pages and skips what is ignored.",
        hint: "Call the tool `grep` with `pattern` and `path` (`glob`, `context`, `output`, `case_sensitive`).",
        refused: &["grep -rn TODO src", "rg pattern", "grep -i x a.txt", "cd src && grep -c x a"],
        passed: &[
            "grep -rn TODO src | head",
            "grep -q x a && echo yes",
            "grep -v '^#' conf",
            "grep -oE '[0-9]+' a",
            "rg --files",
            "! grep -q x a",
            "git grep x",
            "grep x /proc/cpuinfo",
        ],
    },
    Rule {
        name: "Finding files alone",
        words: &["find", "fd", "fdfind"],
        other_words: "",
        when: "alone, with only names, types and depth.",
        applies: finds,
        reason: "alone it does what the tool `find` does, which also sorts, pages and skips what is ignored.",
        hint: "Call the tool `find` with `path` (`name_pattern`, `type`, `max_depth`).",
        refused: &[
            "find . -name '*.rs'",
            "find src -type f",
            "find",
            "fd main",
            "find . -maxdepth 2 -type d -print",
        ],
        passed: &[
            "find . -name '*.rs' | wc -l",
            "find . -name '*.pyc' -delete",
            "find . -size +1M",
            "find . -name x -exec touch {} +",
            "find / -name libssl.so",
            "fd -x wc -l",
            "find . -newer a",
        ],
    },
];

/// Whether a tool could do this instead: the line is nothing else, and all of it is known and in reach.
fn stands_alone(command: &Command, settings: &PolicySettings) -> bool {
    let beyond = |word: &Word| word.known().is_none() || is_beyond_tools(word, &settings.roots);
    let directory = command.directory.as_deref().map(Word::new);
    command.place.alone
        && !command.says(&["--version", "--help"])
        && !command.arguments.iter().chain(&directory).any(beyond)
}

fn lists(command: &Command, settings: &PolicySettings) -> bool {
    stands_alone(command, settings)
}

fn shows(command: &Command, settings: &PolicySettings) -> bool {
    let arguments = Arguments::of(&command.arguments, &["-n", "-c", "--lines", "--bytes"]);
    let shows = match command.name.as_str() {
        "sed" => prints_lines(command),
        "cat" => {
            !arguments.has(&["-A", "-v", "-e", "-t", "-E", "-T", "--show-all", "--show-ends", "--show-tabs"])
        }
        _ => true,
    };
    shows && stands_alone(command, settings)
}

/// `sed -n '1,5p'`: a script of line numbers and `p`, and nothing that changes a file.
fn prints_lines(command: &Command) -> bool {
    let arguments = Arguments::of(&command.arguments, &[]);
    let script = arguments.known(0).unwrap_or_default();
    let line_numbers = script.chars().all(|c| c.is_ascii_digit() || "$,;pq+~ {}=".contains(c));
    arguments.has(&["-n", "--quiet", "--silent"]) && !arguments.has(&["-i", "--in-place"]) && line_numbers
}

fn searches(command: &Command, settings: &PolicySettings) -> bool {
    let valued = [
        "-e",
        "-A",
        "-B",
        "-C",
        "-m",
        "-g",
        "-t",
        "-T",
        "--include",
        "--exclude",
        "--glob",
        "--type",
        "--context",
    ];
    let other = [
        "-v",
        "-o",
        "-P",
        "-L",
        "-f",
        "-z",
        "-b",
        "-U",
        "-r",
        "--invert-match",
        "--only-matching",
        "--perl-regexp",
        "--files-without-match",
        "--file",
        "--json",
        "--files",
        "--stats",
        "--multiline",
        "--replace",
        "--pcre2",
        "--type-list",
    ];
    // The recursion of grep is the replacement of rg.
    let other = other.iter().copied().filter(|o| *o != "-r" || command.name == "rg").collect::<Vec<_>>();
    !Arguments::of(&command.arguments, &valued).has(&other) && stands_alone(command, settings)
}

fn finds(command: &Command, settings: &PolicySettings) -> bool {
    const KNOWN: [&str; 18] = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-type",
        "-maxdepth",
        "-mindepth",
        "-print",
        "-not",
        "-o",
        "-or",
        "-a",
        "-H",
        "-I",
        "-e",
        "-t",
        "-d",
    ];
    let mut options = command.arguments.iter().map(Word::text).filter(|text| text.starts_with('-'));
    options.all(|option| KNOWN.contains(&option)) && stands_alone(command, settings)
}
