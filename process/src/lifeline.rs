//! The lifeline: a child ends when its parent does, even after SIGKILL.
//!
//! The parent holds the writing end of the child's stdin and never writes to it. When the parent ends for
//! any reason, the kernel closes that end and the child reads end of file. Unlike a death signal, this does
//! not depend on a thread of the parent.

use std::io::Read;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// How long a child may take to shut down after its parent is gone.
const GRACE: Duration = Duration::from_secs(3);

/// Resolves at the end of stdin. If the process still runs [`GRACE`] later, it exits.
pub async fn parent_gone() {
    let (sender, gone) = oneshot::channel();
    let watcher = thread::Builder::new().name("lifeline".to_owned()).spawn(move || {
        wait_for_end_of(std::io::stdin().lock());
        let _ = sender.send(());
        thread::sleep(GRACE);
        std::process::exit(1);
    });
    if watcher.is_ok() {
        let _ = gone.await;
    }
}

fn wait_for_end_of(mut line: impl Read) {
    let mut ignored = [0; 64];
    while !matches!(line.read(&mut ignored), Ok(0) | Err(_)) {}
}
