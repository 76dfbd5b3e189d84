//! Collects the results that a page can need: the smallest paths after the cursor, and no more.
//!
//! All threads add to it. Once the page is certain to be full, nothing that sorts after it is visited, so the
//! first page of a large tree is cheap and memory stays that of one page.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use toolkit::locked;

/// How much of a page a result uses, or how much a page can hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PageUsage {
    /// What the caller's limit counts.
    pub(crate) items: usize,
    /// A lower bound of the bytes of text.
    pub(crate) bytes: usize,
}

impl PageUsage {
    pub(crate) fn exceeds(self, room: PageUsage) -> bool {
        self.items > room.items || self.bytes > room.bytes
    }

    fn plus(self, other: PageUsage) -> PageUsage {
        PageUsage { items: self.items + other.items, bytes: self.bytes + other.bytes }
    }

    fn minus(self, other: PageUsage) -> PageUsage {
        PageUsage { items: self.items - other.items, bytes: self.bytes - other.bytes }
    }
}

/// The smallest paths found so far.
pub(crate) struct PageCollector<T> {
    after: Bound<Vec<u8>>,
    room: PageUsage,
    collected: Mutex<Collected<T>>,
    is_bounded: AtomicBool,
}

struct Collected<T> {
    by_path: BTreeMap<Vec<u8>, (PageUsage, T)>,
    usage: PageUsage,
    /// Paths after this one were dropped or need no visit.
    bound: Option<Vec<u8>>,
}

impl<T> PageCollector<T> {
    /// An empty collection for a page of size `room` that starts at `after`.
    pub(crate) fn new(after: Bound<Vec<u8>>, room: PageUsage) -> Self {
        let collected = Collected { by_path: BTreeMap::new(), usage: PageUsage::default(), bound: None };
        Self { after, room, collected: Mutex::new(collected), is_bounded: AtomicBool::new(false) }
    }

    /// Whether this path can be on the page.
    pub(crate) fn may_include(&self, path: &[u8]) -> bool {
        let is_after = match &self.after {
            Bound::Unbounded => true,
            Bound::Included(after) => path >= after.as_slice(),
            Bound::Excluded(after) => path > after.as_slice(),
        };
        is_after && !self.is_after_the_page(path)
    }

    /// Whether anything beneath a directory can be on the page; its path ends in `/` or is empty.
    pub(crate) fn may_include_below(&self, directory: &[u8]) -> bool {
        let may_be_after = match &self.after {
            Bound::Unbounded => true,
            Bound::Included(after) | Bound::Excluded(after) => {
                directory >= after.as_slice() || after.starts_with(directory)
            }
        };
        may_be_after && !self.is_after_the_page(directory)
    }

    fn is_after_the_page(&self, path: &[u8]) -> bool {
        self.is_bounded.load(Ordering::Relaxed)
            && locked(&self.collected).bound.as_deref().is_some_and(|bound| path > bound)
    }

    /// Adds a result, as long as the page can need it.
    pub(crate) fn add(&self, path: &[u8], usage: PageUsage, item: T) {
        let mut collected = locked(&self.collected);
        if collected.bound.as_deref().is_some_and(|bound| path > bound) {
            return;
        }
        collected.usage = collected.usage.plus(usage);
        collected.by_path.insert(path.to_vec(), (usage, item));
        while let Some((largest, (of_largest, _))) = collected.by_path.last_key_value() {
            let without = collected.usage.minus(*of_largest);
            if collected.usage.exceeds(self.room) {
                collected.bound = Some(largest.clone());
                self.is_bounded.store(true, Ordering::Relaxed);
            }
            if !without.exceeds(self.room) {
                break;
            }
            collected.by_path.pop_last();
            collected.usage = without;
        }
    }

    pub(crate) fn into_sorted(self) -> impl Iterator<Item = (Vec<u8>, T)> {
        let collected = self.collected.into_inner().unwrap_or_else(PoisonError::into_inner);
        collected.by_path.into_iter().map(|(path, (_, item))| (path, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(after: Bound<Vec<u8>>, room: usize, paths: &[&str]) -> Vec<String> {
        let found = PageCollector::new(after, PageUsage { items: room, bytes: usize::MAX });
        for path in paths {
            if found.may_include(path.as_bytes()) {
                found.add(path.as_bytes(), PageUsage { items: 1, bytes: path.len() }, ());
            }
        }
        found.into_sorted().map(|(path, ())| String::from_utf8(path).unwrap()).collect()
    }

    #[test]
    fn one_more_than_fits_is_kept_to_show_that_there_is_a_next_page() {
        assert_eq!(collected(Bound::Unbounded, 2, &["d", "b", "e", "a", "c"]), ["a", "b", "c"]);
        assert_eq!(collected(Bound::Unbounded, 5, &["b", "a"]), ["a", "b"]);
    }

    #[test]
    fn a_cursor_skips_earlier_pages() {
        assert_eq!(collected(Bound::Excluded(b"b".to_vec()), 5, &["a", "b", "c"]), ["c"]);
        assert_eq!(collected(Bound::Included(b"b".to_vec()), 5, &["a", "b", "c"]), ["b", "c"]);
    }

    #[test]
    fn a_directory_is_entered_only_if_the_page_can_need_what_is_in_it() {
        let found =
            PageCollector::new(Bound::Excluded(b"b/m".to_vec()), PageUsage { items: 1, bytes: usize::MAX });
        let wanted = |found: &PageCollector<()>| {
            ["a/", "b/", "b/a/", "b/m/", "c/"].map(|directory| found.may_include_below(directory.as_bytes()))
        };
        assert_eq!(wanted(&found), [false, true, false, true, true]);
        found.add(b"b/n", PageUsage { items: 1, bytes: 3 }, ());
        found.add(b"b/o", PageUsage { items: 1, bytes: 3 }, ());
        assert_eq!(wanted(&found), [false, true, false, true, false]);
    }
}
