//! Formats that say what they are: tokens with a vendor's prefix, headers, addresses, key blocks.
//!
//! A new vendor is one rule in one of these lists. A format that honest text shares does not belong here.

mod clouds;
mod forges;
mod messaging;
mod models;
mod packages;
mod payments;
mod private_keys;
mod services;
mod transport;

use super::rule::Rule;

/// All formats.
pub(super) static ALL: &[&[Rule]] = &[
    models::RULES,
    forges::RULES,
    packages::RULES,
    clouds::RULES,
    messaging::RULES,
    payments::RULES,
    services::RULES,
    transport::RULES,
    private_keys::RULES,
];
