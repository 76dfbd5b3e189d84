//! Tables, each in a box that scrolls where the screen is narrow.

use maud::{Markup, html};

/// A table whose rows become cards on a narrow screen.
pub(crate) fn cards(caption: &str, columns: &[&str], rows: &Markup) -> Markup {
    in_a_box(Some("cards"), caption, &heads(columns), rows)
}

/// A table whose columns [`heads`] and [`numbers`] name.
pub(crate) fn table(caption: &str, columns: &Markup, rows: &Markup) -> Markup {
    in_a_box(None, caption, columns, rows)
}

/// The names of columns.
pub(crate) fn heads(names: &[&str]) -> Markup {
    html! { @for name in names { th scope="col" { (name) } } }
}

/// The names of columns with numbers.
pub(crate) fn numbers(names: &[&str]) -> Markup {
    html! { @for name in names { th.number scope="col" { (name) } } }
}

fn in_a_box(class: Option<&str>, caption: &str, columns: &Markup, rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table class=[class] {
                caption.unseen { (caption) }
                thead { tr { (columns) } }
                tbody { (rows) }
            }
        }
    }
}
