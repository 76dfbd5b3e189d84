//! The model's settings: the provider, how it calls tools, and a second model behind the first.

use anyhow::Context;
use process::{Secret, VariableError, Variables};

use super::url;
use crate::check::Probe;
use crate::http::{self, HttpError};
use crate::model::Model;
use crate::model::anthropic::{self, Anthropic};
use crate::model::direct::Direct;
use crate::model::endpoint::{Settings, Sign, Timeouts};
use crate::model::fallback::Fallback;
use crate::model::json_protocol::JsonProtocol;
use crate::model::openai::{self, OpenAi};
use crate::model::scripted::{self, Scripted};
use crate::model::text_calls::TextCalls;
use crate::model::thoughts::WithoutThoughts;

const PROVIDER: &str = "AUTONOUS_MODEL_PROVIDER";
const NAME: &str = "AUTONOUS_MODEL_NAME";
const KEY: &str = "AUTONOUS_MODEL_API_KEY";
const TOOL_PROTOCOL: &str = "AUTONOUS_MODEL_TOOL_PROTOCOL";
const SCRIPT: &str = "AUTONOUS_MODEL_SCRIPT";
const FALLBACK: &str = "AUTONOUS_MODEL_FALLBACK";

/// The model's settings.
#[derive(Debug)]
pub struct ModelConfig {
    /// `AUTONOUS_MODEL_PROVIDER`; by default `openai` if there is an OpenAI key or `AUTONOUS_MODEL_API_KEY`,
    /// else `anthropic` if there is an Anthropic key, else `direct`.
    provider: Provider,
    /// `AUTONOUS_MODEL_TOOL_PROTOCOL`, `native`: whether the model writes calls as JSON into plain replies.
    is_json: bool,
    /// `AUTONOUS_MODEL_CONTEXT_TOKENS`, 128,000; unbounded for `direct`, which reads no conversation.
    pub(super) context_tokens: usize,
}

#[derive(Debug)]
enum Provider {
    Direct,
    /// The script in `AUTONOUS_MODEL_SCRIPT`.
    Scripted(Scripted),
    Remote(Box<Remote>),
}

#[derive(Debug)]
struct Remote {
    vendor: &'static Vendor,
    /// `AUTONOUS_MODEL_NAME`, `…_BASE_URL`, and `AUTONOUS_MODEL_API_KEY` or the vendor's own variable.
    first: Settings,
    /// `AUTONOUS_MODEL_FALLBACK`, none: another model at the same address with the same key.
    second: Option<Settings>,
}

#[derive(Debug)]
struct Vendor {
    name: &'static str,
    base_url: &'static str,
    model: &'static str,
    key: &'static str,
    sign: Sign,
    client: fn(Settings) -> Result<Box<dyn Model>, HttpError>,
}

const OPENAI: Vendor = Vendor {
    name: "openai",
    base_url: openai::DEFAULT_BASE_URL,
    model: openai::DEFAULT_MODEL,
    key: "OPENAI_API_KEY",
    sign: openai::sign,
    client: |settings| Ok(Box::new(OpenAi::new(settings)?)),
};

const ANTHROPIC: Vendor = Vendor {
    name: "anthropic",
    base_url: anthropic::DEFAULT_BASE_URL,
    model: anthropic::DEFAULT_MODEL,
    key: "ANTHROPIC_API_KEY",
    sign: anthropic::sign,
    client: |settings| Ok(Box::new(Anthropic::new(settings)?)),
};

impl ModelConfig {
    pub(super) fn read(variables: &Variables) -> Result<Self, VariableError> {
        let provider = Provider::read(variables)?;
        let is_json = match variables.text(TOOL_PROTOCOL) {
            None | Some("native") => false,
            Some("json") if matches!(provider, Provider::Direct) => {
                let expected = "native, because the provider direct has no model that could write JSON";
                return Err(VariableError::new(TOOL_PROTOCOL, "json", expected));
            }
            Some("json") => true,
            Some(other) => return Err(VariableError::new(TOOL_PROTOCOL, other, "native or json")),
        };
        // Servers share no way to ask for the model's window.
        let tokens = variables.number("AUTONOUS_MODEL_CONTEXT_TOKENS", 128_000, 4_000..=100_000_000)?;
        let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
        let context_tokens = if matches!(provider, Provider::Direct) { usize::MAX } else { tokens };
        match (variables.text(FALLBACK), &provider) {
            (Some(name), Provider::Direct | Provider::Scripted(_)) => {
                let expected = "nothing, because only the providers openai and anthropic have a second model";
                Err(VariableError::new(FALLBACK, name, expected))
            }
            (_, _) => Ok(Self { provider, is_json, context_tokens }),
        }
    }

