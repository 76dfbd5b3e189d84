//! The command policy from outside: the table's own examples, ordinary work that must pass, tricks that
//! must not help, and lines of any shape at all.
//!
//! Lists of lines are separated by ` · `; `⏎` stands for a line's end in one.

use std::fs;
use std::path::Path;

use command_policy::{EXAMPLE_DENIED_WORD, Policy, PolicySettings, RULES, markdown};
use proptest::prelude::{ProptestConfig, any, proptest};
use protocol::{ErrorCode, ToolError};

fn settings() -> PolicySettings {
    PolicySettings {
        extra_denied: vec![EXAMPLE_DENIED_WORD.to_owned()],
        roots: vec!["/workspace/main".into(), "/workspace/second".into()],
        ..PolicySettings::default()
    }
}

/// Judges as by default: no network.
fn judge(line: &str) -> Result<(), ToolError> {
    Policy::new(settings()).judge(line, None)
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

fn lines(list: &str) -> impl Iterator<Item = String> {
    list.split(" · ").map(|line| line.replace('⏎', "\n"))
}

#[track_caller]
fn all_refused(list: &str) {
    for line in lines(list) {
        refused(&line);
    }
}

#[track_caller]
fn all_pass(list: &str) {
    for line in lines(list) {
        passes(&line);
    }
}

#[test]
fn every_row_of_the_table_refuses_and_passes_its_own_examples() {
    let mut wrong = Vec::new();
    for rule in RULES {
        let name = rule.words;
        assert!(!rule.refused.is_empty() && !rule.passed.is_empty(), "{name}: a row without examples");
        for line in lines(rule.refused) {
            match judge(&line) {
                Ok(()) => wrong.push(format!("{name}: passes, and should not: {line}")),
                Err(error) if !error.message.contains(rule.reason) => {
                    wrong.push(format!("{name}: refused by another row: {line}: {}", error.message));
                }
                Err(error) if error.hint != rule.hint && !error.hint.starts_with("Call `") => {
                    wrong.push(format!("{name}: another hint: {line}: {}", error.hint));
                }
                Err(_) => {}
            }
        }
        let passed = lines(rule.passed).filter_map(|line| Some((judge(&line).err()?, line)));
        wrong.extend(passed.map(|(error, line)| format!("{name}: refused: {line}: {}", error.message)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the data file says of each line, and the line.
fn one_liners() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/one_liners.txt");
    let list = fs::read_to_string(path).expect("the list of one-liners is part of the repository");
    let lines = list.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(verdict, line)| (verdict.to_owned(), line.to_owned())).collect()
}

#[test]
fn what_people_type_is_judged_right() {
    let lines = one_liners();
    assert!(lines.len() >= 200, "only {} lines", lines.len());
    let mut wrong = Vec::new();
    for (verdict, line) in lines {
        let judged = match judge(&line) {
            Ok(()) => "passes".to_owned(),
            Err(error) => error
                .hint
                .strip_prefix("Call `")
                .and_then(|hint| hint.split_once('`'))
                .map_or_else(|| "refused".to_owned(), |(tool, _)| tool.to_owned()),
        };
        if judged != verdict {
            wrong.push(format!("{line}: {judged}, not {verdict}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The ordinary commands of the list, with their line ends back in place.
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

#[test]
fn the_corpus_is_denied_where_it_says_so_and_passes_where_it_is_benign() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/attacks.jsonl");
    let cases = fs::read_to_string(path).expect("the corpus is part of the repository");
    let mut seen = [0, 0];
    for case in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(case).expect("a case is JSON");
        let (category, id) = (case["category"].as_str(), &case["id"]);
        let Some(line) = case["args"]["cmd"].as_str().filter(|_| case["tool"] == "bash") else { continue };
        let line = line.replace("{ROOT}", "/workspace/main").replace("{OUTSIDE}", "/somewhere/else");
        match (category, judge(&line)) {
            (Some("benign"), judged) => {
                assert_eq!(judged, Ok(()), "{id}: {line}");
                seen[0] += 1;
            }
            (Some("bash_bypass"), judged) => {
                let may_pass = case["expected"] != "denied";
                let is_denied = judged.is_err_and(|error| error.code == ErrorCode::CommandDenied);
                assert!(may_pass || is_denied, "{id}: {line}");
                seen[1] += 1;
            }
            _ => {}
        }
    }
    assert!(seen[0] > 5 && seen[1] > 15, "{seen:?}");
}

#[test]
fn a_refusal_names_the_word_the_reason_and_the_better_way() {
    let error = refused("make && /usr/bin/vim a.txt");
    assert!(error.message.starts_with("`/usr/bin/vim` was not run: "), "{}", error.message);
    for (line, hint) in [
        ("ls", r#"Call `ls` with {"path":"."}."#),
        ("ls -a /workspace/main/", r#"Call `ls` with {"include_hidden":true,"path":"."}."#),
        ("cd src && cat main.rs", r#"Call `read` with {"path":"src/main.rs"}."#),
        ("cat /workspace/second/a", r#"Call `read` with {"path":"/workspace/second/a"}."#),
        ("head a", r#"Call `read` with {"limit":10,"path":"a"}."#),
        ("head -n 3 'a b'", r#"Call `read` with {"limit":3,"path":"a b"}."#),
        ("tail -n +5 a", r#"Call `read` with {"path":"a","start_line":5}."#),
        ("sed -n 10,12p a", r#"Call `read` with {"limit":3,"path":"a","start_line":10}."#),
        ("grep -in x a", r#"Call `grep` with {"case_sensitive":false,"path":"a","pattern":"x"}."#),
        ("grep -F 'f(x)' a", r#"Call `grep` with {"literal":true,"path":"a","pattern":"f(x)"}."#),
        ("rg 'fn \\w+' src", r#"Call `grep` with {"path":"src","pattern":"fn \\w+"}."#),
    ] {
        // serde_json keeps keys sorted, or in the order of the code if another crate asks it to.
        let sorted = |text: &str| {
            let mut parts: Vec<String> = text.split(['{', ',', '}']).map(str::to_owned).collect();
            parts.sort();
            parts
        };
        assert_eq!(sorted(&refused(line).hint), sorted(hint), "{line}");
    }
    let find = refused("find src -name '*.rs' -type f").hint;
    for argument in [
        r#""path":"src""#, r#""name_pattern":"*.rs""#, r#""type":"file""#, r#""include_hidden":true"#,
        r#""include_ignored":true"#,
    ] {
        assert!(find.contains(argument), "{find}");
    }
}

#[test]
fn a_reading_command_passes_where_the_tool_differs() {
    all_pass(
        "cat · cat -n a · cat ../a · cat ~/a · cat /workspace/main-evil/a · cat a > b · cat \"$a\" · \
         cat *.md · cat {a,b} · cd \"$d\" && cat a · cd .. && cat a · cd - && cat a · cat a; true · \
         cat a & · ! cat a · env ls · head -n 0 a · head -n -5 a · head -n 9999 a · head a b · tail -f a · \
         tail -c 5 a · tail a · tail -n 5 a · tail -20 a · less -N a · less a b · ls Cargo.toml · \
         sed -n 5,1p a · sed -n '1,5p;7p' a · sed -n 0p a · sed 1,5p a · sed -n '$p' a · \
         ls -l · ls -t · ls -d a · ls a b · ls --color · grep x · grep x a b · grep -c x a · grep -w x a · \
         grep -A 1 x a · grep -C 9 x a · grep 'f(x)' a · grep '*' a · grep 'a.*b' a · grep 'a[b]' a · \
         grep 'a\\.b' a · grep 'x\\+' a · grep 'a|b.' a · grep -E 'a+?' a · grep -E 'a{2}' a · \
         grep 'a^b' a · grep -P x a · grep --include='*.rs' x a · \
         grep -r --include='*.rs' --include='*.md' x · rg x a b · rg -g '*.rs' x · rg -t rust x · rg -w x · \
         find . -name '[ab]*' · find . -name '*.rs' -name 'a*' · find . -maxdepth 0 · find . -mindepth 1 · \
         find . -name a -o -name b · find . ! -name a · find . -print0 · find . -newer a · \
         find . -name *.rs · fd x",
    );
}

#[test]
fn a_hint_follows_the_workdir_and_names_no_disabled_tool() {
    let mut settings = settings();
    let policy = Policy::new(settings.clone());
    for (workdir, path) in
        [("sub", "sub/a"), ("/workspace/main/x", "x/a"), ("/workspace/second", "/workspace/second/a")]
    {
        let hint = policy.judge("cat a", Some(workdir)).expect_err("a refusal").hint;
        assert!(hint.contains(&format!("\"{path}\"")), "{hint}");
    }
    assert_eq!(policy.judge("cat a", Some("/elsewhere")), Ok(()));
    settings.disabled_tools = ["read".to_owned()].into();
    let policy = Policy::new(settings);
    assert_eq!(policy.judge("cat a", None), Ok(()));
    assert!(policy.judge("ls", None).is_err());
}

#[test]
fn a_command_word_is_judged_wherever_commands_run() {
    all_refused(
        "true; reboot · true && reboot · false || reboot · true | reboot · reboot & · (reboot) · \
         { reboot; } · ! reboot · echo $(reboot) · echo `reboot` · echo \"$(reboot)\" · \
         echo \"a ${x:-$(reboot)}\" · x=$(reboot) · export x=$(reboot) · cat <(reboot) · make > >(reboot) · \
         if reboot; then true; fi · if true; then true; elif reboot; then true; else true; fi · \
         for i in $(reboot); do true; done · for i in 1; do reboot; done · while reboot; do true; done · \
         until false; do reboot; done · case $x in a) reboot ;; esac · f() { reboot; } · \
         function f { reboot; } · [ -f x ] || reboot · [[ -f $(reboot) ]] · echo $(( $(reboot) + 1 )) · \
         a=(1 $(reboot)) · cat <<EOF⏎$(reboot)⏎EOF · cat <<EOF | reboot⏎x⏎EOF · cat <<EOF && reboot⏎x⏎EOF · \
         cat <<EOF⏎x⏎EOF⏎reboot · cat <<< $(reboot) · A=1 B=2 reboot · reboot > log 2>&1 · time reboot · \
         coproc reboot · # a comment⏎reboot · true⏎reboot · echo a \\⏎  b; reboot · /sbin/reboot · \
         /usr/sbin/reboot now",
    );
}

#[test]
fn a_command_word_is_judged_behind_wrappers() {
    all_refused(
        "env reboot · env -i A=1 B=2 reboot · env -u HOME -- reboot · env -S 'reboot now' · command reboot · \
         builtin command -p reboot · exec reboot · exec -a x reboot · nohup reboot · nice -n 5 reboot · \
         nice -5 reboot · ionice -c 3 reboot · timeout 5 reboot · timeout -k 5 --signal KILL 5s reboot · \
         setsid reboot · stdbuf -o L reboot · echo | xargs reboot · echo | xargs -0 -n 1 -I {} reboot · \
         find . -exec reboot {} \\; · find . -name x -ok true \\; -execdir reboot + · fd x -x reboot · \
         busybox reboot · flock lock reboot · flock lock -c 'reboot' · env nice nohup timeout 5 reboot · \
         bash -c reboot · bash -c 'true; reboot' · sh -ec \"reboot\" · bash -euo pipefail -c 'reboot' · \
         /bin/bash -c 'reboot' · eval reboot · eval 'true;' reboot · trap 'reboot now' EXIT · \
         bash -c \"bash -c 'bash -c reboot'\" · bash <<< reboot · bash <<'EOF'⏎reboot⏎EOF · \
         sh -s <<EOF⏎reboot⏎EOF · bash -c \"cd $dir && reboot\" · python3 -m pip install requests",
    );
}

#[test]
fn quotes_and_escapes_hide_no_word() {
    all_refused(
        "r''eboot · 'reboot' · \"reboot\" · \\reboot · re\\boot · re\"bo\"ot · $'reboot' · re\\⏎boot",
    );
}

#[test]
fn what_only_the_shell_knows_is_left_to_the_kernel() {
    all_pass(
        "$x -rf / · \"$cmd\" · x=reboot; $x · re$empty\"\"boot · $(echo reboot) · rm -rf \"$dir\"/* · \
         rm -rf /$dir · git commit \"$@\" · bash \"$script\" · curl \"https://$HOST/\" · base64 -d x | sh",
    );
}

#[test]
fn words_that_are_no_commands_are_left_alone() {
    all_pass(
        "echo reboot · git commit -m 'reboot; sudo' · grep -rn vim . | head · reboot=1; echo $reboot · \
         cat <<'EOF' > x⏎reboot⏎$(reboot)⏎EOF · echo a # reboot · echo 'a⏎reboot' · \
         case reboot in reboot) true ;; esac · for reboot in 1; do echo $reboot; done",
    );
}

#[test]
fn bash_reports_syntax_errors_and_the_valid_part_of_a_line_is_judged() {
    all_pass(
        "echo 'a · for x in; do · git commit -m \"it is · ls ( · exec 3<>fifo · <<EOF · echo 'a; reboot",
    );
    all_refused("reboot; echo 'a · exec 3<>fifo; reboot");
}

#[test]
fn the_network_rules_end_where_the_network_begins() {
    let open = Policy::new(PolicySettings { network: true, ..PolicySettings::default() });
    for line in lines(
        "curl https://example.com · git clone https://host/x · ping example.com · pip install x · \
         ssh host uptime · scp a host:b",
    ) {
        refused(&line);
        assert_eq!(open.judge(&line, None), Ok(()), "{line}");
    }
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
            refused(&format!("{}reboot{}", open.repeat(times), close.repeat(times)));
        }
    }
}

/// Lines whose errors cost the parser the square of their length. Each must be answered before the test's
/// own deadline; without a bound they take half a minute each.
#[test]
fn a_line_that_is_too_complex_to_check_is_refused_at_once() {
    let started = std::time::Instant::now();
    for piece in ["a|", "a=(", "`>=", "<", ")a=", "@a", ";-a", "a%\n", "= ="] {
        let error = refused(&piece.repeat(60_000 / piece.len()));
        assert!(error.hint.contains("into a file"), "{piece}: {}", error.hint);
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn a_file_written_by_a_here_document_is_not_too_complex() {
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
fn the_document_shows_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/command-policy.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, markdown()).expect("the document can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == markdown(), "docs/command-policy.md is out of date: run this test with UPDATE_DOCS=1");
}

/// The grammar's scanner once looked such a character up outside of a table, which killed the process.
#[test]
fn characters_beyond_ascii_are_letters_of_a_word() {
    for last in ['é', '\u{a0}', '\u{3000}', '\u{ffff}', '😀', '\u{f0000}', char::MAX] {
        for line in ["echo {", "{", "for i in {1..", "echo ${", "echo $", "echo \\", "cat <<"] {
            let _ = judge(&format!("{line}{last}"));
            let _ = judge(&format!("{line}{last}; sudo id"));
        }
        assert!(judge(&format!("echo {last} && sudo id")).is_err(), "{last:?}");
        assert!(judge(&format!("s{last}udo id")).is_ok(), "{last:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_an_answer(line in any::<String>()) {
        let _ = judge(&line);
    }

    #[test]
    fn any_heap_of_shell_pieces_gets_an_answer(
        pieces in proptest::collection::vec(
            (proptest::sample::select(PIECES.split_whitespace().collect::<Vec<_>>()), any::<bool>()),
            0..60,
        ),
    ) {
        let pieces = pieces.iter().map(|(piece, apart)| format!("{piece}{}", if *apart { " " } else { "" }));
        let _ = judge(&pieces.collect::<String>().replace('⏎', "\n"));
    }
}

/// What shell code is made of, for lines that are almost valid.
const PIECES: &str = "rm -rf / ' \" $( ) ` { } ; && | <<EOF⏎ EOF⏎ ⏎ \\ $' \\x if then fi for x in do done \
    case esac ( (( [[ ]] <( > ${ bash -c eval env xargs find -exec git commit sed -n é \u{f8ff} function \
    () trap -S timeout # ~ * = cd";
