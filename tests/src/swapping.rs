//! Two names that change places over and over: the race that a check of a path as a text always loses.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Swaps two names over and over while `race` runs.
pub fn while_swapping<T>(one: &Path, other: &Path, race: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("both names exist");
            }
        });
        let result = race();
        over.store(true, Ordering::Relaxed);
        result
    })
}