    /// A request that shows whether the model can be reached: for the list of models at its address.
    pub fn probe(&self) -> anyhow::Result<Probe> {
        let offline = |provider| Ok(Probe { provider, model: None, request: None });
        let remote = match &self.provider {
            Provider::Direct => return offline("direct"),
            Provider::Scripted(_) => return offline("scripted"),
            Provider::Remote(remote) => remote,
        };
        let Settings { base_url, key, model, .. } = &remote.first;
        let list = format!("{}/models", base_url.as_str().trim_end_matches('/'));
        let request = (remote.vendor.sign)(http::client_without_timeout()?.get(list), key.as_ref()).build();
        let request = request.context("cannot build the request for the list of models")?;
        Ok(Probe { provider: remote.vendor.name, model: Some(model.clone()), request: Some(request) })
    }

    pub(super) fn into_model(self) -> anyhow::Result<Box<dyn Model>> {
        let with_protocol = |model: Box<dyn Model>| -> Box<dyn Model> {
            let model: Box<dyn Model> = Box::new(WithoutThoughts::new(model));
            if self.is_json { Box::new(JsonProtocol(model)) } else { Box::new(TextCalls(model)) }
        };
        let Remote { vendor, first, second } = match self.provider {
            Provider::Direct => return Ok(Box::new(Direct)),
            Provider::Scripted(script) => return Ok(with_protocol(Box::new(script))),
            Provider::Remote(remote) => *remote,
        };
        let failed = || format!("cannot create the client for {}", vendor.name);
        let client = |settings| (vendor.client)(settings).with_context(failed);
        let first = with_protocol(client(first)?);
        Ok(match second {
            Some(second) => Box::new(Fallback { first, second: with_protocol(client(second)?) }),
            None => first,
        })
    }
}

impl Provider {
    fn read(variables: &Variables) -> Result<Self, VariableError> {
        let has = |name| variables.secret(name).is_some();
        match variables.text(PROVIDER) {
            Some("direct") => Ok(Self::Direct),
            Some("openai") => Self::remote(variables, &OPENAI),
            Some("anthropic") => Self::remote(variables, &ANTHROPIC),
            Some("scripted") => {
                let script = Scripted::new(variables.text(SCRIPT).unwrap_or_default());
                let script = script.map_err(|bad| VariableError::new(SCRIPT, bad.0, scripted::EXPECTED))?;
                Ok(Self::Scripted(script))
            }
            Some(other) => Err(VariableError::new(PROVIDER, other, "anthropic, direct, openai or scripted")),
            None if has(KEY) || has(OPENAI.key) => Self::remote(variables, &OPENAI),
            None if has(ANTHROPIC.key) => Self::remote(variables, &ANTHROPIC),
            None => Ok(Self::Direct),
        }
    }

