//! What the HTTP ports of the supervisor and the tool server share.
//!
//! [`Access`] says who may come in: requests for our own host, not from a foreign web page, with the token.
//! [`serve`] bounds what clients can hold: how long they may take ([`TimeLimits`]) and how many connections
//! there are at once. It knows no route and words no error; each program answers in its own form.

mod access;
mod body;
mod connections;
mod limits;
mod metrics;
mod next_request;
mod prefer;
mod progress;
mod self_wakes;
mod serve;
mod stream;
mod tls;
mod tunnel;

pub use access::{Access, Refused, presented_token};
pub use body::{BodyTimeout, SLOWEST_BYTES_PER_SECOND, is_body_timeout};
pub use limits::{Bounds, TimeLimits};
pub use metrics::Metrics;
pub use prefer::preferred_wait;
pub use serve::{End, Routes, prepare, serve};
pub use tls::{Tls, TlsError};
pub use tunnel::{ClientFiles, FarEnd, tunnel};
