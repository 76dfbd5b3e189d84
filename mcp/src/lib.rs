//! The Model Context Protocol: one more face of the runner.
//!
//! `tools/list` is the catalogue, and `tools/call` is a call of the [`Runner`](toolkit::Runner) like any
//! other: past the same guards, into the same journal. The answer is the envelope, as structured content and
//! in its text form. Nothing here opens a file, listens on a port or checks a token: the tool server does.

mod answer;
mod asking;
mod call;
mod caller;
mod catalogue;
mod handler;
mod http;
mod stdio;

pub use self::caller::Caller;
pub use self::handler::Handler;
pub use self::http::HttpFace;
pub use self::stdio::serve_stdio;
