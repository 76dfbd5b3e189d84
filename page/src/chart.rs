//! Charts as SVG. Each has its numbers in a table or in its titles, for those who do not see it.

use maud::{Markup, html};

use crate::words::number;

const WIDTH: i64 = 720;
const HEIGHT: i64 = 160;
const BASE: i64 = HEIGHT - 20;
/// Room for the largest value's number.
const TOP: i64 = 18;

/// One bar, which may have two parts.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub label: String,
    /// What a person reads of it.
    pub said: String,
    pub lower: i64,
    pub upper: i64,
}

/// Bars beside each other, on one scale.
pub(crate) fn bars(title: &str, id: &str, bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.lower + bar.upper).max().unwrap_or(0).max(1);
    let count = i64::try_from(bars.len()).unwrap_or(1).max(1);
    let step = WIDTH / count;
    let height = |value: i64| value * (BASE - TOP) / most;
    // Labels that would lie on each other are left out.
    let every = usize::try_from((56 + step - 1) / step.max(1)).unwrap_or(1).max(1);
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby=(id) {
            title id=(id) { (title) ", at most " (number(most)) }
            line.grid x1="0" x2=(WIDTH) y1=(BASE) y2=(BASE) {}
            text.axis x="0" y="12" { (number(most)) }
            @for ((at, bar), x) in bars.iter().enumerate().zip((0..).map(|at: i64| at * step)) {
                @let (low, high) = (height(bar.lower), height(bar.upper));
                g {
                    title { (bar.said) }
                    rect.bar.call x=(x + 1) y=(BASE - low) width=((step - 2).max(1)) height=(low) {}
                    rect.bar.model x=(x + 1) y=(BASE - low - high) width=((step - 2).max(1)) height=(high) {}
                }
                @if at % every == 0 { text.axis x=(x + 1) y=(HEIGHT - 5) { (bar.label) } }
            }
        }
    }
}

/// How much of a limit is used.
pub(crate) fn meter(used: i64, limit: i64, said: &str) -> Markup {
    html! { meter min="0" max=(limit.max(1)) value=(used.clamp(0, limit.max(1))) title=(said) { (said) } }
}
