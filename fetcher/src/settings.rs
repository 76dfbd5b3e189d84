//! What the operator allows of the web. Everything here is known before the fetcher is forked; the secrets
//! are not, because only the fetcher reads them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use process::fetch_profiles::{self, FetchProfile, ProfilesError};
use process::{VariableError, Variables};
use url::Url;

use crate::judge::Hosts;
use crate::messages::ProviderName;

/// `AUTONOUS_FETCH_ALLOWED_HOSTS`.
const HOSTS: &str = "AUTONOUS_FETCH_ALLOWED_HOSTS";

/// The settings of the web.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `AUTONOUS_FETCH_ALLOWED_HOSTS` (none): hosts that may be asked.
    pub hosts: Hosts,
    /// `AUTONOUS_FETCH_ALLOW_PRIVATE` (false): whether they may have private addresses.
    pub allow_private: bool,
    /// `AUTONOUS_FETCH_PROFILES_FILE` (none): the credentials by name, without their secrets.
    pub profiles: BTreeMap<String, FetchProfile>,
    /// The search service.
    pub search: SearchSettings,
    /// Where the paths of the profiles' secrets begin.
    pub(crate) current_dir: PathBuf,
}

/// The search service.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// `AUTONOUS_SEARCH_PROVIDER` (`duckduckgo`).
    pub provider: ProviderName,
    /// `AUTONOUS_SEARCH_URL` (the provider's own): its base address.
    pub url: Url,
    /// Whether the operator chose it. Otherwise its host must be among the allowed ones.
    pub is_chosen: bool,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SettingsError {
    #[error(transparent)]
    Variable(#[from] VariableError),
    #[error(transparent)]
    Profiles(#[from] ProfilesError),
}

impl Settings {
    /// Reads them.
    pub fn from_variables(variables: &Variables, current_dir: &Path) -> Result<Self, SettingsError> {
        Ok(Self {
            hosts: hosts(variables)?,
            allow_private: variables.flag("AUTONOUS_FETCH_ALLOW_PRIVATE", false)?,
            profiles: fetch_profiles::read(variables, current_dir)?,
            search: SearchSettings::from_variables(variables)?,
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

fn hosts(variables: &Variables) -> Result<Hosts, VariableError> {
    let patterns = variables.list(HOSTS).unwrap_or_default();
    Hosts::parse(&patterns).map_err(|pattern| {
        let expected = "hosts separated by commas: example.com, *.example.com, example.com:8443, 192.0.2.1, \
                        or * for all public ones";
        VariableError::new(HOSTS, pattern, expected)
    })
}

impl SearchSettings {
    fn from_variables(variables: &Variables) -> Result<Self, VariableError> {
        const PROVIDER: &str = "AUTONOUS_SEARCH_PROVIDER";
        const URL: &str = "AUTONOUS_SEARCH_URL";
        let chosen = variables.text(PROVIDER);
        let provider = match chosen {
            None => ProviderName::DuckDuckGo,
            Some(name) => ProviderName::from_name(name)
                .ok_or_else(|| VariableError::new(PROVIDER, name, "duckduckgo, searxng, brave or tavily"))?,
        };
        let url = match (variables.text(URL), provider.default_url()) {
            (Some(given), _) => {
                let url = Url::parse(given).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
                let url = url.filter(|url| url.has_host() && url.query().is_none());
                url.ok_or_else(|| {
                    VariableError::new(URL, given, "a base address such as https://search.lan/")
                })?
            }
            (None, Some(default)) => {
                Url::parse(default).map_err(|_| VariableError::new(URL, default, "an address"))?
            }
            (None, None) => {
                let expected = "the base address of the service, because searxng is set";
                return Err(VariableError::new(URL, "", expected));
            }
        };
        Ok(Self { provider, url, is_chosen: chosen.is_some() || variables.text(URL).is_some() })
    }
}
