//! A real task, from message to answer in twelve turns: find a bug in a small Rust project, show it with a
//! test, fix it, and run the tests again.
//!
//! The fake model acts only on what it is sent: the results of its calls and, after a crash, the note about
//! earlier attempts.

pub mod kill;
mod model;

use std::fs;
use std::path::Path;

use crate::{FakeModel, System, SystemBuilder};

pub use model::{ANSWER, Check, Model};

pub const REQUEST: &str =
    "The median in stats/ is wrong for an odd number of values. Find out why, and repair it.";

const SOURCE: &str = "stats/src/lib.rs";

/// The library with its bug: the median of three is not the first.
const LIBRARY: &str = r"//! Small statistics.

/// The middle of sorted numbers; of two in the middle, the lower one.
pub fn median(sorted: &[i64]) -> i64 {
    sorted[sorted.len() / 2 - 1]
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_of_three_is_the_second() {
        assert_eq!(median(&[1, 2, 3]), 2);
    }

    #[test]
    fn the_median_of_four_is_the_second() {
        assert_eq!(median(&[1, 2, 3, 4]), 2);
    }
}
";

const MANIFEST: &str = "[package]\nname = \"stats\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

pub fn system(model: &FakeModel) -> SystemBuilder {
    System::builder().model(model).workers(1).variable("AUTONOUS_TASK_RETRY_BASE_MS", "1")
}

pub fn lay_out(workspace: &Path) {
    let files = [(SOURCE, LIBRARY), ("stats/Cargo.toml", MANIFEST), (model::CHANGES, "# Changes\n")];
    for (name, text) in files {
        let path = workspace.join(name);
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("a workspace is writable");
        fs::write(path, text).expect("a workspace is writable");
    }
}

/// Panics unless the bug is fixed and the change is noted, each once.
pub fn assert_repaired(workspace: &Path) {
    let read = |name: &str| fs::read_to_string(workspace.join(name)).unwrap_or_default();
    let (source, changes) = (read(SOURCE), read(model::CHANGES));
    assert_eq!(source, LIBRARY.replace(model::WRONG, model::RIGHT), "the source is wrong");
    assert_eq!(changes.matches(model::CHANGE).count(), 1, "{changes}");
}
