//! Room on the disks of the roots: commands leave a reserve of space and of inodes.
//!
//! A command that starts when the reserve is used up may free some: it can delete, but its file size limit is
//! zero, so it can write to no file.

use std::sync::Arc;

use files::roots::Roots;
use rustix::fs::statvfs;

/// The reserve of inodes: this part of all, and at most so many.
const RESERVED_PART: u64 = 20;
const MAX_RESERVED_INODES: u64 = 65_536;

/// A command that is to free room may take so much of the reserve meanwhile, such as for directories.
const SLACK_PART: u64 = 16;

#[derive(Debug)]
pub(crate) struct Room {
    roots: Arc<Roots>,
    /// The reserve of space; without one there is none of inodes either.
    min_free_bytes: u64,
}

/// What a disk has left, and what of that is the reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    bytes: u64,
    inodes: u64,
    reserved_bytes: u64,
    reserved_inodes: u64,
}

/// What a command must leave.
#[derive(Debug)]
pub(crate) enum Bound {
    /// The reserve.
    Reserve,
    /// The reserve is used up: about what there was, by root.
    AsItWas(Vec<Left>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Ample,
    /// It may be gone within a moment.
    Tight,
    /// Less than the bound.
    Short,
}

impl Room {
    pub(crate) fn new(roots: Arc<Roots>, min_free_bytes: u64) -> Self {
        Self { roots, min_free_bytes }
    }

    /// What a command that starts now must leave.
    pub(crate) fn bound(&self) -> Bound {
        let left = self.left();
        if left.iter().any(|left| left.level() == Level::Short) {
            Bound::AsItWas(left)
        } else {
            Bound::Reserve
        }
    }

    pub(crate) fn level(&self, bound: &Bound) -> Level {
        let left = self.left();
        let level = match bound {
            Bound::Reserve => left.iter().map(Left::level).max(),
            Bound::AsItWas(before) => {
                let shrunk = left.iter().zip(before).any(|(now, before)| now.is_less_than(before));
                Some(if shrunk { Level::Short } else { Level::Tight })
            }
        };
        level.unwrap_or(Level::Ample)
    }

    fn left(&self) -> Vec<Left> {
        let disks = self.roots.paths().filter_map(|root| statvfs(root).ok());
        let left = disks.map(|disk| {
            let reserved = (disk.f_files / RESERVED_PART).min(MAX_RESERVED_INODES);
            Left {
                bytes: disk.f_bavail.saturating_mul(disk.f_frsize),
                inodes: disk.f_favail,
                reserved_bytes: self.min_free_bytes,
                // Some file systems, such as btrfs, have no fixed number of inodes and report none.
                reserved_inodes: if self.min_free_bytes == 0 { 0 } else { reserved },
            }
        });
        left.collect()
    }
}

impl Bound {
    /// Whether the command may delete but not write.
    pub(crate) fn is_for_freeing(&self) -> bool {
        matches!(self, Self::AsItWas(_))
    }

    /// The remark about a command that may not write.
    pub(crate) fn notice(&self) -> Option<String> {
        self.is_for_freeing().then(|| {
            "The disk is nearly full (AUTONOUS_TOOL_MIN_FREE_MB), so this command could delete files but \
             write to none."
                .to_owned()
        })
    }
}

impl Left {
    fn level(&self) -> Level {
        let level = |left: u64, reserved: u64| match left {
            left if left < reserved => Level::Short,
            left if left / 4 < reserved => Level::Tight,
            _ => Level::Ample,
        };
        level(self.bytes, self.reserved_bytes).max(level(self.inodes, self.reserved_inodes))
    }

    /// Whether more is gone than a command needs that deletes.
    fn is_less_than(&self, before: &Self) -> bool {
        let is_less = |now: u64, before: u64, reserved: u64| now + reserved / SLACK_PART < before;
        is_less(self.bytes, before.bytes, self.reserved_bytes)
            || is_less(self.inodes, before.inodes, self.reserved_inodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: Left = Left { bytes: 1000, inodes: 1000, reserved_bytes: 100, reserved_inodes: 100 };

    #[test]
    fn space_and_inodes_are_short_below_their_reserve_and_tight_near_it() {
        let check = |left: Left, level: Level| assert_eq!(left.level(), level, "{left:?}");
        check(LEFT, Level::Ample);
        check(Left { bytes: 399, ..LEFT }, Level::Tight);
        check(Left { bytes: 100, ..LEFT }, Level::Tight);
        check(Left { bytes: 99, ..LEFT }, Level::Short);
        check(Left { inodes: 99, ..LEFT }, Level::Short);
        check(Left { inodes: 0, reserved_inodes: 0, ..LEFT }, Level::Ample);
    }

    #[test]
    fn what_is_to_free_room_may_take_a_little_of_it() {
        let check = |now: Left, less: bool| assert_eq!(now.is_less_than(&LEFT), less, "{now:?}");
        check(Left { bytes: 995, inodes: 995, ..LEFT }, false);
        check(Left { bytes: 990, ..LEFT }, true);
        check(Left { inodes: 990, ..LEFT }, true);
        check(Left { bytes: 2000, ..LEFT }, false);
    }
}
