//! A task in its time: a bar for each request of the model and each tool call.

use maud::{Markup, html};

use crate::time::span;
use crate::words::{beginning, encoded};
use crate::work::Work;

/// More bars would be a picture that nothing can be seen in; the newest ones are drawn.
const MOST_BARS: usize = 120;
const WIDTH: i64 = 1000;
const LABEL: i64 = 190;
const ROW: i64 = 20;
const HEAD: i64 = 22;
/// The least that can be seen and pointed at.
const LEAST: i64 = 3;

struct Bar {
    label: String,
    kind: &'static str,
    from_ms: i64,
    to_ms: i64,
    /// Where it leads.
    address: Option<String>,
}

/// The picture; the tables beside it say the same in words.
pub(crate) fn waterfall(work: &Work, now_ms: i64) -> Markup {
    let bars = bars(work, now_ms);
    let Some(from_ms) = bars.iter().map(|bar| bar.from_ms).min() else { return html! {} };
    let to_ms = bars.iter().map(|bar| bar.to_ms).max().unwrap_or(from_ms).max(from_ms + 1);
    let x = |ms: i64| LABEL + (ms - from_ms) * (WIDTH - LABEL) / (to_ms - from_ms);
    let height = HEAD + ROW * i64::try_from(bars.len()).unwrap_or(0);
    html! {
        div.scroll tabindex="0" {
            svg.waterfall viewBox={ "0 0 " (WIDTH) " " (height) } role="group"
                aria-labelledby="waterfall-title" {
                title id="waterfall-title" {
                    "Waterfall of " (bars.len()) " model requests and tool calls over "
                    (span(to_ms - from_ms))
                }
                @for quarter in 0..=4 {
                    @let at = LABEL + (WIDTH - LABEL) * quarter / 4;
                    line.grid x1=(at) x2=(at) y1=(HEAD - 4) y2=(height) {}
                    text.axis x=(at) y="13" text-anchor=(if quarter == 4 { "end" } else { "middle" }) {
                        (span((to_ms - from_ms) * quarter / 4))
                    }
                }
                @for (row, bar) in (0..).zip(&bars) {
                    (drawn(bar, HEAD + ROW * row, x(bar.from_ms), x(bar.to_ms)))
                }
            }
        }
    }
}

fn drawn(bar: &Bar, y: i64, left: i64, right: i64) -> Markup {
    let shape = html! {
        title { (bar.label) ": " (span(bar.to_ms - bar.from_ms)) }
        text.label x=(LABEL - 8) y=(y + 14) text-anchor="end" { (beginning(&bar.label, 24)) }
        rect class={ "bar " (bar.kind) } x=(left.min(WIDTH - LEAST)) y=(y + 3)
            width=((right - left).max(LEAST)) height=(ROW - 6) rx="2" {}
    };
    html! {
        @match &bar.address {
            Some(address) => a href=(address) { (shape) },
            None => g { (shape) },
        }
    }
}

fn bars(work: &Work, now_ms: i64) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    for attempt in &work.attempts {
        let last_ms = attempt.ended_ms.unwrap_or(now_ms);
        bars.extend(attempt.turns.iter().map(|turn| Bar {
            label: format!("turn {} · {}", turn.number, turn.model),
            kind: "model",
            from_ms: turn.began_ms,
            to_ms: turn.model_ms.map_or(last_ms, |took| turn.began_ms + took),
            address: None,
        }));
        bars.extend(attempt.calls.iter().map(|call| Bar {
            label: call.tool.clone(),
            kind: if call.has_failed { "failed" } else { "call" },
            from_ms: call.began_ms,
            to_ms: call.ended_ms.unwrap_or(last_ms),
            address: Some(format!("/calls/{}", encoded(call.id.as_str()))),
        }));
    }
    bars.sort_by_key(|bar| bar.from_ms);
    bars.split_off(bars.len().saturating_sub(MOST_BARS))
}
