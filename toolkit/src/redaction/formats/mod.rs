//! Formats that say what they are: tokens with a vendor's prefix, headers, addresses, key blocks.
//!
//! A new vendor is one rule in one of these lists. A format that honest text shares does not belong here.

mod private_keys;
mod transport;
mod vendors;

use super::rule::Rule;

/// All formats.
pub(super) static ALL: &[&[Rule]] = &[vendors::RULES, transport::RULES, private_keys::RULES];
