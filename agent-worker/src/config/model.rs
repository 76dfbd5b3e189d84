//! Who is asked what to do: a provider, how it calls tools, and a second model behind the first.

use anyhow::Context;
use process::{Secret, VariableError, Variables};
use reqwest::RequestBuilder;

use super::url;
use crate::check::Probe;
use crate::http::{self, HttpError};
use crate::model::Model;
use crate::model::anthropic::{self, Anthropic};
use crate::model::direct::Direct;
use crate::model::endpoint::{Settings, Timeouts};
use crate::model::fallback::Fallback;
use crate::model::json_protocol::JsonProtocol;
use crate::model::openai::{self, OpenAi};
use crate::model::scripted::{self, Scripted};

const PROVIDER: &str = "AUTONOUS_MODEL_PROVIDER";
const NAME: &str = "AUTONOUS_MODEL_NAME";
const KEY: &str = "AUTONOUS_MODEL_API_KEY";
const TOOL_PROTOCOL: &str = "AUTONOUS_MODEL_TOOL_PROTOCOL";
const FALLBACK: &str = "AUTONOUS_MODEL_FALLBACK";

/// What was said about the model.
#[derive(Debug)]
pub struct ModelConfig {
    /// `AUTONOUS_MODEL_PROVIDER`; without it `openai` if there is a key for it or of our own, then
    /// `anthropic` if there is a key for that, else `direct`.
    provider: Provider,
    /// `AUTONOUS_MODEL_TOOL_PROTOCOL`, `native`: whether calls are written as JSON into plain replies.
    is_json: bool,
    /// `AUTONOUS_MODEL_CONTEXT_TOKENS`, 128,000; without a bound where nobody reads a conversation.
    pub(super) context_tokens: usize,
}

/// Who is asked what to do.
#[derive(Debug)]
enum Provider {
    /// Nobody: the message is the tool call.
    Direct,
    /// The script in `AUTONOUS_MODEL_SCRIPT`.
    Scripted(Scripted),
    /// Somebody on the network.
    Remote(Box<Remote>),
}

/// Somebody on the network.
#[derive(Debug)]
struct Remote {
    vendor: &'static Vendor,
    /// `AUTONOUS_MODEL_NAME`, `AUTONOUS_MODEL_BASE_URL`, and `AUTONOUS_MODEL_API_KEY` or else the
    /// vendor's own variable.
    first: Settings,
    /// `AUTONOUS_MODEL_FALLBACK`, none: another model at the same address with the same key.
    second: Option<Settings>,
}

/// A protocol, and who is asked when nothing else is said.
#[derive(Debug)]
struct Vendor {
    name: &'static str,
    base_url: &'static str,
    model: &'static str,
    key: &'static str,
    /// Puts the key into a request, the way this protocol has it.
    sign: fn(RequestBuilder, &Secret) -> RequestBuilder,
    client: fn(Settings) -> Result<Box<dyn Model>, HttpError>,
}

const OPENAI: Vendor = Vendor {
    name: "openai",
    base_url: openai::DEFAULT_BASE_URL,
    model: openai::DEFAULT_MODEL,
    key: "OPENAI_API_KEY",
    sign: |request, key| request.bearer_auth(key.expose()),
    client: |settings| Ok(Box::new(OpenAi::new(settings)?)),
};

const ANTHROPIC: Vendor = Vendor {
    name: "anthropic",
    base_url: anthropic::DEFAULT_BASE_URL,
    model: anthropic::DEFAULT_MODEL,
    key: "ANTHROPIC_API_KEY",
    sign: |request, key| {
        request.header("x-api-key", key.expose()).header("anthropic-version", anthropic::VERSION)
    },
    client: |settings| Ok(Box::new(Anthropic::new(settings)?)),
};

impl ModelConfig {
    /// Reads and judges what was said.
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
        // The model's window; no server tells it in a way that all have in common.
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

