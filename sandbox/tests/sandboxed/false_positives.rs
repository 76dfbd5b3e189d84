//! Ordinary work of people and agents, which must run as if there were no sandbox.

use crate::fixture::{Fixture, Scenario};

/// Scripts, and what they print.
const ORDINARY_WORK: &[(&str, &str)] = &[
    ("for i in 1 2 3; do echo $i; done > o.txt && cat o.txt", "1\n2\n3\n"),
    ("cat <<EOF\nhere $((1 + 1))\nEOF", "here 2\n"),
    ("diff <(printf 'a\\nb\\n') <(printf 'a\\nb\\n') && echo same", "same\n"),
    ("seq 5 | sort -rn | head -1 | tee x.txt | wc -l", "1\n"),
    ("find . -name '*.none' -print0 | xargs -0 -r ls; echo done", "done\n"),
    ("awk 'BEGIN{print 1+1}'; perl -e 'print 2'", "2\n2"),
    ("echo x > o; tar czf t.tgz o && tar tzf t.tgz", "o\n"),
    ("python3 -c 'import subprocess; print(subprocess.check_output([\"echo\", \"sub\"]).decode())'", "sub"),
    (
        "python3 -c \"import sqlite3; c = sqlite3.connect('t.db'); \
         c.execute('create table t(a)'); c.execute('insert into t values(7)'); c.commit(); \
         print(c.execute('select a from t').fetchone())\"",
        "(7,)",
    ),
    (
        "python3 -c 'import threading; t = threading.Thread(target=print, args=(\"thread\",)); \
         t.start(); t.join()'",
        "thread",
    ),
    // Memory that is both writable and executable, which JIT compilers need.
    ("python3 -c 'import mmap; print(len(mmap.mmap(-1, 4096, prot=7)))'", "4096\n"),
    ("python3 -m venv venv --without-pip && venv/bin/python -c 'print(1)'", "1\n"),
    ("printf 'int main(){return 7;}' > a.c && gcc a.c -o a && (./a; echo $?)", "7\n"),
    ("printf 'all: a b\\na b:\\n\\t@echo $@\\n' > Makefile; make -sj2 | sort", "a\nb\n"),
    (
        "git init -q . && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m m && \
         git log --format=%s",
        "m\n",
    ),
    ("fallocate --posix -l 64K f && stat -c %s f", "65536\n"),
    ("head -c 8192 /dev/zero > f; fallocate -p -l 4096 f && echo given back", "given back\n"),
    ("echo $HOME; cd && touch file && ls ~", "file\n"),
    ("f=$(mktemp) && echo x > $f && cat $f", "x\n"),
    ("(sleep 0.05; echo late) & echo early", "early\nlate\n"),
    ("echo a > f && chmod 600 f && mv f g && ln -s g h && cat h", "a\n"),
    ("kill -0 $$ && sleep 100 & kill %1; wait; echo killed", "killed\n"),
    ("ulimit -c; test -r /proc/self/status && nproc > /dev/null && echo fine", "0\nfine\n"),
    ("head -c 4 /dev/urandom | wc -c; test -t 0 || echo no terminal", "4\nno terminal\n"),
    ("cat; echo end", "end\n"),
    ("whoami > /dev/null && id -u > /dev/null && echo known", "known\n"),
];

/// Scripts that need sockets or `/tmp`, which tier B does not have.
const WORK_IN_TIER_A: &[(&str, &str)] = &[
    ("echo x > /tmp/x && cat /tmp/x && test -w /dev/shm && echo y", "x\ny\n"),
    (
        "python3 -m http.server 18081 --bind 127.0.0.1 >/dev/null 2>&1 & \
         for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/18081) 2>/dev/null && echo up && break; \
         sleep 0.1; done",
        "up\n",
    ),
    ("python3 -c 'import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1, -2]))'", "[1, 2]"),
    ("python3 -c 'import socket; print(socket.gethostbyname(\"localhost\"))'", "127.0.0.1"),
];

#[test]
fn ordinary_commands_run_as_if_there_were_no_sandbox() {
    let mut wrong = Vec::new();
    for scenario in Scenario::all() {
        let only_in_tier_a = if scenario.is_tier_b() { &[] } else { WORK_IN_TIER_A };
        for (script, prints) in ORDINARY_WORK.iter().chain(only_in_tier_a) {
            let run = Fixture::new(scenario).run(script);
            if !run.succeeded() || !run.output.contains(prints) {
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
            "export PATH={toolchain}/bin:$PATH CARGO_HOME=$HOME/cargo; \
             cargo init -q --vcs none --name tiny . && cargo build -q --offline && \
             cargo test -q --offline 2>&1 | grep 'test result' | head -1"
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
