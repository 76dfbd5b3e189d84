//! The secrets of the profiles, and where each may go.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use process::Secret;
use settings::table::{FETCH_PROFILES_FILE, SEARCH_API_KEY};
use settings::{SettingError, Source};
use url::Url;

use crate::judge::blocked;
use crate::messages::FetchError;
use crate::profiles::{CredentialFormat, FetchProfile};
use crate::secrets::Secrets;
use crate::web_settings::Settings;

/// The secrets of this process.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    profiles: BTreeMap<String, (FetchProfile, Secret)>,
    pub(crate) search_key: Option<Secret>,
    /// All of them, to be found in answers.
    pub(crate) secrets: Secrets,
}

impl Credentials {
    /// Takes the secrets out of variables and files. One that is missing is an error.
    pub(crate) fn read(settings: &Settings, source: &Source) -> Result<Self, SettingError> {
        let source = source.with_secret_files(&[SEARCH_API_KEY.name()])?;
        let mut profiles = BTreeMap::new();
        for (name, profile) in &settings.profiles {
            let secret = match (&profile.secret_env, &profile.secret_file) {
                (Some(variable), _) => source.secret(variable).ok_or_else(|| missing(name, variable)),
                (None, Some(path)) => secret_in(name, &settings.current_dir.join(path)),
                (None, None) => Err(missing(name, "secret_env")),
            }?;
            profiles.insert(name.clone(), (profile.clone(), secret));
        }
        let search_key = SEARCH_API_KEY.read(&source)?;
        let all = profiles.values().map(|(_, secret): &(_, Secret)| secret).chain(&search_key);
        let secrets = Secrets::new(all.map(Secret::expose));
        Ok(Self { profiles, search_key, secrets })
    }

    /// The credential of this name, if it may go along with such a request.
    pub(crate) fn select(&self, name: &str, method: &str, url: &Url) -> Result<Credential<'_>, FetchError> {
        let (profile, secret) = self.profiles.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none is set up".to_owned() } else { known.join(", ") };
            FetchError::Invalid(format!("There is no auth_profile {name:?} (known: {known})."))
        })?;
        let credential = Credential { profile, secret };
        if !credential.has_method(method) {
            let methods = profile.methods.join(", ");
            let message =
                format!("The auth_profile {name:?} may be used only with {methods}, not with {method}.");
            return Err(FetchError::Invalid(message));
        }
        if !credential.is_for(method, url) {
            let prefixes = profile.url_prefixes.join(", ");
            return Err(blocked(url.as_str(), format!("the auth_profile {name:?} is only for {prefixes}")));
        }
        Ok(credential)
    }
}

/// One profile with its secret.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Credential<'a> {
    pub(crate) profile: &'a FetchProfile,
    secret: &'a Secret,
}

impl Credential<'_> {
    fn has_method(&self, method: &str) -> bool {
        self.profile.methods.iter().any(|known| known.eq_ignore_ascii_case(method))
    }

    /// Whether a request of this kind carries it.
    pub(crate) fn is_for(&self, method: &str, url: &Url) -> bool {
        self.has_method(method) && self.profile.url_prefixes.iter().any(|prefix| is_below(url, prefix))
    }

    /// The header that carries it.
    pub(crate) fn header(&self) -> (String, String) {
        let secret = self.secret.expose();
        let value = match self.profile.format {
            CredentialFormat::Raw => secret.to_owned(),
            CredentialFormat::Bearer => format!("Bearer {secret}"),
            CredentialFormat::Basic => format!("Basic {}", STANDARD.encode(secret)),
        };
        (self.profile.header.clone(), value)
    }
}

/// Whether an address has the same scheme, host and port, and a path that begins with the same segments.
fn is_below(url: &Url, prefix: &str) -> bool {
    let Ok(prefix) = Url::parse(prefix) else { return false };
    let same_origin = url.scheme() == prefix.scheme()
        && url.host() == prefix.host()
        && url.port_or_known_default() == prefix.port_or_known_default();
    let wanted = prefix.path().trim_end_matches('/');
    // Some servers decode a slash or a dot before they look at segments.
    let lower = url.path().to_ascii_lowercase();
    let is_plain = !["%2f", "%5c", "%2e"].iter().any(|code| lower.contains(code));
    let rest = url.path().strip_prefix(wanted);
    same_origin && is_plain && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn secret_in(name: &str, path: &Path) -> Result<Secret, SettingError> {
    let bad = |why: String| FETCH_PROFILES_FILE.refuse(format!("[profiles.{name}] secret_file"), why);
    let text = fs::read_to_string(path).map_err(|error| bad(format!("a file that can be read ({error})")))?;
    match text.trim() {
        "" => Err(bad("a file that holds the secret".to_owned())),
        secret => Ok(Secret::from(secret)),
    }
}

fn missing(name: &str, variable: &str) -> SettingError {
    FETCH_PROFILES_FILE.refuse(format!("[profiles.{name}]"), format!("{variable} to be set to its secret"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_compared_by_origin_and_segments() {
        let prefix = "https://api.example.com/v1/";
        for (url, expected) in [
            ("https://api.example.com/v1", true),
            ("https://api.example.com/v1/users?x=1", true),
            ("https://API.example.com:443/v1/a/../b", true),
            ("https://api.example.com/v1/../v2", false),
            ("https://api.example.com/v12", false),
            ("https://api.example.com.evil/v1/", false),
            ("https://api.example.com@evil.example/v1/", false),
            ("http://api.example.com/v1/", false),
            ("https://api.example.com:8443/v1/", false),
            ("https://api.example.com/v1/%2e%2e%2fv2", false),
        ] {
            assert_eq!(is_below(&Url::parse(url).unwrap(), prefix), expected, "{url}");
        }
    }
}
