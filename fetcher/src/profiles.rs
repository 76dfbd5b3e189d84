//! The file with the credentials that requests to the web may use: which, for what, and where each secret is.
//!
//! The file has no secret itself. The tool server reads it to describe the profiles, and the fetcher, which
//! alone reads the secrets, to use them.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use settings::config_file::ConfigFile;
use settings::table::{FETCH_PROFILES_FILE, PREFIX, SEARCH_API_KEY};
use settings::{SettingError, Source};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    profiles: BTreeMap<String, FetchProfile>,
}

/// A credential, and the requests that carry it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchProfile {
    /// What the model reads about it.
    #[serde(default)]
    pub description: String,
    /// The addresses that get it: scheme, host and port are the same, and the path begins with these
    /// segments.
    pub url_prefixes: Vec<String>,
    /// The methods that it may be used with.
    #[serde(default = "reading")]
    pub methods: Vec<String>,
    /// The header that carries it.
    #[serde(default = "authorization")]
    pub header: String,
    /// What the header says.
    #[serde(default)]
    pub format: CredentialFormat,
    /// The variable with the secret.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// The file with the secret.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// Whether redirects are followed; the credential goes only where the prefixes let it.
    #[serde(default)]
    pub follow_redirects: bool,
    /// Headers that the caller may set although their names sound like credentials.
    #[serde(default)]
    pub allow_user_headers: Vec<String>,
}

/// What a header says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialFormat {
    /// The secret alone.
    Raw,
    /// `Bearer` and the secret.
    #[default]
    Bearer,
    /// `Basic` and the secret, which is `user:password`, in base64.
    Basic,
}

fn reading() -> Vec<String> {
    vec!["GET".to_owned(), "HEAD".to_owned()]
}

fn authorization() -> String {
    "Authorization".to_owned()
}

/// The profiles by name; empty when no file is named.
pub(crate) fn read(
    source: &Source,
    current_dir: &Path,
) -> Result<BTreeMap<String, FetchProfile>, SettingError> {
    let Some(named) = FETCH_PROFILES_FILE.read(source)? else { return Ok(BTreeMap::new()) };
    let path = current_dir.join(&named);
    let bad = |expected: &str| FETCH_PROFILES_FILE.refuse(named.display().to_string(), expected);
    let file = ConfigFile::read(&path)?.ok_or_else(|| bad("a file that exists"))?;
    let mode = std::fs::metadata(&path).map_or(0, |file| file.permissions().mode());
    if mode & 0o077 != 0 {
        return Err(bad("a file that only its owner can read (chmod 600)"));
    }
    let content: Content = file.parse()?;
    for (name, profile) in &content.profiles {
        profile.check().map_err(|what| file.error(None, format!("[profiles.{name}]: {what}")))?;
    }
    Ok(content.profiles)
}

/// The variables with secrets that only the fetcher gets. Whether the file is valid is not decided here.
pub fn secret_variables(source: &Source, current_dir: &Path) -> Vec<String> {
    let profiles = read(source, current_dir).unwrap_or_default();
    let named = profiles.into_values().filter_map(|profile| profile.secret_env);
    [SEARCH_API_KEY.name().to_owned()].into_iter().chain(named).collect()
}

impl FetchProfile {
    fn check(&self) -> Result<(), String> {
        if self.url_prefixes.is_empty() {
            return Err("url_prefixes is empty, so no request could use it".to_owned());
        }
        for prefix in &self.url_prefixes {
            let url = Url::parse(prefix).map_err(|error| format!("{prefix} is no address ({error})"))?;
            let has_user = !url.username().is_empty() || url.password().is_some();
            if !matches!(url.scheme(), "http" | "https") || has_user || url.query().is_some() {
                return Err(format!("{prefix} must be http or https, without a user and a query"));
            }
        }
        if http::HeaderName::try_from(self.header.as_str()).is_err() {
            return Err(format!("{} is no name of a header", self.header));
        }
        match (&self.secret_env, &self.secret_file) {
            (Some(name), None) if name.starts_with(PREFIX) => {
                Err(format!("{name} is a variable of Autonous"))
            }
            (Some(_), None) | (None, Some(_)) => Ok(()),
            (None, None) => Err("it needs secret_env or secret_file".to_owned()),
            (Some(_), Some(_)) => Err("it has both secret_env and secret_file; one is enough".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, mode: u32) -> Result<BTreeMap<String, FetchProfile>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profiles.toml");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let source = Source::from_pairs([(FETCH_PROFILES_FILE.name(), "profiles.toml")]);
        read(&source, directory.path()).map_err(|error| error.to_string())
    }

    const GOOD: &str =
        "[profiles.x]\nurl_prefixes = [\"https://api.example.com/v1\"]\nsecret_env = \"X_KEY\"\n";

    #[test]
    fn a_profile_has_defaults_that_only_read() {
        let profiles = read_text(GOOD, 0o600).unwrap();
        let profile = &profiles["x"];
        assert_eq!(profile.methods, ["GET", "HEAD"]);
        assert_eq!((profile.header.as_str(), profile.format), ("Authorization", CredentialFormat::Bearer));
        assert!(!profile.follow_redirects);
    }

    #[test]
    fn a_file_or_profile_that_cannot_be_used_says_why() {
        assert!(read_text(GOOD, 0o644).unwrap_err().contains("only its owner"));
        for (change, why) in [
            ("\nextra = 1\n", "unknown field"),
            ("\nsecret_file = \"x\"\n", "one is enough"),
            ("\nheader = \"a b\"\n", "no name of a header"),
        ] {
            let error = read_text(&format!("{GOOD}{change}"), 0o600).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        for (prefix, why) in [("ftp://x", "http or https"), ("x", "no address"), ("https://u@x/", "a user")] {
            let text = GOOD.replace("https://api.example.com/v1", prefix);
            assert!(read_text(&text, 0o600).unwrap_err().contains(why));
        }
        assert!(read_text(&GOOD.replace("X_KEY", "AUTONOUS_TOOL_TOKEN"), 0o600).is_err());
        assert!(read_text("[profiles.x]\nurl_prefixes = []\nsecret_env = \"X\"\n", 0o600).is_err());
        assert!(read_text(&GOOD.replace("secret_env = \"X_KEY\"", ""), 0o600).unwrap_err().contains("needs"));
    }
}
