//! What the operator allows of the web. Everything here is known before the fetcher is forked; the secrets
//! are not, because only the fetcher reads them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use settings::choices::SearchService;
use settings::table::{FETCH_ALLOW_PRIVATE, FETCH_ALLOWED_HOSTS, SEARCH_PROVIDER, SEARCH_URL};
use settings::{Row, SettingError, Source};
use url::Url;

use crate::judge::Hosts;
use crate::profiles::{self, FetchProfile};

/// The settings of the web.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Hosts that may be asked.
    pub hosts: Hosts,
    /// Whether they may have private addresses.
    pub allow_private: bool,
    /// The credentials by name, without their secrets.
    pub profiles: BTreeMap<String, FetchProfile>,
    /// The search service.
    pub search: SearchSettings,
    /// Where the paths of the profiles' secrets begin.
    pub(crate) current_dir: PathBuf,
}

/// The search service.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// Which one it is.
    pub service: SearchService,
    /// Its base address.
    pub url: Url,
    /// Whether the operator chose it. Otherwise its host must be among the allowed ones.
    pub is_chosen: bool,
}

impl Settings {
    /// Reads them.
    pub fn read(source: &Source, current_dir: &Path) -> Result<Self, SettingError> {
        Ok(Self {
            hosts: hosts(source)?,
            allow_private: FETCH_ALLOW_PRIVATE.read(source)?,
            profiles: profiles::read(source, current_dir)?,
            search: SearchSettings::read(source)?,
            current_dir: current_dir.to_owned(),
        })
    }

    /// Whether any host may be asked.
    pub fn can_fetch(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Whether the search service may be asked.
    pub fn can_search(&self) -> bool {
        self.search.is_chosen || self.hosts.allow(&self.search.url)
    }
}

fn hosts(source: &Source) -> Result<Hosts, SettingError> {
    Hosts::parse(&FETCH_ALLOWED_HOSTS.read(source)?)
        .map_err(|pattern| FETCH_ALLOWED_HOSTS.refuse(pattern, FETCH_ALLOWED_HOSTS.expected()))
}

impl SearchSettings {
    fn read(source: &Source) -> Result<Self, SettingError> {
        let chosen = SEARCH_PROVIDER.given(source)?;
        let given = SEARCH_URL.read(source)?;
        let is_chosen = chosen.is_some() || given.is_some();
        let service = chosen.unwrap_or_else(|| SEARCH_PROVIDER.default_value());
        let own = service.own_address().and_then(|address| address.parse().ok());
        let url = given.or(own).ok_or_else(|| {
            SEARCH_URL.refuse("", "the base address of the service, because searxng is set")
        })?;
        Ok(Self { service, url, is_chosen })
    }
}
