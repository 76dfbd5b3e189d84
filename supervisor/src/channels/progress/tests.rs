//! When each sign is due.

use super::super::progress_text::tests::activity;
use super::*;
use crate::channels::local::Local;

#[test]
fn typing_comes_at_once_a_message_after_three_seconds_and_edits_no_sooner_than_that() {
    let (task, start) = (Seen::Begun(activity()), Instant::now());
    let (local, mut life) = (Local::default(), Life::default());
    let shows = Shows { channel: &local, said: None };
    let mut seen = Vec::new();
    for tenth in 0..200 {
        let now = start + Duration::from_millis(tenth * 100);
        let now_ms = i64::try_from(tenth * 100).unwrap();
        match shows.due(&life, &task, now, now_ms) {
            Some(Sign::Typing) => {
                life.typed_at = Some(now);
                seen.push(("typing", tenth));
            }
            Some(Sign::Progress(progress)) => {
                life.told(progress, now);
                life.message_id = Some(1.into());
                seen.push(("new", tenth));
            }
            Some(Sign::Update { progress, .. }) => {
                life.told(progress, now);
                seen.push(("edit", tenth));
            }
            Some(Sign::Remove { .. } | Sign::Find(_) | Sign::Draft(_)) => panic!("it runs"),
            None => {}
        }
    }
    let first = [("typing", 0), ("typing", 25), ("new", 30), ("typing", 50), ("edit", 60)];
    assert_eq!(seen[..5], first);
    let edits: Vec<u64> = seen.iter().filter(|seen| seen.0 == "edit").map(|seen| seen.1).collect();
    assert_eq!(edits, [60, 90, 120, 150, 180]);
    life.is_refused = true;
    assert_eq!(shows.due(&life, &task, start + Duration::from_secs(90), 90_000), None);
}
