//! The worker's settings: each field's doc names its variable and its default.
//!
//! All of it is judged before the first line is read. A value that does not fit stops the start and
//! says what would be right; nothing falls back in silence.

use std::time::Duration;

use anyhow::Context;
use process::{Secret, VariableError, Variables};
use reqwest::Url;

use crate::agent::Agent;
use crate::breaker::SharedBreaker;
use crate::budget::Limits;
use crate::model::Model;
use crate::model::direct::Direct;
use crate::model::endpoint::{Patience, Settings};
use crate::model::openai::{DEFAULT_BASE_URL, DEFAULT_MODEL, OpenAi};
use crate::model::scripted::{self, Scripted};
use crate::tools::ToolServer;

const PROVIDER: &str = "AUTONOUS_MODEL_PROVIDER";
const PROVIDERS: &str = "one of the providers that exist: direct, openai, scripted";

/// What the worker was told at its start.
#[derive(Debug)]
pub struct Config {
    /// `AUTONOUS_TOOL_URL`, `http://127.0.0.1:8701`.
    pub tool_url: Url,
    /// `AUTONOUS_TOOL_TOKEN`, none.
    pub tool_token: Option<Secret>,
    /// `AUTONOUS_MODEL_PROVIDER`; without it `openai` if there is a key for it, else `direct`.
    pub provider: Provider,
    /// `AUTONOUS_CONTROL_MAX_TURNS`, `…_MAX_WALL_TIME_SECONDS`, `…_MAX_TOKENS`: 20, 600, 2,000,000, and
    /// `AUTONOUS_MODEL_CONTEXT_TOKENS`, 128,000.
    pub limits: Limits,
    /// `AUTONOUS_CONTROL_MAX_RETRIES`, 3.
    pub max_retries: u32,
}

/// Who is asked what to do.
#[derive(Debug)]
pub enum Provider {
    /// Nobody: the message is the tool call.
    Direct,
    /// Chat completions: `AUTONOUS_MODEL_NAME`, `AUTONOUS_MODEL_BASE_URL`, and `AUTONOUS_MODEL_API_KEY`
    /// or else `OPENAI_API_KEY`.
    OpenAi(Settings),
    /// The script in `AUTONOUS_MODEL_SCRIPT`.
    Scripted(Scripted),
}

impl Config {
    /// Reads and judges all settings.
    pub fn read(variables: &Variables) -> Result<Self, VariableError> {
        let number = |name, default, most| {
            let number = variables.number(name, default, 1..=most)?;
            Ok(u32::try_from(number).unwrap_or(u32::MAX))
        };
        only_native_and_no_fallback(variables)?;
        let retries = variables.number("AUTONOUS_CONTROL_MAX_RETRIES", 3, 0..=20)?;
        let provider = Provider::read(variables)?;
        Ok(Self {
            tool_url: url(variables, "AUTONOUS_TOOL_URL", "http://127.0.0.1:8701")?,
            tool_token: variables.secret("AUTONOUS_TOOL_TOKEN"),
            limits: Limits {
                max_turns: number("AUTONOUS_CONTROL_MAX_TURNS", 20, 10_000)?,
                wall_time: Duration::from_secs(
                    number("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", 600, 86_400)?.into(),
                ),
                max_tokens: variables.number("AUTONOUS_CONTROL_MAX_TOKENS", 2_000_000, 1..=u64::MAX)?,
                context_tokens: context_tokens(variables, &provider)?,
            },
            max_retries: u32::try_from(retries).unwrap_or(u32::MAX),
            provider,
        })
    }

    /// What these settings describe.
    pub fn into_agent(self) -> anyhow::Result<Agent> {
        let tools = ToolServer::new(self.tool_url, self.tool_token);
        let tools = tools.context("the client for the tool server could not be made")?;
        let model: Box<dyn Model> = match self.provider {
            Provider::Direct => Box::new(Direct),
            Provider::Scripted(script) => Box::new(script),
            Provider::OpenAi(settings) => {
                Box::new(OpenAi::new(settings).context("the client for the model could not be made")?)
            }
        };
        tracing::info!(model = model.name(), "the worker starts");
        let breaker = SharedBreaker::default();
        Ok(Agent { model, breaker, tools, limits: self.limits, max_retries: self.max_retries })
    }
}

impl Provider {
    fn read(variables: &Variables) -> Result<Self, VariableError> {
        let key = variables.secret("AUTONOUS_MODEL_API_KEY").or_else(|| variables.secret("OPENAI_API_KEY"));
        match variables.text(PROVIDER) {
            Some("direct") => Ok(Self::Direct),
            Some("openai") => Ok(Self::OpenAi(openai(variables, key)?)),
            Some("scripted") => Ok(Self::Scripted(script(variables)?)),
            Some(other) => Err(VariableError::new(PROVIDER, other, PROVIDERS)),
            None if key.is_some() => Ok(Self::OpenAi(openai(variables, key)?)),
            None => {
                if variables.secret("ANTHROPIC_API_KEY").is_some() {
                    tracing::warn!("ANTHROPIC_API_KEY is set, but there is no provider for it: using direct");
                }
                Ok(Self::Direct)
            }
        }
    }
}

