//! The fetcher: the only process that opens connections for the tools, and the only one with the secrets that
//! requests to the web carry.
//!
//! It is forked by the tool server before that opens its roots and reads its secrets, keeps the network and
//! no file, and forks a process for each request, which lives as long as the request. So nothing of one
//! request is left for the next, and a page that breaks the program breaks only its own answer. The tool
//! server has no network: it sends a request over a socket, and reads what came of it.
//!
//! Nothing here knows about tools, roots or sessions.

mod credentials;
mod fetch;
mod judge;
mod messages;
mod page;
mod profiles;
mod proxy;
mod search;
mod secrets;
mod serve;
mod standing;
mod start;
mod stream;
mod web_settings;

pub use fetch::check_headers;
pub use judge::{HostPattern, Hosts, host_of, service_of, shown_url};
pub use messages::{
    End, Extract, Fetch, FetchError, Found, Head, Job, Link, Message, Page, PageKind, Purpose, Recency,
    Search, SearchHit,
};
pub use page::{Rendered, render};
pub use profiles::secret_variables;
pub use proxy::{Proxy, ProxyRules, Refused};
pub use secrets::{Secrets, readings};
pub use standing::Standing;
pub use start::{Exchange, Fetcher, StartError};
pub use web_settings::{SearchSettings, Settings};
