//! The HTML of the page at the control port: pure functions, from what was read to what a browser shows.
//!
//! No I/O, no route and no state; the supervisor's `page/` has those. Everything that a model, a person or a
//! file wrote is text here and never HTML: [`maud`] escapes it, and [`words`] makes what hides or reorders
//! text visible. No view has a style or a script of its own, so that the policy of the page can forbid both.

#![expect(missing_docs, reason = "the fields are those of the views, and say what they show")]

mod approval;
pub mod assets;
mod call;
mod chart;
mod diff;
pub mod files;
pub mod form;
mod formatted;
pub mod frame;
mod health;
mod nodes;
pub mod now;
mod output;
pub mod schedules;
pub mod settings_view;
pub mod sign_in;
mod table;
pub mod talk;
pub mod task;
pub mod tasks;
mod time;
pub mod tools;
pub mod usage;
mod waterfall;
mod words;
pub mod work;

pub use approval::{approval_card, approvals, waiting_cards};
pub use call::{KeptOfCall, call_page, is_cut};
pub use frame::{Frame, Place, document};
pub use health::Health;
pub use maud::Markup;
pub use output::{OutputPart, output_page};
pub use words::encoded;
