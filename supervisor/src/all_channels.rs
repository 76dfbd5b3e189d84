//! All channels: a new one gets its line here.

use std::sync::Arc;

use channel::{Channel, Channels};
use store::Store;
use telegram::{Telegram, Webhook};

use crate::channels::local::Local;
use crate::channels::page::PageChannel;
use crate::commands::COMMANDS;
use crate::config::ChannelSettings;
use crate::health::{Board, PartName, Reading};

/// The channels.
pub fn channels(
    settings: &ChannelSettings,
    webhook: Option<Webhook>,
    store: &Store,
) -> Result<Channels, reqwest::Error> {
    let files = Arc::new(store.clone());
    Ok(Channels::new([
        Arc::new(Local::default()) as Arc<dyn Channel>,
        Arc::new(Telegram::new(settings.telegram.as_ref(), webhook, files, &COMMANDS)?),
        Arc::new(PageChannel::new(store, settings.has_page)),
    ]))
}

/// From now on these settings say who may use the channels.
pub(crate) fn set_access(channels: &Channels, settings: &ChannelSettings) {
    let telegram = channels.iter().find(|channel| channel.name() == telegram::NAME);
    if let (Some(channel), Some(settings)) = (telegram, &settings.telegram) {
        channel.access().replace(telegram::access_rules(Some(settings)));
    }
}

/// Notes how the channels are before they are asked for the first time.
pub(crate) fn note_unasked(settings: &ChannelSettings, board: &Board) {
    let reading = match settings.telegram {
        Some(_) => Reading::untried("not asked yet"),
        None => Reading::off("off: AUTONOUS_TELEGRAM_TOKEN is not set"),
    };
    board.set(PartName::Channel(telegram::NAME), reading);
}
