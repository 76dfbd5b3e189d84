//! Formats that identify a secret: tokens with a vendor's prefix, headers, addresses, key blocks.
//!
//! A format that also occurs in ordinary text does not belong here.

mod private_keys;
#[cfg(test)]
mod real_tokens;
mod transport;
mod vendors;

use super::rule::Rule;

pub(super) static ALL: &[&[Rule]] = &[vendors::RULES, transport::RULES, private_keys::RULES];
