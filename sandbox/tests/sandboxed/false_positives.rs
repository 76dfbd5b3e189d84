//! Ordinary work of people and agents, which must run as if there were no sandbox.

use crate::fixture::Fixture;

struct Work {
    script: &'static str,
    prints: &'static str,
    in_tier_b: bool,
}

const fn work(script: &'static str, prints: &'static str) -> Work {
    Work { script, prints, in_tier_b: true }
}

/// Needs sockets or `/tmp`, which tier B does not have.
const fn tier_a(script: &'static str, prints: &'static str) -> Work {
    Work { script, prints, in_tier_b: false }
}

const ORDINARY_WORK: &[Work] = &[
    work("for i in 1 2 3; do echo $i; done > o.txt && cat o.txt", "1\n2\n3\n"),
    work("cat <<EOF\nhere $((1 + 1))\nEOF", "here 2\n"),
    work("diff <(printf 'a\\nb\\n') <(printf 'a\\nb\\n') && echo same", "same\n"),
    work("seq 5 | sort -rn | head -1 | tee x.txt | wc -l", "1\n"),
    work("find . -name '*.none' -print0 | xargs -0 -r ls; echo done", "done\n"),
    work("awk 'BEGIN{print 1+1}'; perl -e 'print 2'", "2\n2"),
    work("echo x > o; tar czf t.tgz o && tar tzf t.tgz", "o\n"),
    work(
        "python3 -c 'import subprocess; print(subprocess.check_output([\"echo\", \"sub\"]).decode())'",
        "sub",
    ),
    work(
        "python3 -c \"import sqlite3; c = sqlite3.connect('t.db'); c.execute('create table t(a)'); c.execute('insert into t values(7)'); c.commit(); print(c.execute('select a from t').fetchone())\"",
        "(7,)",
    ),
    work(
        "python3 -c 'import threading; t = threading.Thread(target=print, args=(\"thread\",)); t.start(); t.join()'",
        "thread",
    ),
    // Memory that is both writable and executable, which JIT compilers need.
    work("python3 -c 'import mmap; print(len(mmap.mmap(-1, 4096, prot=7)))'", "4096\n"),
    work("python3 -m venv venv --without-pip && venv/bin/python -c 'print(1)'", "1\n"),
    work("printf 'int main(){return 7;}' > a.c && gcc a.c -o a && (./a; echo $?)", "7\n"),
    work("printf 'all: a b\\na b:\\n\\t@echo $@\\n' > Makefile; make -sj2 | sort", "a\nb\n"),
    work(
        "git init -q . && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m m && git log --format=%s",
        "m\n",
    ),
    work("echo $HOME; cd && touch file && ls ~", "file\n"),
    work("f=$(mktemp) && echo x > $f && cat $f", "x\n"),
    work("(sleep 0.05; echo late) & echo early", "early\nlate\n"),
    work("echo a > f && chmod 600 f && mv f g && ln -s g h && cat h", "a\n"),
    work("kill -0 $$ && sleep 100 & kill %1; wait; echo killed", "killed\n"),
    work("ulimit -c; test -r /proc/self/status && nproc > /dev/null && echo fine", "0\nfine\n"),
    work("head -c 4 /dev/urandom | wc -c; test -t 0 || echo no terminal", "4\nno terminal\n"),
    work("cat; echo end", "end\n"),
    work("whoami > /dev/null && id -u > /dev/null && echo known", "known\n"),
    tier_a("echo x > /tmp/x && cat /tmp/x && test -w /dev/shm && echo y", "x\ny\n"),
    tier_a(
        "python3 -m http.server 18081 --bind 127.0.0.1 >/dev/null 2>&1 & for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/18081) 2>/dev/null && echo up && break; sleep 0.1; done",
        "up\n",
    ),
    tier_a("python3 -c 'import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1, -2]))'", "[1, 2]"),
    tier_a("python3 -c 'import socket; print(socket.gethostbyname(\"localhost\"))'", "127.0.0.1"),
];

#[test]
fn ordinary_commands_run_as_if_there_were_no_sandbox() {
    let mut wrong = Vec::new();
    for work in ORDINARY_WORK {
        for fixture in Fixture::all().filter(|fixture| work.in_tier_b || !fixture.scenario.is_tier_b()) {
            let run = fixture.run(work.script);
            if !run.succeeded() || !run.output.contains(work.prints) {
                wrong.push(format!("{run:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_small_crate_is_built_and_tested_offline() {
    let output = std::process::Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let toolchain = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let enters = format!("test -x {toolchain}/bin/cargo");
    let mut fixtures =
        Fixture::all().filter(|fixture| fixture.run_plain(&enters).status.success()).peekable();
    assert!(fixtures.peek().is_some(), "nobody can enter {toolchain}");
    for fixture in fixtures {
        let script = format!(
            "export PATH={toolchain}/bin:$PATH CARGO_HOME=$HOME/cargo; cargo init -q --vcs none --name tiny . && cargo build -q --offline && cargo test -q --offline 2>&1 | grep 'test result' | head -1"
        );
        let run = fixture.run_with(&["--readonly", &toolchain, "--timeout-ms", "120000"], &script);
        assert!(run.output.contains("test result: ok"), "{run:?}");
    }
}

#[test]
fn the_end_of_a_command_is_reported() {
    for fixture in Fixture::all() {
        for (program, expected) in [
            (&["/bin/bash", "-c", "exit 7"][..], "exit Some(7) signal None killed false"),
            (&["/bin/bash", "-c", "kill -SEGV $$"], "exit None signal Some(11) killed false"),
            (&["/bin/bash", "-c", "exit 124"], "exit Some(124) signal None killed false"),
            (&["/bin/absent"], "cannot execute /bin/absent: No such file"),
        ] {
            let run = fixture.run_program(&[], program);
            assert!(run.report.contains(expected), "{run:?}");
        }
        let run = fixture.run("python3 -c \"x = bytearray(100 << 20); sum(range(3000000))\"");
        assert!(run.number("peak_kib") > 100 << 10, "{run:?}");
        assert!(run.number("cpu_us") > 10_000, "{run:?}");
    }
}

#[test]
fn a_read_only_root_can_be_read_and_not_written() {
    for fixture in Fixture::all() {
        let outside = fixture.outside().display().to_string();
        let script =
            format!("cat {outside}/secret.txt; echo x > {outside}/new; echo x > {outside}/secret.txt");
        let run = fixture.run_with(&["--readonly", &outside], &script);
        assert_eq!(run.output, "OUTSIDE-SECRET\n", "{run:?}");
        assert!(!fixture.outside().join("new").exists(), "{run:?}");
        assert_eq!(std::fs::read_to_string(fixture.secret()).unwrap(), "OUTSIDE-SECRET\n", "{run:?}");
    }
}
