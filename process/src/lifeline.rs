//! The lifeline: a child ends when its parent does, even after SIGKILL.
//!
//! The parent holds the writing end of the child's stdin. When the parent ends for any reason, the kernel
//! closes that end and the child reads end of file. Unlike a death signal, this does not depend on a thread
//! of the parent. A parent that wants the child to finish what it does, or to read its rules again, writes a
//! line.

use std::io::{BufRead, BufReader, Read};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// What a parent writes to a child that should finish.
pub const FINISH: &[u8] = b"finish\n";

/// What a parent writes to a child that should read its rules again.
pub const RELOAD: &[u8] = b"reload\n";

/// How long a child may take to shut down after its parent is gone.
const GRACE: Duration = Duration::from_secs(3);

/// Why the child should exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// Its parent asks it to, and waits: what runs may end.
    Finish,
    /// Its parent is gone.
    Gone,
}

/// Resolves when the child should exit. If it still runs [`GRACE`] after the end of stdin, it exits. Calls
/// `reload` as often as the parent asks for it before.
pub async fn parting(reload: impl Fn() + Send + 'static) -> Parting {
    let (sender, told) = oneshot::channel();
    let watcher = thread::Builder::new().name("lifeline".to_owned()).spawn(move || {
        let mut lines = BufReader::new(std::io::stdin().lock());
        let is_asked = wait_for_the_end(&mut lines, &reload);
        let _ = sender.send(if is_asked { Parting::Finish } else { Parting::Gone });
        while is_asked && wait_for_change(&mut lines) {}
        thread::sleep(GRACE);
        std::process::exit(1);
    });
    if watcher.is_err() {
        return Parting::Gone;
    }
    told.await.unwrap_or(Parting::Gone)
}

/// Returns whether the parent asks the child to finish; false if the parent is gone.
fn wait_for_the_end(lines: &mut impl BufRead, reload: &impl Fn()) -> bool {
    loop {
        let mut line = Vec::new();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return false,
            Ok(_) if line == RELOAD => reload(),
            Ok(_) => return true,
        }
    }
}

/// Returns whether something was written, or false at the end.
fn wait_for_change(line: &mut impl Read) -> bool {
    loop {
        match line.read(&mut [0; 64]) {
            Ok(read) => return read > 0,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}
