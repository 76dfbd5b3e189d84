//! What was used: by day, chat and model, with the limits beside it.

use std::collections::BTreeMap;

use maud::{Markup, html};
use settings::quotas::{DailyLimits, Limits};
use store::queries::usage::Used;

use crate::chart::{Bar, bars, meter};
use crate::table::{heads, numbers, table};
use crate::time::span;
use crate::words::{money, number, words};

/// What a day, a chat or a model used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    turns: i64,
    input: i64,
    /// Input that counts, because no cache had it.
    uncached: i64,
    output: i64,
    command_ms: i64,
    cost: Option<i64>,
}

impl Sum {
    fn add(&mut self, used: &Used) {
        self.turns += used.turns;
        self.input += used.input_tokens;
        self.uncached += used.input_tokens - used.cached_input_tokens;
        self.output += used.output_tokens;
        self.command_ms += used.command_ms;
        self.cost = match (self.cost, used.cost_micros) {
            (None, other) | (other, None) => other,
            (Some(one), Some(other)) => Some(one + other),
        };
    }
}

fn by(used: &[Used], key: impl Fn(&Used) -> Option<String>) -> BTreeMap<String, Sum> {
    let mut sums = BTreeMap::<String, Sum>::new();
    for one in used {
        if let Some(key) = key(one) {
            sums.entry(key).or_default().add(one);
        }
    }
    sums
}

/// The view of so many days, whose last is `today`.
pub fn usage(used: &[Used], days: &[String], limits: &Limits, today: &str) -> Markup {
    let by_day = by(used, |used| Some(used.day.clone()));
    html! {
        nav.pages aria-label="Span" {
            @for span in [7, 30, 90] { a href={ "/usage?days=" (span) } { "Last " (span) " days" } }
        }
        (charts(&by_day, days))
        (today_of(used, limits, today))
        (sums("By chat", "Chat", &by(used, |used| Some(format!("{}:{}", used.channel, used.chat)))))
        (sums("By model", "Model", &by(used, |used| used.model.clone())))
        (sums("By day", "Day", &by_day))
    }
}

fn charts(by_day: &BTreeMap<String, Sum>, days: &[String]) -> Markup {
    let each = |read: &dyn Fn(&Sum) -> (i64, i64, String)| -> Vec<Bar> {
        let bar = |day: &String| {
            let (lower, upper, said) = read(&by_day.get(day).copied().unwrap_or_default());
            let label = day.get(5..).unwrap_or(day).to_owned();
            Bar { label, said: format!("{day}: {said}"), lower, upper }
        };
        days.iter().map(bar).collect()
    };
    let tokens = each(&|sum| {
        let said = format!("{} tokens in, {} out", number(sum.input), number(sum.output));
        (sum.input, sum.output, said)
    });
    let costs = each(&|sum| (sum.cost.unwrap_or(0), 0, money(sum.cost)));
    let seconds = each(&|sum| (sum.command_ms / 1000, 0, span(sum.command_ms)));
    html! {
        h2 { "Tokens by day" }
        p.legend { span.key.call {} " input " span.key.model {} " output" }
        (chart("Tokens by day", "chart-tokens", &tokens))
        @if costs.iter().any(|bar| bar.lower > 0) {
            h2 { "Money by day" }
            (chart("Money by day, in millionths", "chart-money", &costs))
        }
        h2 { "Seconds of commands by day" }
        (chart("Seconds of commands by day", "chart-seconds", &seconds))
    }
}

fn chart(title: &str, id: &str, of: &[Bar]) -> Markup {
    html! {
        @if of.iter().all(|bar| bar.lower + bar.upper == 0) { p.empty { "Nothing was used." } }
        @else { div.scroll tabindex="0" { (bars(title, id, of)) } }
    }
}

fn sums(title: &str, name: &str, sums: &BTreeMap<String, Sum>) -> Markup {
    let columns = html! { (heads(&[name])) (numbers(&["Turns", "Input", "Output", "Commands", "Cost"])) };
    html! {
        h2 { (title) }
        @if sums.is_empty() {
            p.empty { "Nothing was used." }
        } @else {
            (table(title, &columns, &html! {
                @for (key, sum) in sums.iter().rev() {
                    tr {
                        th scope="row" { (words(key)) }
                        td.number { (number(sum.turns)) }
                        td.number { (number(sum.input)) }
                        td.number { (number(sum.output)) }
                        td.number { (span(sum.command_ms)) }
                        td.number { (money(sum.cost)) }
                    }
                }
            }))
        }
    }
}

/// What each chat used today of the limits of a chat.
fn today_of(used: &[Used], limits: &Limits, today: &str) -> Markup {
    let of_today: Vec<Used> = used.iter().filter(|used| used.day == today).cloned().collect();
    let chats = by(&of_today, |used| Some(format!("{}:{}", used.channel, used.chat)));
    let has_limits = limits.chat != DailyLimits::default();
    html! {
        h2 { "Limits today" }
        @if !has_limits {
            p.empty { "No limits of a day are set for chats; " code { "policy.toml" } " can have them." }
        } @else if chats.is_empty() {
            p.empty { "No chat has used anything today." }
        }
        @for (chat, sum) in chats.iter().filter(|_| has_limits) {
            h3 { (words(chat)) }
            ul.limits { @for (used, limit, name) in limited(sum, &limits.chat) {
                @let said = format!("{} of {} {name}", number(used), number(limit));
                li { (meter(used, limit, &said)) " " (said) }
            } }
        }
        @if limits.user != DailyLimits::default() {
            p {
                "People have limits of their own, over all their chats; " code { "/status" }
                " tells each of theirs."
            }
        }
    }
}

fn limited(sum: &Sum, limits: &DailyLimits) -> Vec<(i64, i64, &'static str)> {
    let limit = |limit: Option<u64>| limit.and_then(|limit| i64::try_from(limit).ok());
    let money = limits.money_per_day.map(|money| money.0);
    [
        (sum.turns, limit(limits.turns_per_day), "turns"),
        (sum.uncached + sum.output, limit(limits.tokens_per_day), "tokens"),
        (sum.command_ms / 1000, limit(limits.command_seconds_per_day), "seconds of commands"),
        (sum.cost.unwrap_or(0), limit(money), "millionths of money"),
    ]
    .into_iter()
    .filter_map(|(used, limit, name)| Some((used, limit?, name)))
    .collect()
}
