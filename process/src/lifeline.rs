//! The lifeline: a child ends when its parent does, even after SIGKILL.
//!
//! The parent holds the writing end of the child's stdin and never writes to it. When the parent ends, by
//! whatever cause, the kernel closes that end and the child reads end of file. Unlike a death signal this
//! depends on no thread of the parent.

use std::io::Read;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// How long a child may take for an orderly end after its parent is gone.
const GRACE: Duration = Duration::from_secs(3);

/// Watches stdin and resolves once it reports end of file; the process is ended [`GRACE`] later if it is
/// still there then.
pub async fn parent_gone() {
    let (gone, told) = oneshot::channel();
    let watcher = thread::Builder::new().name("lifeline".to_owned()).spawn(move || {
        wait_for_end_of(std::io::stdin().lock());
        let _ = gone.send(());
        thread::sleep(GRACE);
        std::process::exit(1);
    });
    if watcher.is_ok() {
        let _ = told.await;
    }
}

fn wait_for_end_of(mut line: impl Read) {
    let mut ignored = [0; 64];
    while !matches!(line.read(&mut ignored), Ok(0) | Err(_)) {}
}
