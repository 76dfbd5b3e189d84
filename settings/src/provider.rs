//! The providers of models: for each its name, its own address, and the variables that people already have
//! for both its address and its key.

use url::Url;

use crate::error::SettingError;
use crate::source::Source;

/// A protocol to speak with a model, and the vendor that defined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Messages.
    Anthropic,
    /// `generateContent`, Gemini's own.
    Gemini,
    /// Chat completions.
    OpenAi,
    /// OpenAI's responses.
    OpenAiResponses,
}

impl Provider {
    /// All providers, by name.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Gemini, Self::OpenAi, Self::OpenAiResponses];

    /// Its name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
        }
    }

    /// The provider with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// The variable in which people already have the vendor's key.
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_API_KEY",
        }
    }

    /// The variable in which people already have another address for the vendor's programs.
    pub const fn base_url_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Gemini => "GOOGLE_GEMINI_BASE_URL",
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_BASE_URL",
        }
    }

    /// The vendor's own address, up to and including the version.
    pub const fn vendor_base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::OpenAi | Self::OpenAiResponses => "https://api.openai.com/v1",
        }
    }

    /// The address to use where a setting names none: that of [`Self::base_url_variable`], else the vendor's.
    pub fn base_url(self, source: &Source) -> Result<Url, SettingError> {
        let (name, default) = (self.base_url_variable(), self.vendor_base_url());
        let Some(text) = source.text(name) else {
            return Ok(default.parse().expect("a test parses each of them"));
        };
        let mut url = base_url(text).map_err(|expected| SettingError::new(name, text, expected))?;
        // The own programs of these vendors add the version themselves.
        let version = match self {
            Self::Anthropic => "/v1",
            Self::Gemini => "/v1beta",
            Self::OpenAi | Self::OpenAiResponses => "",
        };
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with(version) {
            url.set_path(&format!("{path}{version}"));
        }
        Ok(url)
    }
}

/// The address of a model server. The error says which form is expected.
pub fn base_url(text: &str) -> Result<Url, String> {
    let url = text.trim().parse::<Url>().ok().filter(|url| {
        let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        matches!(url.scheme(), "http" | "https") && url.has_host() && is_plain
    });
    url.ok_or_else(|| {
        "an http or https URL without a user, such as http://127.0.0.1:11434/v1 or https://api.openai.com/v1"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_is_found_by_its_name_and_has_an_address() {
        for provider in Provider::ALL {
            assert_eq!(Provider::by_name(provider.name()), Some(provider));
            let url = provider.base_url(&Source::default()).unwrap();
            assert_eq!(url.as_str(), provider.vendor_base_url());
        }
    }

    #[test]
    fn the_vendors_own_variable_names_another_address_as_its_programs_read_it() {
        for (provider, value, expected) in [
            (Provider::OpenAi, "http://gateway:80/openai/v1", "http://gateway/openai/v1"),
            (Provider::Anthropic, "https://gateway", "https://gateway/v1"),
            (Provider::Anthropic, "https://gateway/claude/", "https://gateway/claude/v1"),
            (Provider::Anthropic, "https://gateway/v1", "https://gateway/v1"),
            (Provider::Gemini, "https://gateway", "https://gateway/v1beta"),
        ] {
            let variables = Source::from_pairs([(provider.base_url_variable(), value)]);
            assert_eq!(provider.base_url(&variables).unwrap().as_str(), expected);
        }
        for value in ["gateway", "ftp://gateway", "https://user:secret@gateway", "https://gateway#v1"] {
            let error = Provider::OpenAi.base_url(&Source::from_pairs([("OPENAI_BASE_URL", value)]));
            assert!(error.unwrap_err().to_string().starts_with("OPENAI_BASE_URL="), "{value}");
        }
    }
}
