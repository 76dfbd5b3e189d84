//! What may be asked: the address as it is written, the host by its name, and each address that the name has.

mod address;
mod hosts;
mod url;

pub(crate) use address::judge_addresses;
pub use hosts::{HostPattern, Hosts};
pub(crate) use url::{
    blocked, check as check_url, host_name, is_credential_name, is_loopback_name, is_web_port, parse,
};
pub use url::{host_of, service_of, shown_url};
