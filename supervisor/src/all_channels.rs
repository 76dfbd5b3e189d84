//! All channels and all tools that the supervisor runs for them: a new one gets its line here.

use std::sync::Arc;

use toolkit::{Registry, RegistryError};

use crate::channel::{Channel, ChannelName, Channels};
use crate::channel_tools::sending::Sending;
use crate::channels::local::Local;
use crate::channels::telegram::{self, Telegram};
use crate::config::ChannelSettings;
use crate::contacts::{self, Contacts};
use crate::reception::Inbound;
use crate::schedules::{self, Schedules};
use crate::tool_files::ToolFiles;

/// The channels.
pub(crate) fn channels(settings: &ChannelSettings, inbound: Inbound) -> Result<Channels, reqwest::Error> {
    Ok(Channels::new([
        Arc::new(Local::default()) as Arc<dyn Channel>,
        Arc::new(Telegram::new(settings.telegram.as_ref(), inbound)?),
    ]))
}

/// The tools of each channel.
pub(crate) fn registries(
    sending: &Sending,
    files: &ToolFiles,
    schedules: &Schedules,
    contacts: &Contacts,
) -> Result<Vec<(ChannelName, Registry)>, RegistryError> {
    let telegram = telegram::tools::registry(sending, files)?;
    // A local chat only gets replies to its own messages: nobody would see a reminder there.
    let telegram = schedules::tools::add_to(telegram, schedules, telegram::NAME)?;
    let telegram = contacts::add_to(telegram, contacts)?;
    Ok(vec![(telegram::NAME, telegram)])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use process::Secret;

    use super::*;
    use crate::contacts::book::Book;
    use crate::schedules::ScheduleLimits;
    use crate::store::fixture::{Fixture, channels};

    #[tokio::test]
    async fn the_names_that_settings_of_other_programs_may_use_are_these() {
        let fixture = Fixture::new().await;
        let sending = Sending { store: fixture.store.clone(), channels: channels() };
        let division = settings::choices::Division::Shared;
        let files = ToolFiles::new("http://127.0.0.1:1", Secret::from("token"), &[], division).unwrap();
        let schedules = Schedules::new(&fixture.store, &channels(), ScheduleLimits::default());
        let contacts =
            Contacts { sending: sending.clone(), book: Book(files.clone()), cooldown: Duration::ZERO };
        let registries = registries(&sending, &files, &schedules, &contacts).unwrap();
        let mut names: Vec<&str> = registries.iter().flat_map(|(_, registry)| registry.names()).collect();
        names.sort_unstable();
        assert_eq!(names, protocol::SUPERVISOR_TOOLS);
        let specs = registries.iter().flat_map(|(_, registry)| registry.specs());
        let found: Vec<String> = specs.flat_map(toolkit::catalogue_rules::breaches).collect();
        assert_eq!(found, Vec::<String>::new());
    }
}