    /// How to find out whether the model can be reached: by the list of models at its address.
    pub fn probe(&self) -> anyhow::Result<Probe> {
        let remote = match &self.provider {
            Provider::Direct => return Ok(Probe { provider: "direct", model: None, request: None }),
            Provider::Scripted(_) => {
                return Ok(Probe { provider: "scripted", model: None, request: None });
            }
            Provider::Remote(remote) => remote,
        };
        let Settings { base_url, key, model, .. } = &remote.first;
        let list = format!("{}/models", base_url.as_str().trim_end_matches('/'));
        let request = http::client_without_timeout()?.get(list);
        let request = match key {
            Some(key) => (remote.vendor.sign)(request, key),
            None => request,
        };
        let request = request.build().context("the request for the list of models could not be made")?;
        Ok(Probe { provider: remote.vendor.name, model: Some(model.clone()), request: Some(request) })
    }

    /// The model that this describes.
    pub(super) fn into_model(self) -> anyhow::Result<Box<dyn Model>> {
        let speaking = |model: Box<dyn Model>| -> Box<dyn Model> {
            if self.is_json { Box::new(JsonProtocol::new(model)) } else { model }
        };
        let Remote { vendor, first, second } = match self.provider {
            Provider::Direct => return Ok(Box::new(Direct)),
            Provider::Scripted(script) => return Ok(speaking(Box::new(script))),
            Provider::Remote(remote) => *remote,
        };
        let failed = || format!("the client for {} could not be made", vendor.name);
        let client = |settings| (vendor.client)(settings).with_context(failed);
        let first = speaking(client(first)?);
        Ok(match second {
            Some(second) => Box::new(Fallback::new(first, speaking(client(second)?))),
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
            Some("scripted") => Ok(Self::Scripted(script(variables)?)),
            Some(other) => {
                let expected = "one of the providers that exist: anthropic, direct, openai, scripted";
                Err(VariableError::new(PROVIDER, other, expected))
            }
            None if has(KEY) || has(OPENAI.key) => Self::remote(variables, &OPENAI),
            None if has(ANTHROPIC.key) => Self::remote(variables, &ANTHROPIC),
            None => Ok(Self::Direct),
        }
    }

    fn remote(variables: &Variables, vendor: &'static Vendor) -> Result<Self, VariableError> {
        let key = variables.secret(KEY).or_else(|| variables.secret(vendor.key));
        // A key that was read from a file often ends in a line break, which no header may have.
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

fn script(variables: &Variables) -> Result<Scripted, VariableError> {
    let script = variables.text("AUTONOUS_MODEL_SCRIPT").unwrap_or_default();
    Scripted::new(script)
        .map_err(|bad| VariableError::new("AUTONOUS_MODEL_SCRIPT", bad.0, scripted::EXPECTED))
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
    fn the_provider_is_chosen_by_key_and_else_direct() {
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
    fn our_own_key_goes_before_the_vendors() {
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
    fn a_local_server_needs_no_key_and_a_vendor_does() {
        let base_url = ("AUTONOUS_MODEL_BASE_URL", "http://127.0.0.1:11434/v1");
        for provider in ["openai", "anthropic"] {
            check([(PROVIDER, provider), base_url], provider);
            assert!(read([(PROVIDER, provider)]).unwrap_err().starts_with("AUTONOUS_MODEL_API_KEY="));
        }
        let others = [(PROVIDER, "anthropic"), ("OPENAI_API_KEY", "k")];
        assert!(read(others).unwrap_err().starts_with("AUTONOUS_MODEL_API_KEY="));
    }

    #[test]
    fn a_provider_that_does_not_exist_stops_the_start_and_names_those_that_do() {
        let expected = "AUTONOUS_MODEL_PROVIDER=\"gemini\": expected one of the providers that exist: \
                        anthropic, direct, openai, scripted";
        check([(PROVIDER, "gemini")], expected);
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
    fn what_cannot_be_stops_the_start_and_says_what_would_be_right() {
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
