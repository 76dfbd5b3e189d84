//! Results by category: how many cases ran, how many held, and why the others did not.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::Case;

/// How many cases run at once; each spends most of its time waiting for a server to start or stop.
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

/// The ID of a case that does not hold, and the loss that this sandbox tier states.
pub type StatedLoss = (&'static str, &'static str);

/// The results by category; panics if a case fails that is not a stated loss.
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
