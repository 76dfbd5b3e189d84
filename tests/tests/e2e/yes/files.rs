//! A yes to a command is bound to the files that it runs or reads: a rewritten one asks again.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use harness::ToolServer;
use serde_json::json;

use super::{Met, Whose, builder, failed, grant, run, tree};

const ASK_ALL: &str = "[[rule]]\ntools = [\"bash\"]\ndecision = \"ask\"\n";

/// Lines, each with the file that is rewritten between the yes and the run.
const LINES: &[(&str, &str)] = &[
    // By name, as the shell finds it.
    ("cd d && sh run.sh", "d/run.sh"),
    ("sh < d/run.sh", "d/run.sh"),
    ("sh 0< d/run.sh", "d/run.sh"),
    ("cd d; sh ./run.sh", "d/run.sh"),
    ("(cd d && sh run.sh)", "d/run.sh"),
    ("(cd d; . ./run.sh); true", "d/run.sh"),
    ("cd d/.. && cd ./d && sh run.sh", "d/run.sh"),
    ("pushd d > /dev/null; sh run.sh; popd > /dev/null", "d/run.sh"),
    ("cd d && cd - > /dev/null && sh d/run.sh", "d/run.sh"),
    ("{ cd d; sh run.sh; }", "d/run.sh"),
    ("if cd d; then sh run.sh; fi", "d/run.sh"),
    ("cd d && sh run", "d/run"),
    ("d/run.sh", "d/run.sh"),
    ("cd d; ./run.sh", "d/run.sh"),
    ("source d/run.sh", "d/run.sh"),
    (". d/run", "d/run"),
    ("sh -- d/run", "d/run"),
    ("sh -e d/run", "d/run"),
    ("cat d/run | sh", "d/run"),
    ("sh 'd/odd name'", "d/odd name"),
    ("sh d/odd\\ name", "d/odd name"),
    ("sh 'd/back\\slash'", "d/back\\slash"),
    ("sh d/ünï", "d/ünï"),
    ("sh link", "d/run"),
    // Variables.
    ("sh $PWD/d/run", "d/run"),
    ("sh \"${PWD}/d/run\"", "d/run"),
    ("cd d && sh \"$PWD/run\"", "d/run"),
    ("cd d; sh $OLDPWD/d/run", "d/run"),
    ("sh $(pwd)/d/run", "d/run"),
    ("F=d/run; sh $F", "d/run"),
    ("F=run D=d; sh \"$D/$F\"", "d/run"),
    ("export F=d/run; bash -c 'sh $F'", "d/run"),
    ("F=d/run sh -c 'sh \"$F\"'", "d/run"),
    ("D=d; cd $D; sh run", "d/run"),
    ("A=d; B=$A/run; sh $B", "d/run"),
    ("F=d/r; F+=un; sh $F", "d/run"),
    ("sh ${NOT_SET:-d/run}", "d/run"),
    ("a=(d/run); sh \"${a[0]}\"", "d/run"),
    ("set -- d/run; sh \"$1\"", "d/run"),
    ("f() { sh \"$1\"; }; f d/run", "d/run"),
    ("read -r F <<< d/run; sh $F", "d/run"),
    ("printf -v F %s d/run; sh $F", "d/run"),
    // Patterns and lists.
    ("sh d/*.sh", "d/run.sh"),
    ("sh d/r[u]n", "d/run"),
    ("sh ?/run", "d/run"),
    ("sh {d,e}/run", "d/run"),
    ("sh d/r{un,est}", "d/run"),
    ("cat d/part{1..3}.txt", "d/part2.txt"),
    ("cat d/*.txt", "d/part1.txt"),
    ("cat d/{part1,part2}.txt", "d/part2.txt"),
    ("for f in d/*.sh; do sh \"$f\"; done", "d/run.sh"),
    ("for f in run; do sh d/$f; done", "d/run"),
    ("for d in */; do (cd \"$d\" && [ -e run ] && sh run); done; true", "d/run"),
    ("for f in d/*; do case $f in *.sh) sh $f;; esac; done", "d/run.sh"),
    // Other programs that run or read files.
    ("find d -name run.sh -exec sh {} \\;", "d/run.sh"),
    ("find d -name 'ru*' -type f -execdir sh {} +", "d/run"),
    ("find d -name 'part1.*' -exec sh {} \\;", "d/part1.txt"),
    ("ls d/*.sh | xargs -n1 sh", "d/run.sh"),
    ("echo d/run | xargs sh", "d/run"),
    ("xargs sh <<< d/run", "d/run"),
    ("xargs sh < list", "d/run"),
    ("xargs -a list sh", "list"),
    ("while read -r f; do sh $f; done < list", "d/run"),
    ("while read -r f; do sh $f; done < list", "list"),
    ("env A=1 sh d/run", "d/run"),
    ("env -C d sh run", "d/run"),
    ("timeout 5 nice sh d/run", "d/run"),
    ("bash -c 'sh d/run'", "d/run"),
    ("bash -c \"cd d && sh run\"", "d/run"),
    ("sh <<< 'sh d/run'", "d/run"),
    ("sh <(cat d/run)", "d/run"),
    ("sh `echo d/run`", "d/run"),
    ("sh $(ls d/*.sh)", "d/run.sh"),
    ("eval \"$(cat d/run)\"", "d/run"),
    ("eval 'sh d/run'", "d/run"),
    ("PATH=$PWD/d:$PATH run.sh", "d/run.sh"),
    ("PATH=$PATH:d; run.sh", "d/run.sh"),
    ("BASH_ENV=d/run bash -c true", "d/run"),
    ("bash --rcfile d/run -i -c true 2> /dev/null", "d/run"),
    ("trap 'sh d/run' EXIT", "d/run"),
    ("cp d/run e/copy && sh e/copy", "d/run"),
    ("sh outer.sh", "d/run.sh"),
    ("make -s -C d", "d/Makefile"),
    ("cd d && make -s", "d/Makefile"),
    ("make -s --file=d/rules.mk", "d/rules.mk"),
    ("make -s -fd/rules.mk", "d/rules.mk"),
    ("awk -f d/prog.awk list", "d/prog.awk"),
    ("sed -n -f d/prog.sed list", "d/prog.sed"),
    ("python3 d/x.py", "d/x.py"),
    ("python3 d/x.py", "d/helper.py"),
    ("cd d && python3 -c 'import helper'", "d/helper.py"),
    ("PYTHONPATH=d python3 -m helper", "d/helper.py"),
    ("git -C . -c core.fsmonitor=d/run.sh status; true", "d/run.sh"),
    // Files that are only read.
    ("tac d/part1.txt", "d/part1.txt"),
    ("cd d && sort part1.txt", "d/part1.txt"),
    ("sort < d/part1.txt", "d/part1.txt"),
    ("grep x --file=d/part1.txt list; true", "d/part1.txt"),
    ("cp d/part1.txt e/copy", "d/part1.txt"),
];

