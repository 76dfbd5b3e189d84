//! How each part of the service is.

use maud::{Markup, html};

use crate::time::time;
use crate::words::{state, words};

/// A part of the service, such as the database.
#[derive(Debug)]
pub struct Health {
    pub name: String,
    /// `ok`, `degraded`, `failed` or `off`.
    pub state: String,
    pub since_ms: i64,
    pub detail: String,
    /// What to do.
    pub remedy: Option<String>,
}

/// All parts; those that are not well come first.
pub(crate) fn health(parts: &[Health]) -> Markup {
    let (mut shown, well): (Vec<&Health>, Vec<&Health>) =
        parts.iter().partition(|part| ["degraded", "failed"].contains(&&*part.state));
    shown.extend(well);
    html! {
        table.cards {
            caption.unseen { "Parts of the service" }
            thead { tr { th scope="col" { "Part" } th scope="col" { "State" } th scope="col" { "Detail" } } }
            tbody {
                @for part in shown {
                    tr {
                        th scope="row" { (part.name.replace('_', " ")) }
                        td { (state(&part.state)) }
                        td {
                            (words(&part.detail))
                            @if let Some(remedy) = &part.remedy { br; strong { (words(remedy)) } }
                            @if ["degraded", "failed"].contains(&&*part.state) {
                                br; small { "since " (time(part.since_ms)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
