//! The operator beside the agent: the same machine and user, a shell of its own, and git.

use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::ToolServer;
use harness::corpus::Mode;
use harness::test_dir::NOBODY;
use protocol::{Envelope, ErrorClass};
use serde_json::json;

/// Git as people use it all the time.
pub(super) const STATUS: &str = "git status; git log -1; git diff HEAD; git commit --dry-run";

/// None of these attacks gets through. Each has what the operator has set up before, the steps of the agent,
/// and the operator's work.
pub(super) fn assert_safe<S: AsRef<str> + Debug>(
    mode: Mode,
    attacks: impl IntoIterator<Item = (String, Vec<S>, String)>,
) {
    let operator = Operator::start(mode);
    let mut through = Vec::new();
    for (number, (setup, steps, work)) in attacks.into_iter().enumerate() {
        if let Err(why) = operator.is_safe_from(&format!("attack-{number}"), (&setup, &steps, &work)) {
            through.push(format!("{setup:?} {steps:?} {why}"));
        }
    }
    assert!(through.is_empty(), "{} attacks:\n{}", through.len(), through.join("\n\n"));
}

pub(super) struct Operator {
    pub(super) server: ToolServer,
    mode: Mode,
}

impl Operator {
    pub(super) fn start(mode: Mode) -> Self {
        Self::beside(mode.builder().start(), mode)
    }

    /// Beside a server that runs in this mode.
    pub(super) fn beside(server: ToolServer, mode: Mode) -> Self {
        fs::create_dir(server.dir().outside().join("home")).unwrap();
        let operator = Self { server, mode };
        operator.own(&operator.home());
        operator
    }

    fn home(&self) -> PathBuf {
        self.server.dir().outside().join("home")
    }

    fn canary(&self) -> PathBuf {
        self.home().join("canary")
    }

    /// Whether the operator ran the agent's code since this was asked last.
    pub(super) fn was_attacked(&self) -> bool {
        fs::remove_file(self.canary()).is_ok()
    }

    /// Makes the server's user own a file.
    fn own(&self, path: &Path) {
        if self.changes_user() {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    fn changes_user(&self) -> bool {
        self.mode != Mode::TierA && rustix::process::geteuid().is_root()
    }

    /// A directory with a repository `repo`, and a script that shows that it was run.
    fn prepare(&self, place: &Path) {
        fs::create_dir(place).unwrap();
        let evil = place.join("evil.sh");
        let script = format!("#!/bin/sh\ntouch {}\n", self.canary().display());
        fs::write(&evil, script).unwrap();
        fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
        self.own(&evil);
        self.own(place);
        self.shell(place, "git init -q repo && cd repo && echo x > f && git add f && git commit -qm one");
    }

    /// Runs a script outside of every sandbox, as somebody who has configured nothing but a name.
    pub(super) fn shell(&self, place: &Path, script: &str) -> String {
        let mut command = Command::new("bash");
        command
            .args(["-c", script])
            .current_dir(place)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("EVIL", place.join("evil.sh"))
            .env("TERM", "dumb")
            .envs(super::OWN_SETTINGS)
            .stdin(std::process::Stdio::null());
        if self.changes_user() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Runs a command line through the server.
    pub(super) fn command(&self, place: &Path, script: &str) -> Envelope {
        let cmd = format!("export EVIL={}; {script}", place.join("evil.sh").display());
        let arguments = json!({"cmd": cmd, "workdir": place.to_str().unwrap(), "timeout_seconds": 60});
        self.server.call("bash", &arguments)
    }

    /// Tries an attack, first without the server and then through it.
    fn is_safe_from<S: AsRef<str>>(
        &self,
        name: &str,
        (setup, steps, work): (&str, &[S], &str),
    ) -> Result<(), String> {
        let free = self.server.dir().outside().join(name);
        self.prepare(&free);
        self.shell(&free, setup);
        let said: String = steps.iter().map(|step| self.shell(&free, step.as_ref())).collect();
        let did = self.shell(&free, work);
        if !self.was_attacked() {
            return Err(format!("does not even work without the guard: {said}\n{did}"));
        }
        let place = self.server.root().join(name);
        self.prepare(&place);
        self.shell(&place, setup);
        let mut taken = Vec::new();
        for step in steps {
            let ran = self.command(&place, step.as_ref());
            if ran.meta.error.as_ref().is_some_and(|error| error.class != ErrorClass::ToolExec) {
                return Err(format!("was not run: {:?}", ran.meta.error));
            }
            taken.extend(ran.meta.data["created_control_files"].as_array().cloned().unwrap_or_default());
        }
        if let Some(stays) = taken.iter().find(|taken| taken["taken_back"] != true) {
            return Err(format!("was not taken back: {stays}"));
        }
        let did = [self.shell(&place, work), self.shell(&place.join("repo"), STATUS)];
        if self.was_attacked() {
            return Err(format!("got through: {taken:?} {did:?}"));
        }
        let again = self.command(&place, "true").meta.data["created_control_files"].clone();
        (again == json!([])).then_some(()).ok_or_else(|| format!("something was left to take back: {again}"))
    }
}
