//! Swaps two names over and over: a race that code always loses if it checks a path as text.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

pub fn while_swapping<T>(one: &Path, other: &Path, race: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("both names exist");
            }
        });
        // Also if the race panics: the scope waits for the thread above.
        let _end = End(&over);
        race()
    })
}

/// Ends the swapping when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