/// Settings that exist for what does not exist yet must not be believed to work.
fn only_native_and_no_fallback(variables: &Variables) -> Result<(), VariableError> {
    match (variables.text("AUTONOUS_MODEL_TOOL_PROTOCOL"), variables.text("AUTONOUS_MODEL_FALLBACK")) {
        (None | Some("native"), None) => Ok(()),
        (None | Some("native"), Some(model)) => {
            Err(VariableError::new("AUTONOUS_MODEL_FALLBACK", model, "nothing: there is no second model yet"))
        }
        (Some(protocol), _) => {
            Err(VariableError::new("AUTONOUS_MODEL_TOOL_PROTOCOL", protocol, "native, the one that exists"))
        }
    }
}

/// The model's window; no server tells it in a way that all have in common.
fn context_tokens(variables: &Variables, provider: &Provider) -> Result<usize, VariableError> {
    let tokens = variables.number("AUTONOUS_MODEL_CONTEXT_TOKENS", 128_000, 4_000..=100_000_000)?;
    // Where the message is the call, nobody reads a conversation.
    Ok(if matches!(provider, Provider::Direct) {
        usize::MAX
    } else {
        usize::try_from(tokens).unwrap_or(usize::MAX)
    })
}

fn openai(variables: &Variables, key: Option<Secret>) -> Result<Settings, VariableError> {
    let base_url = url(variables, "AUTONOUS_MODEL_BASE_URL", DEFAULT_BASE_URL)?;
    if key.is_none() && base_url.as_str() == DEFAULT_BASE_URL {
        let expected = format!("a key for {DEFAULT_BASE_URL}, or another AUTONOUS_MODEL_BASE_URL");
        return Err(VariableError::new("AUTONOUS_MODEL_API_KEY", "", expected));
    }
    let model = variables.text("AUTONOUS_MODEL_NAME").unwrap_or(DEFAULT_MODEL).to_owned();
    Ok(Settings { base_url, key, model, patience: Patience::default() })
}

fn script(variables: &Variables) -> Result<Scripted, VariableError> {
    let script = variables.text("AUTONOUS_MODEL_SCRIPT").unwrap_or_default();
    Scripted::new(script)
        .map_err(|bad| VariableError::new("AUTONOUS_MODEL_SCRIPT", bad.0, scripted::EXPECTED))
}

fn url(variables: &Variables, name: &str, default: &str) -> Result<Url, VariableError> {
    let value = variables.text(name).unwrap_or(default);
    let url = value.trim().parse::<Url>().ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.query().is_none())
        .ok_or_else(|| VariableError::new(name, value, format!("an http or https address such as {default}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider<const N: usize>(pairs: [(&str, &str); N]) -> Result<Provider, String> {
        Provider::read(&Variables::from_pairs(pairs)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_provider_is_chosen_by_key_and_else_direct() {
        assert!(matches!(provider([]), Ok(Provider::Direct)));
        assert!(matches!(provider([("ANTHROPIC_API_KEY", "k")]), Ok(Provider::Direct)));
        assert!(matches!(provider([("OPENAI_API_KEY", "k")]), Ok(Provider::OpenAi(_))));
        let chosen = [("OPENAI_API_KEY", "k"), (PROVIDER, "direct")];
        assert!(matches!(provider(chosen), Ok(Provider::Direct)));
    }

    #[test]
    fn our_own_key_goes_before_the_vendors() {
        let both = [("OPENAI_API_KEY", "theirs"), ("AUTONOUS_MODEL_API_KEY", "ours")];
        let Ok(Provider::OpenAi(settings)) = provider(both) else { panic!("openai was not chosen") };
        assert!(settings.key.unwrap().matches("ours"));
    }

    #[test]
    fn a_local_server_needs_no_key_and_openai_does() {
        let local = [(PROVIDER, "openai"), ("AUTONOUS_MODEL_BASE_URL", "http://127.0.0.1:11434/v1")];
        assert!(matches!(provider(local), Ok(Provider::OpenAi(_))));
        assert!(provider([(PROVIDER, "openai")]).unwrap_err().starts_with("AUTONOUS_MODEL_API_KEY="));
    }

    #[test]
    fn a_provider_that_does_not_exist_stops_the_start_and_names_those_that_do() {
        assert_eq!(
            provider([(PROVIDER, "anthropic")]).unwrap_err(),
            "AUTONOUS_MODEL_PROVIDER=\"anthropic\": expected one of the providers that exist: \
             direct, openai, scripted"
        );
    }

    #[test]
    fn bad_values_stop_the_start_and_name_their_variable() {
        for (name, value) in [
            ("AUTONOUS_TOOL_URL", "127.0.0.1:8701"),
            ("AUTONOUS_TOOL_URL", "ftp://127.0.0.1"),
            ("AUTONOUS_CONTROL_MAX_TURNS", "0"),
            ("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "soon"),
            ("AUTONOUS_CONTROL_MAX_TOKENS", "-1"),
            ("AUTONOUS_CONTROL_MAX_RETRIES", "21"),
            ("AUTONOUS_MODEL_CONTEXT_TOKENS", "3999"),
            ("AUTONOUS_MODEL_TOOL_PROTOCOL", "json"),
            ("AUTONOUS_MODEL_FALLBACK", "other"),
        ] {
            let error = Config::read(&Variables::from_pairs([(name, value)])).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{name}=")), "{error}");
        }
        let error = provider([(PROVIDER, "scripted")]).unwrap_err();
        assert!(error.starts_with("AUTONOUS_MODEL_SCRIPT="), "{error}");
    }
}
