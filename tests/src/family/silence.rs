//! How long a chat saw nothing while something was owed to it.

use std::time::{Duration, Instant};

use super::ledger::Span;

/// The longest time without a sign in a chat's spans, and when it began. Times in `excused` do not count, and
/// the count begins again behind each.
pub(super) fn longest(owed: &[Span], signs: &[Instant], excused: &[(Instant, Instant)]) -> Option<Silence> {
    let silences = owed.iter().flat_map(|span| {
        let mut seen: Vec<Instant> =
            signs.iter().copied().filter(|at| (span.from..=span.to).contains(at)).collect();
        seen.sort_unstable();
        let points: Vec<Instant> = [vec![span.from], seen, vec![span.to]].concat();
        let gaps: Vec<(Instant, Instant)> = points.windows(2).map(|two| (two[0], two[1])).collect();
        gaps.into_iter().flat_map(|gap| without(gap, excused))
    });
    let silences = silences.map(|(from, to)| Silence { from, time: to.duration_since(from) });
    silences.max_by_key(|silence| silence.time)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Silence {
    pub(super) from: Instant,
    pub(super) time: Duration,
}

/// Spans of one chat that touch become one: a sign is for everything that is owed.
pub(super) fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable_by_key(|span| span.from);
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut().filter(|last| span.from <= last.to) {
            Some(last) => last.to = last.to.max(span.to),
            None => merged.push(span),
        }
    }
    merged
}

/// The rest of a time without these.
fn without(time: (Instant, Instant), excused: &[(Instant, Instant)]) -> Vec<(Instant, Instant)> {
    excused.iter().fold(vec![time], |pieces, &(from, to)| {
        let cut = |(begin, end): (Instant, Instant)| {
            if to <= begin || end <= from {
                return vec![(begin, end)];
            }
            let (before, after) = ((begin, from.max(begin)), (to.min(end), end));
            [before, after].into_iter().filter(|(begin, end)| begin < end).collect()
        };
        pieces.into_iter().flat_map(cut).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_time_without_a_sign_is_found_and_breaks_begin_it_again() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let span = |from, to| Span { chat: 1, from: at(from), to: at(to) };
        let spans = merged(vec![span(0, 4), span(3, 10), span(20, 21)]);
        assert_eq!(spans.len(), 2);
        let found = |signs: &[Instant], excused: &[(Instant, Instant)]| {
            let silence = longest(&spans, signs, excused).unwrap();
            (silence.from.duration_since(start).as_secs(), silence.time.as_secs())
        };
        assert_eq!(found(&[], &[]), (0, 10));
        assert_eq!(found(&[at(4), at(5), at(15)], &[]), (5, 5));
        assert_eq!(found(&[at(4), at(5)], &[(at(6), at(8))]), (0, 4));
        assert_eq!(found(&[at(4), at(5)], &[(at(3), at(8))]), (0, 3));
    }
}
