//! What came of many cases, by category: how many were run, how many hold, and why each other does not.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::Case;

/// How many cases are tried at once; each waits most of its time for a server to start or to end.
const AT_ONCE: usize = 4;

#[derive(Debug)]
pub struct Outcome {
    pub id: String,
    pub category: String,
    pub held: Result<(), String>,
}

pub fn run_all(cases: &[Case], attempt: impl Fn(&Case) -> Result<(), String> + Sync) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let (send, outcomes) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let (send, next, attempt) = (send.clone(), &next, &attempt);
            scope.spawn(move || {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (id, category) = (case.id.clone(), case.category.clone());
                    let _ = send.send(Outcome { id, category, held: attempt(case) });
                }
            });
        }
    });
    drop(send);
    outcomes.iter().collect()
}

/// A case that does not hold, by its id, and the loss that this tier of the sandbox states.
pub type StatedLoss = (&'static str, &'static str);

/// The outcomes by category; panics with every miss that is no stated loss when there is one.
pub fn report(what: &str, outcomes: &[Outcome], losses: &[StatedLoss]) -> String {
    let mut categories: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut misses, mut stated) = (String::new(), String::new());
    for outcome in outcomes {
        let (run, held) = categories.entry(&outcome.category).or_default();
        *run += 1;
        match &outcome.held {
            Ok(()) => *held += 1,
            Err(why) => match losses.iter().find(|(id, _)| *id == outcome.id) {
                Some((id, loss)) => drop(writeln!(stated, "  {id} is a stated loss: {loss}")),
                None => drop(writeln!(misses, "{}: {why}", outcome.id)),
            },
        }
    }
    let all_held: usize = categories.values().map(|(_, held)| held).sum();
    let mut text = format!("{what}: {} run, {all_held} held\n", outcomes.len());
    for (category, (run, held)) in categories {
        let _ = writeln!(text, "  {category:<20} {run:>4} run, {held:>4} held");
    }
    text.push_str(&stated);
    assert!(misses.is_empty(), "{text}{misses}");
    text
}
