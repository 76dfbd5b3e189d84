//! The thread that starts the child programs. It is the only one of the supervisor whose files are not
//! confined.
//!
//! A child inherits the confinement of the thread that starts it, and below one no command could be
//! sandboxed. So this thread runs before the others are confined. It opens no file and reads no input.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

static LAUNCHER: OnceLock<Sender<Job>> = OnceLock::new();

/// Starts the thread. Whoever starts it afterwards confines the calling thread.
pub(crate) fn start() -> io::Result<()> {
    let (jobs, queue) = mpsc::channel::<Job>();
    let serve = move || queue.into_iter().for_each(|job| job());
    thread::Builder::new().name("launcher".to_owned()).spawn(serve)?;
    LAUNCHER.get_or_init(|| jobs);
    Ok(())
}

/// Runs a job on the thread and waits for its result; on the caller's own where there is no such thread, as
/// in commands that are not confined.
pub(crate) fn run<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let Some(launcher) = LAUNCHER.get() else { return job() };
    let (sender, result) = mpsc::sync_channel(1);
    let sent = launcher.send(Box::new(move || drop(sender.send(job()))));
    sent.ok().and_then(|()| result.recv().ok()).expect("the launcher only ends with the process")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use process::confinement::{Confinement, Powers, confine_files_of_thread};

    use super::*;

    #[test]
    fn confined_threads_reach_only_their_files_and_start_programs_that_reach_all() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (own, secret) = (own.path().to_owned(), other.path().join("secret"));
        fs::write(&secret, "secret").unwrap();
        start().unwrap();
        process::hardening::harden().unwrap();
        let confined = thread::spawn(move || {
            assert_eq!(fs::read_to_string(&secret).unwrap(), "secret", "it works before");
            let powers = Powers { read_write: vec![own.clone()], ..Powers::default() };
            assert_eq!(confine_files_of_thread(&powers).unwrap(), Confinement::Full);
            fs::write(own.join("file"), "mine").unwrap();
            fs::rename(own.join("file"), own.join("renamed")).unwrap();
            let refused = io::ErrorKind::PermissionDenied;
            assert_eq!(fs::read(&secret).unwrap_err().kind(), refused);
            assert_eq!(fs::write(secret.with_file_name("new"), "").unwrap_err().kind(), refused);
            assert_eq!(fs::remove_file(&secret).unwrap_err().kind(), refused);
            assert_eq!(Command::new("cat").arg(&secret).status().unwrap_err().kind(), refused);
            let output = run(move || Command::new("cat").arg(secret).output()).unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), "secret");
        });
        confined.join().unwrap();
    }
}
