//! All channels: a new one gets its line here.

use std::sync::Arc;

use channel::{Channel, Channels};

use crate::channels::local::Local;
use crate::channels::telegram::Telegram;
use crate::config::ChannelSettings;
use crate::reception::Inbound;

/// The channels.
pub(crate) fn channels(settings: &ChannelSettings, inbound: Inbound) -> Result<Channels, reqwest::Error> {
    Ok(Channels::new([
        Arc::new(Local::default()) as Arc<dyn Channel>,
        Arc::new(Telegram::new(settings.telegram.as_ref(), inbound)?),
    ]))
}
