//! A terminal of a test: a program runs in it as its own session, and the test types and reads the screen.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{TestDir, wait};

/// A program in a terminal. It is killed when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    keys: File,
    child: Child,
    /// All that was shown so far, escapes included.
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    /// Starts a program in a terminal with this many columns.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        variables: &[(String, String)],
        dir: &TestDir,
        columns: u16,
    ) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("there are terminals");
        grantpt(&keys).and_then(|()| unlockpt(&keys)).expect("the terminal can be used");
        tcsetwinsize(&keys, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
            .expect("it has a size");
        let name = ptsname(&keys, Vec::new()).expect("it has a name");
        let screen = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
        let screen = File::from(screen.expect("it can be opened"));
        let copy = || Stdio::from(screen.try_clone().expect("a descriptor can be copied"));
        // It makes the terminal the controlling one, so that Ctrl-C becomes a signal. A shell that runs the
        // tests in the background has them ignore that signal, and programs inherit it.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "env", "--default-signal=INT"]).arg(program).args(arguments);
        command.env_clear().envs(variables.iter().cloned());
        command.env("TERM", "xterm").current_dir(dir.path()).stdin(copy()).stdout(copy()).stderr(copy());
        let child = dir.spawn(&mut command).expect("setsid starts");
        let keys = File::from(keys);
        let shown = Arc::default();
        read_on(keys.try_clone().expect("a descriptor can be copied"), Arc::clone(&shown));
        Self { keys, child, shown }
    }

    pub fn type_in(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// All that was shown so far, as it was written.
    pub fn shown(&self) -> String {
        self.shown.lock().expect("nobody panicked with it").clone()
    }

    /// Waits until something is shown after what was shown before, and returns all from there on.
    pub fn wait_for(&self, text: &str, after: usize) -> String {
        let found = wait::within(wait::SOON, || {
            let shown = self.shown();
            shown[after..].contains(text).then(|| shown[after..].to_owned())
        });
        found.unwrap_or_else(|| panic!("{text:?} is not shown:\n{:?}", self.shown()))
    }

    /// Types a line, and returns what is shown from there on until it has the reply.
    pub fn answer(&mut self, line: &str, reply: &str) -> String {
        let before = self.shown().len();
        self.type_in(line);
        self.type_in("\r");
        self.wait_for(reply, before)
    }

    /// Waits until the program ends.
    pub fn end(&mut self) -> ExitStatus {
        let ended = wait::within(wait::SOON, || self.child.try_wait().expect("it can be waited for"));
        ended.unwrap_or_else(|| panic!("it does not end:\n{:?}", self.shown()))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_on(mut screen: File, shown: Arc<Mutex<String>>) {
    thread::spawn(move || {
        let mut rest = Vec::new();
        let mut chunk = [0; 4096];
        // An error says that the program has closed the terminal.
        while let Ok(length @ 1..) = screen.read(&mut chunk) {
            rest.extend_from_slice(&chunk[..length]);
            let valid = match std::str::from_utf8(&rest) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            let text: Vec<u8> = rest.drain(..valid).collect();
            shown.lock().expect("nobody panicked with it").push_str(&String::from_utf8_lossy(&text));
        }
    });
}