/// What a rewritten file holds instead.
fn evil(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("py") => "open('EVIL', 'w')\n",
        Some("mk") => "all:\n\ttouch EVIL\n",
        Some("awk") => "BEGIN { system(\"touch EVIL\") }\n",
        Some("sed") => "1e touch EVIL\n",
        _ if name.ends_with("Makefile") => "all:\n\ttouch EVIL\n",
        _ if name == "list" => "e/evil\n",
        _ => "touch EVIL\n",
    }
}

fn lay_out(root: &Path) {
    fs::create_dir_all(root.join("d")).unwrap();
    fs::create_dir_all(root.join("e")).unwrap();
    for (name, content) in [
        ("d/run.sh", "#!/bin/sh\ntrue\n"),
        ("d/run", "true\n"),
        ("d/odd name", "true\n"),
        ("d/back\\slash", "true\n"),
        ("d/ünï", "true\n"),
        ("d/part1.txt", "true\n"),
        ("d/part2.txt", "true\n"),
        ("d/part3.txt", "true\n"),
        ("d/Makefile", "all:\n\ttrue\n"),
        ("d/rules.mk", "all:\n\ttrue\n"),
        ("d/prog.awk", "{ print }\n"),
        ("d/prog.sed", "1p\n"),
        ("d/x.py", "import helper\n"),
        ("d/helper.py", "\n"),
        ("list", "d/run\n"),
        ("e/evil", "touch EVIL\n"),
        ("e/run", "true\n"),
        ("outer.sh", "sh d/run.sh\n"),
        ("notes.md", "notes\n"),
    ] {
        fs::write(root.join(name), content).unwrap();
    }
    fs::set_permissions(root.join("d/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("d/run", root.join("link")).unwrap();
}

fn asked(server: &ToolServer, line: &str) -> Result<String, String> {
    match run(server, line, Whose::Mine) {
        Met::Asked(id) => Ok(id),
        other => Err(format!("{line}: does not ask: {other:?}")),
    }
}

fn check((line, victim): (&str, &str)) -> Result<(), String> {
    let server = builder(ASK_ALL).start();
    let root = server.root();
    lay_out(&root);
    let first = asked(&server, line)?;
    grant(&server, &first, "call");
    if run(&server, line, Whose::Mine) != Met::Ran {
        return Err(format!("{line}: the yes does not hold, though nothing has changed"));
    }
    lay_out_again(&root);
    let second = asked(&server, line)?;
    grant(&server, &second, "call");
    fs::write(root.join(victim), evil(victim)).unwrap();
    let third = asked(&server, line).map_err(|error| format!("{error} after {victim} was rewritten"))?;
    if third == second || tree(&server).iter().any(|path| path.ends_with("EVIL")) {
        return Err(format!("{line}: the old yes holds for another {victim}"));
    }
    Ok(())
}

/// Removes what a run made.
fn lay_out_again(root: &Path) {
    fs::remove_dir_all(root.join("d")).unwrap();
    fs::remove_dir_all(root.join("e")).unwrap();
    fs::remove_file(root.join("link")).unwrap();
    lay_out(root);
}

#[test]
fn a_rewritten_file_asks_again_however_the_line_names_it() {
    let failed = failed(LINES, |line| check(*line).err());
    assert!(failed.is_empty(), "{} of {} lines:\n{}", failed.len(), LINES.len(), failed.join("\n"));
}

#[test]
fn the_yes_holds_when_something_else_changes() {
    let server = builder(ASK_ALL).start();
    lay_out(&server.root());
    for (line, other) in [
        ("sh d/run.sh", "notes.md"),
        ("make -s -C d", "notes.md"),
        ("tac d/part1.txt", "d/part2.txt"),
        ("tac d/part1.txt", "d/run.sh"),
        ("touch new", "d/run.sh"),
        ("for f in d/*.txt; do cat $f; done", "d/run.sh"),
    ] {
        let id = asked(&server, line).unwrap();
        grant(&server, &id, "call");
        fs::write(server.root().join(other), "something else\n").unwrap();
        assert_eq!(run(&server, line, Whose::Mine), Met::Ran, "{line}: {other}");
    }
}

#[test]
fn a_file_that_appears_or_a_link_that_leads_elsewhere_asks_again() {
    let server = builder(ASK_ALL).start();
    let root = server.root();
    lay_out(&root);
    let again = |line: &str, change: &dyn Fn()| {
        let id = asked(&server, line).unwrap();
        grant(&server, &id, "call");
        change();
        let next = asked(&server, line).unwrap();
        assert_ne!(next, id, "{line}");
        server.decide(&next, &json!({"decision": "deny"}));
    };
    again("sh d/*.new; true", &|| fs::write(root.join("d/x.new"), "touch EVIL\n").unwrap());
    again("make -s -C d", &|| fs::write(root.join("d/GNUmakefile"), "all:\n\ttouch EVIL\n").unwrap());
    again("sh link", &|| {
        fs::remove_file(root.join("link")).unwrap();
        symlink("e/run", root.join("link")).unwrap();
    });
    again("cd d && sh run", &|| {
        fs::rename(root.join("d"), root.join("was")).unwrap();
        symlink("e", root.join("d")).unwrap();
    });
}

#[test]
fn the_question_says_what_the_yes_is_bound_to() {
    let server = builder(ASK_ALL).start();
    lay_out(&server.root());
    let preview = |line: &str| {
        let id = asked(&server, line).unwrap();
        let shown = server.approval(&id)["preview"].as_str().unwrap().to_owned();
        server.decide(&id, &json!({"decision": "deny"}));
        shown
    };
    let known = preview("cd d && tac part1.txt");
    assert!(known.contains("d/part1.txt") && !known.contains("cannot be known"), "{known}");
    for line in ["make -s -C d", "sh $(cat list)", "find d -exec sh {} \\;", "sh d/run.sh"] {
        let unknown = preview(line);
        assert!(unknown.contains("cannot be known"), "{line}: {unknown}");
    }
}