    fn remote(variables: &Variables, vendor: &'static Vendor) -> Result<Self, VariableError> {
        let key = variables.secret(KEY).or_else(|| variables.secret(vendor.key));
        // A key that was read from a file often ends in a newline, which a header must not contain.
        let key = key.map(|key| Secret::from(key.expose().trim()));
        let base_url = url(variables, "AUTONOUS_MODEL_BASE_URL", vendor.base_url)?;
        if key.is_none() && base_url.as_str() == vendor.base_url {
            let expected = format!("a key for {}, or another AUTONOUS_MODEL_BASE_URL", vendor.base_url);
            return Err(VariableError::new(KEY, "", expected));
        }
        let model = variables.text(NAME).unwrap_or(vendor.model).to_owned();
        let first = Settings { base_url, key, model, timeouts: Timeouts::default() };
        let second = match variables.text(FALLBACK) {
            Some(name) if name == first.model => {
                return Err(VariableError::new(FALLBACK, name, "another model than the first"));
            }
            name => name.map(|name| Settings { model: name.to_owned(), ..first.clone() }),
        };
        Ok(Self::Remote(Box::new(Remote { vendor, first, second })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(pairs: [(&str, &str); N]) -> Result<ModelConfig, String> {
        ModelConfig::read(&Variables::from_pairs(pairs)).map_err(|error| error.to_string())
    }

    fn check<const N: usize>(pairs: [(&str, &str); N], expected: &str) {
        let provider = read(pairs).map(|config| config.provider);
        let name = match &provider {
            Ok(Provider::Direct) => "direct",
            Ok(Provider::Remote(remote)) => remote.vendor.name,
            Ok(Provider::Scripted(_)) => "scripted",
            Err(error) => error,
        };
        assert_eq!(name, expected, "{pairs:?}");
    }

    #[test]
    fn the_provider_is_chosen_by_key_and_is_direct_without_one() {
        let (open, theirs) = (("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"));
        check([], "direct");
        check([open], "openai");
        check([theirs], "anthropic");
        check([open, theirs], "openai");
        check([(KEY, "k"), theirs], "openai");
        check([open, (PROVIDER, "direct")], "direct");
        check([open, theirs, (PROVIDER, "anthropic")], "anthropic");
    }

    #[test]
    fn our_own_key_has_precedence_over_the_vendors() {
        for provider in ["openai", "anthropic"] {
            let keys =
                [(KEY, " ours\n"), ("OPENAI_API_KEY", "a"), ("ANTHROPIC_API_KEY", "b"), (PROVIDER, provider)];
            let Provider::Remote(remote) = read(keys).unwrap().provider else {
                panic!("{provider} was not chosen")
            };
            assert!(remote.first.key.unwrap().matches("ours"));
        }
    }

    #[test]
    fn a_local_server_needs_no_key_but_a_vendor_does() {
        let base_url = ("AUTONOUS_MODEL_BASE_URL", "http://127.0.0.1:11434/v1");
        for provider in ["openai", "anthropic"] {
            check([(PROVIDER, provider), base_url], provider);
            assert!(read([(PROVIDER, provider)]).unwrap_err().starts_with("AUTONOUS_MODEL_API_KEY="));
        }
        let other_key = [(PROVIDER, "anthropic"), ("OPENAI_API_KEY", "k")];
        assert!(read(other_key).unwrap_err().starts_with("AUTONOUS_MODEL_API_KEY="));
    }

    #[test]
    fn the_second_model_is_asked_at_the_same_address_with_the_same_key() {
        let config = read([("OPENAI_API_KEY", "k"), (FALLBACK, "small")]).unwrap();
        let Provider::Remote(remote) = config.provider else { panic!("openai was not chosen") };
        let Remote { first, second, .. } = *remote;
        let second = second.unwrap();
        assert_eq!((second.base_url, second.model.as_str()), (first.base_url, "small"));
        assert!(second.key.unwrap().matches("k"));
    }

    #[test]
    fn invalid_settings_stop_the_start_and_say_what_is_expected() {
        let expected = "AUTONOUS_MODEL_PROVIDER=\"gemini\": expected anthropic, direct, openai or scripted";
        check([(PROVIDER, "gemini")], expected);
        let key = ("OPENAI_API_KEY", "k");
        for (pairs, expected) in [
            ([key, (TOOL_PROTOCOL, "xml")], "AUTONOUS_MODEL_TOOL_PROTOCOL=\"xml\": expected native or json"),
            ([key, (FALLBACK, openai::DEFAULT_MODEL)], "expected another model than the first"),
            ([(PROVIDER, "direct"), (FALLBACK, "m")], "AUTONOUS_MODEL_FALLBACK=\"m\": expected nothing"),
            (
                [(PROVIDER, "direct"), (TOOL_PROTOCOL, "json")],
                "AUTONOUS_MODEL_TOOL_PROTOCOL=\"json\": expected native",
            ),
            ([(PROVIDER, "scripted"), (TOOL_PROTOCOL, "json")], "AUTONOUS_MODEL_SCRIPT="),
        ] {
            let error = read(pairs).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
