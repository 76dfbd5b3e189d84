//! A family's three weeks with one bot, while its processes are killed and its network breaks.

use harness::family::FamilyTest;

use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    let number = |name: &str| std::env::var(name).ok().and_then(|given| given.parse::<u64>().ok());
    let seed = number("SEED").unwrap_or_else(|| protocol::now_ms().unsigned_abs());
    let days = number("DAYS").and_then(|days| usize::try_from(days).ok()).unwrap_or(21);
    println!("  {days} days, seed {seed}");
    let found = FamilyTest { days, seed }.run(|day| println!("  day {day}"));
    for row in found.rows() {
        let most = row.most.map_or("any".to_owned(), |most| format!("at most {most}"));
        report.row(row.what, &row.found.to_string(), &most, row.holds());
        if !row.holds() {
            row.details.iter().take(10).for_each(|detail| println!("      {detail}"));
        }
    }
}
