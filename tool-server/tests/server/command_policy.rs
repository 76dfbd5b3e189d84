//! The command policy from outside: its rules' own examples, ordinary work that must pass, tricks that
//! must not help, and lines of any shape at all.

use std::fs;
use std::path::Path;

use proptest::prelude::{ProptestConfig, any, proptest};
use protocol::{ErrorCode, ToolError};
use tool_server::policy::{EXAMPLE_DENIED_WORD, Policy, PolicySettings, markdown, rules};

/// A policy as it is by default: no network, one root.
fn policy() -> Policy {
    Policy::new(PolicySettings {
        network: false,
        extra_denied: vec![EXAMPLE_DENIED_WORD.to_owned()],
        roots: vec!["/workspace/main".into()],
    })
}

fn judge(line: &str) -> Result<(), ToolError> {
    policy().judge(line)
}

#[track_caller]
fn refused(line: &str) -> ToolError {
    let error = judge(line).expect_err(&format!("this passes: {line}"));
    assert_eq!(error.code, ErrorCode::CommandDenied, "{line}");
    error
}

#[track_caller]
fn passes(line: &str) {
    assert_eq!(judge(line), Ok(()), "{line}");
}

#[test]
fn every_rule_refuses_and_passes_its_own_examples() {
    let mut wrong = Vec::new();
    for rule in rules() {
        assert!(
            !rule.refused.is_empty() && !rule.passed.is_empty(),
            "{}: a rule without examples",
            rule.name
        );
        for line in rule.refused {
            match judge(line) {
                Ok(()) => wrong.push(format!("{}: passes, and should not: {line}", rule.name)),
                Err(error) if !error.message.contains(rule.reason) => {
                    wrong.push(format!("{}: refused by another rule: {line}: {}", rule.name, error.message));
                }
                Err(error) => assert_eq!(error.hint, rule.hint, "{line}"),
            }
        }
        for line in rule.passed {
            if let Err(error) = judge(line) {
                wrong.push(format!("{}: refused, and should not be: {line}: {}", rule.name, error.message));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The ordinary commands of the list, each with its line ends back in place.
fn ordinary_commands() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ordinary_commands.txt");
    let list = fs::read_to_string(path).expect("the list of ordinary commands is part of the repository");
    let commands = list.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    commands.map(|line| line.replace('⏎', "\n")).collect()
}

#[test]
fn no_ordinary_command_is_refused() {
    let commands = ordinary_commands();
    assert!(commands.len() >= 500, "only {} ordinary commands", commands.len());
    let wrong: Vec<String> = commands
        .iter()
        .filter_map(|line| judge(line).err().map(|error| format!("{line}\n    {}", error.message)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} refused:\n{}", wrong.len(), commands.len(), wrong.join("\n"));
}

/// The command lines of one category of the attack corpus, with places for the placeholders.
fn corpus(category: &str) -> Vec<(String, String, bool)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/attacks.jsonl");
    let cases = fs::read_to_string(path).expect("the corpus is part of the repository");
    let cases =
        cases.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a case is JSON"));
    let chosen = cases.filter(|case| case["category"] == category && case["tool"] == "bash");
    chosen
        .map(|case| {
            let line = case["args"]["cmd"].as_str().expect("a command is text");
            let line = line.replace("{ROOT}", "/workspace/main").replace("{OUTSIDE}", "/somewhere/else");
            (case["id"].to_string(), line, case["expected"] == "denied")
        })
        .collect()
}

#[test]
fn the_benign_cases_of_the_corpus_pass() {
    let cases = corpus("benign");
    assert!(cases.len() > 5);
    for (id, line, _) in cases {
        assert_eq!(judge(&line), Ok(()), "{id}: {line}");
    }
}

#[test]
fn what_the_corpus_wants_denied_is_denied_and_the_rest_is_the_kernels() {
    let cases = corpus("bash_bypass");
    assert!(cases.len() > 15);
    for (id, line, denied) in cases {
        match judge(&line) {
            Ok(()) => assert!(!denied, "{id}: {line}"),
            Err(error) => assert_eq!(error.code, ErrorCode::CommandDenied, "{id}: {line}"),
        }
    }
}

#[test]
fn a_refusal_names_the_word_the_reason_and_the_better_way() {
    let error = refused("cd src && ls -la");
    assert!(error.message.starts_with("`ls` was not run: "), "{}", error.message);
    assert!(error.hint.contains("tool `ls`"), "{}", error.hint);
    let error = refused("make && /usr/bin/vim a.txt");
    assert!(error.message.starts_with("`/usr/bin/vim` was not run: "), "{}", error.message);
}

#[test]
fn a_command_word_is_judged_wherever_commands_run() {
    for line in [
        "true; reboot",
        "true && reboot",
        "false || reboot",
        "true | reboot",
        "reboot &",
        "(reboot)",
        "{ reboot; }",
        "! reboot",
        "echo $(reboot)",
        "echo `reboot`",
        "echo \"$(reboot)\"",
        "echo \"a ${x:-$(reboot)}\"",
        "x=$(reboot)",
        "export x=$(reboot)",
        "cat <(reboot)",
        "make > >(reboot)",
        "if reboot; then true; fi",
        "if true; then true; elif reboot; then true; else true; fi",
        "for i in $(reboot); do true; done",
        "for i in 1; do reboot; done",
        "while reboot; do true; done",
        "until false; do reboot; done",
        "case $x in a) reboot ;; esac",
        "f() { reboot; }",
        "function f { reboot; }",
        "[ -f x ] || reboot",
        "[[ -f $(reboot) ]]",
        "echo $(( $(reboot) + 1 ))",
        "a=(1 $(reboot))",
        "cat <<EOF\n$(reboot)\nEOF",
        "cat <<EOF | reboot\nx\nEOF",
        "cat <<EOF && reboot\nx\nEOF",
        "cat <<EOF\nx\nEOF\nreboot",
        "cat <<< $(reboot)",
        "A=1 B=2 reboot",
        "reboot > log 2>&1",
        "time reboot",
        "coproc reboot",
        "# a comment\nreboot",
        "true\nreboot",
        "echo a \\\n  b; reboot",
        "/sbin/reboot",
        "/usr/sbin/reboot now",
    ] {
        refused(line);
    }
}

#[test]
fn a_command_word_is_judged_behind_what_carries_it() {
    for line in [
        "env reboot",
        "env -i A=1 B=2 reboot",
        "env -u HOME -- reboot",
        "env -S 'reboot now'",
        "command reboot",
        "builtin command -p reboot",
        "exec reboot",
        "exec -a x reboot",
        "nohup reboot",
        "nice -n 5 reboot",
        "nice -5 reboot",
        "ionice -c 3 reboot",
        "timeout 5 reboot",
        "timeout -k 5 --signal KILL 5s reboot",
        "setsid reboot",
        "stdbuf -o L reboot",
        "echo | xargs reboot",
        "echo | xargs -0 -n 1 -I {} reboot",
        "find . -exec reboot {} \\;",
        "find . -name x -ok true \\; -execdir reboot +",
        "fd x -x reboot",
        "busybox reboot",
        "flock lock reboot",
        "flock lock -c 'reboot'",
        "env nice nohup timeout 5 reboot",
        "bash -c reboot",
        "bash -c 'true; reboot'",
        "sh -ec \"reboot\"",
        "bash -euo pipefail -c 'reboot'",
        "/bin/bash -c 'reboot'",
        "eval reboot",
        "eval 'true;' reboot",
        "trap 'reboot now' EXIT",
        "bash -c \"bash -c 'bash -c reboot'\"",
        "bash <<< reboot",
        "bash <<'EOF'\nreboot\nEOF",
        "sh -s <<EOF\nreboot\nEOF",
        "bash -c \"cd $dir && reboot\"",
        "python3 -m pip install requests",
    ] {
        refused(line);
    }
}

#[test]
fn quotes_and_escapes_hide_no_word() {
    for line in [
        "r''eboot",
        "'reboot'",
        "\"reboot\"",
        "\\reboot",
        "re\\boot",
        "re\"bo\"ot",
        "$'reboot'",
        "$'\\x72eboot'",
        "$'\\162eboot'",
        "$'\\u0072eboot'",
        "re\\\nboot",
    ] {
        refused(line);
    }
}

#[test]
fn what_only_the_shell_knows_is_left_to_the_kernel() {
    for line in [
        "$x -rf /",
        "\"$cmd\"",
        "x=reboot; $x",
        "re$empty\"\"boot",
        "$(echo reboot)",
        "rm -rf \"$dir\"/*",
        "rm -rf /$dir",
        "git commit \"$@\"",
        "bash \"$script\"",
        "curl \"https://$HOST/\"",
        "base64 -d x | sh",
    ] {
        passes(line);
    }
}

#[test]
fn words_that_are_no_commands_are_left_alone() {
    for line in [
        "echo reboot",
        "git commit -m 'reboot; sudo'",
        "grep -rn vim . | head",
        "cat <<'EOF' > x\nreboot\n$(reboot)\nEOF",
        "reboot=1; echo $reboot",
        "echo a # reboot",
        "echo 'a\nreboot'",
        "case reboot in reboot) true ;; esac",
        "for reboot in 1; do echo $reboot; done",
    ] {
        passes(line);
    }
}

#[test]
fn a_line_that_is_no_valid_shell_is_judged_strictly() {
    for line in [
        "echo 'a; reboot",
        "git commit -m \"x; reboot now",
        "for x in; do reboot",
        "if true; then reboot",
        "((; reboot",
        "echo \"$(reboot",
        "bash -c 'reboot",
    ] {
        let error = refused(line);
        assert!(error.message.contains("no valid shell syntax"), "{}", error.message);
    }
    // Nothing in these is refused; bash itself says what is wrong with them.
    for line in ["echo 'a", "for x in; do", "git commit -m \"it is", "ls (", "exec 3<>fifo", "<<EOF"] {
        passes(line);
    }
}

#[test]
fn the_network_rules_end_where_the_network_begins() {
    let open = Policy::new(PolicySettings { network: true, ..PolicySettings::default() });
    for line in [
        "curl https://example.com",
        "git clone https://host/x",
        "ping example.com",
        "pip install x",
        "ssh host uptime",
        "scp a host:b",
    ] {
        refused(line);
        assert_eq!(open.judge(line), Ok(()), "{line}");
    }
    // A session at a terminal stays what it is.
    assert!(open.judge("ssh host").is_err());
}

#[test]
fn a_nul_byte_and_a_script_in_place_of_a_line_are_invalid() {
    for line in ["echo a\0b".to_owned(), format!("echo {}", "x".repeat(64 * 1024))] {
        let error = judge(&line).expect_err("out of bounds");
        assert_eq!(error.code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn depth_is_bounded_and_length_is_not_depth() {
    passes(&format!("{}true", "true && ".repeat(250)));
    passes(&format!("{}true", "true | ".repeat(500)));
    passes(&"true; ".repeat(500));
    passes(&"word ".repeat(10_000));
    refused(&format!("{}reboot", "true && ".repeat(250)));
    refused(&format!("echo a{}; reboot", " ".repeat(60_000)));
    for (open, close) in [
        ("( ", ")"),
        ("$(", ")"),
        ("{ ", ";}"),
        ("if true; then ", "; fi"),
        ("\"$(", ")\""),
        ("${x:-$(", ")}"),
    ] {
        for times in [50, 250, 2000] {
            let line = format!("{}reboot{}", open.repeat(times), close.repeat(times));
            refused(&line);
        }
    }
}

/// Lines whose errors cost the parser the square of their length. Each must be answered before the test's
/// own deadline; without a bound they take half a minute each.
#[test]
fn a_tangled_line_is_refused_at_once() {
    let started = std::time::Instant::now();
    for piece in ["a|", "a=(", "`>=", "<", ")a=", "@a", ";-a", "a%\n", "= ="] {
        let error = refused(&piece.repeat(60_000 / piece.len()));
        assert!(error.hint.contains("into a file"), "{piece}: {}", error.hint);
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn a_file_written_by_a_here_document_is_no_tangle() {
    let text = "int main(void) { return f(a[1], b[2]) | (c & d); } // don't\n".repeat(300);
    for line in [
        format!("cat > a.c <<'EOF'\n{text}EOF\n"),
        format!("cat > a.c <<EOF\n{text}EOF\n"),
        format!("printf '%s' \"{text}\" > a.c"),
        format!("python3 -c '{}'", text.replace('\'', "")),
    ] {
        passes(&line);
        refused(&format!("{line}\nreboot"));
        refused(&format!("sudo true\n{line}"));
    }
}

#[test]
fn code_within_code_is_bounded() {
    let mut line = "reboot".to_owned();
    for _ in 0..20 {
        line = format!("eval eval {line}");
    }
    refused(&line);
}

#[test]
fn the_document_is_the_one_that_the_rules_give() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/command-policy.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, markdown()).expect("the document can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == markdown(),
        "docs/command-policy.md is not what the rules give; with UPDATE_DOCS=1 this test writes it anew"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_an_answer(line in any::<String>()) {
        let _ = judge(&line);
    }

    #[test]
    fn any_heap_of_shell_pieces_gets_an_answer(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..60),
    ) {
        let _ = judge(&pieces.concat());
    }
}

/// What shell code is made of, for lines that are almost valid.
const PIECES: &[&str] = &[
    "rm",
    " ",
    "-rf",
    "/",
    "'",
    "\"",
    "$(",
    ")",
    "`",
    "{",
    "}",
    ";",
    "&&",
    "|",
    "<<EOF\n",
    "EOF\n",
    "\n",
    "\\",
    "$'",
    "\\x",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case ",
    "esac",
    "(",
    "((",
    "[[",
    "]]",
    "<(",
    ">",
    "${",
    "bash -c ",
    "eval ",
    "env ",
    "xargs ",
    "find ",
    "-exec ",
    "git ",
    "commit ",
    "sed -n ",
    "é",
    "\u{f8ff}",
    "function ",
    "()",
    "trap ",
    "-S",
    "timeout ",
    "#",
    "~",
    "*",
    "=",
    "cd ",
];
