//! What the running service sees of itself. Its settings are those that count, not those of this shell.

use std::borrow::Cow;

use protocol::now_ms;

use super::Finding;
use supervisor::age;
use supervisor::config::{Config, Settings};
use supervisor::control::status::Status;
use supervisor::health::{Part, PartName, PartState};

/// The parts as findings. A part that is checked in the files as well is listed only if it is not well.
pub(super) fn findings(status: &Status) -> Vec<Finding> {
    let is_looked_at =
        |name: &PartName| matches!(name, PartName::Database | PartName::Journal | PartName::Disk);
    let told =
        status.report.parts.iter().filter(|part| part.state != PartState::Ok || !is_looked_at(&part.name));
    told.map(finding).collect()
}

/// Where the settings of the service differ from those that a start from this shell would have.
pub(super) fn settings(status: &Status, own: &anyhow::Result<Config>) -> Finding {
    const NAME: &str = "settings";
    let own = match own {
        Ok(config) => config.settings(),
        Err(_) => Settings::new(),
    };
    let names = status.settings.keys().chain(own.keys().filter(|name| !status.settings.contains_key(*name)));
    let differ = names.filter(|name| status.settings.get(*name) != own.get(*name));
    let told = differ.map(|name| match status.settings.get(name) {
        Some(value) => format!("{name}={value}"),
        None => format!("{name} is not set"),
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return Finding::ok(NAME, "the service has the same as this shell");
    }
    Finding::ok(NAME, format!("the service was started with others than this shell: {}", told.join(", ")))
}

pub(super) fn unreachable(error: String) -> Finding {
    Finding::fail("service", error, "See its log; restart it if it does not recover.")
}

fn finding(part: &Part) -> Finding {
    let name: Cow<'static, str> = match &part.name {
        PartName::Database => "database".into(),
        PartName::Journal => "journal".into(),
        PartName::ToolServer => "tool server".into(),
        PartName::Commands => "sandbox".into(),
        PartName::Workers => "workers".into(),
        PartName::Channel(channel) => capitalised(channel.as_str()).into(),
        PartName::Model => "model".into(),
        PartName::Disk => "disk".into(),
        PartName::Log => "log".into(),
        PartName::Supervisor => "tasks".into(),
    };
    let remedy = || part.remedy.clone().unwrap_or_else(|| "See its log.".to_owned());
    let since = || format!("{} (since {})", part.detail, age::since(part.since_ms, now_ms()));
    match part.state {
        PartState::Ok | PartState::Off => Finding::ok(name, part.detail.clone()),
        PartState::Degraded => Finding::warn(name, since(), remedy()),
        // The service itself continues without it.
        PartState::Failed if part.name == PartName::Commands => Finding::warn(name, since(), remedy()),
        PartState::Failed => Finding::fail(name, since(), remedy()),
    }
}

/// A channel's name as people write it.
fn capitalised(name: &str) -> String {
    let (first, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}", first.to_uppercase())
}
