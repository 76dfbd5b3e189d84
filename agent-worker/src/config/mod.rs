//! The worker's settings. Each field's doc names its variable and its default.
//!
//! All settings are validated before the first line is read. An invalid value stops the start and says what
//! is expected; nothing falls back silently.

mod model;
mod remote;
mod unused;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use process::models::ModelsError;
use process::{Secret, VariableError, Variables};
use reqwest::Url;

use crate::agent::{Agent, Agents, IfSmall};
use crate::breaker::ModelBreaker;
use crate::budget::Limits;
use crate::plans::PlanFunctions;
use crate::prompt::PromptForm;
use crate::tool_client::ToolClient;

pub use model::ModelConfig;

const PROMPT: &str = "AUTONOUS_MODEL_PROMPT";

/// All settings of the worker.
#[derive(Debug)]
pub struct Config {
    /// `AUTONOUS_TOOL_URL`, `http://127.0.0.1:8701`.
    tool_url: Url,
    /// `AUTONOUS_TOOL_TOKEN`, none.
    tool_token: Option<Secret>,
    /// `AUTONOUS_TOOL_DISABLED`, none; the tool server checks the names.
    disabled_tools: BTreeSet<String>,
    /// The model; its variables are named there.
    pub model: ModelConfig,
    /// `AUTONOUS_CONTROL_MAX_TURNS`, `…_MAX_WALL_TIME_SECONDS`, `…_MAX_TOKENS`: 20, 600, 2,000,000, and the
    /// first model's window and longest reply.
    limits: Limits,
    /// `AUTONOUS_MODEL_PROMPT`, for models that do not say it themselves; by default `small` for a small
    /// model, else `compact` if its window is below 32,000 tokens, else `full`.
    prompt_form: Option<PromptForm>,
    /// `AUTONOUS_CONTROL_MAX_RETRIES`, 3.
    max_retries: u32,
}

impl Config {
    /// Reads and validates all settings.
    pub fn read(variables: &Variables) -> Result<Self, ModelsError> {
        variables.refuse_unknown()?;
        let number = |name, default, most| -> Result<u32, VariableError> {
            let number = variables.number(name, default, 1..=most)?;
            Ok(u32::try_from(number).unwrap_or(u32::MAX))
        };
        let retries = variables.number("AUTONOUS_CONTROL_MAX_RETRIES", 3, 0..=20)?;
        let model = ModelConfig::read(variables)?;
        let room = model.room(variables)?;
        let prompt_form = prompt_form(variables)?;
        Ok(Self {
            tool_url: url(variables, "AUTONOUS_TOOL_URL", "http://127.0.0.1:8701")?,
            tool_token: variables.secret("AUTONOUS_TOOL_TOKEN"),
            disabled_tools: variables
                .list("AUTONOUS_TOOL_DISABLED")
                .unwrap_or_default()
                .into_iter()
                .collect(),
            limits: Limits {
                max_turns: number("AUTONOUS_CONTROL_MAX_TURNS", 20, 10_000)?,
                wall_time: Duration::from_secs(
                    number("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", 600, 86_400)?.into(),
                ),
                max_tokens: variables.number("AUTONOUS_CONTROL_MAX_TOKENS", 2_000_000, 1..=u64::MAX)?,
                context_tokens: room.context_tokens,
                max_output_tokens: room.max_output_tokens,
                quota: Default::default(),
            },
            prompt_form,
            max_retries: u32::try_from(retries).unwrap_or(u32::MAX),
            model,
        })
    }

    /// The agents that these settings describe: that of the first model, and one for each other model that a
    /// chat can choose.
    pub fn into_agents(self) -> anyhow::Result<Agents> {
        let Self { tool_url, tool_token, disabled_tools, model, limits, prompt_form, max_retries } = self;
        let agent_in = |model: ModelConfig, limits: Limits, form: PromptForm| -> anyhow::Result<Agent> {
            let tools = ToolClient::new(tool_url.clone(), tool_token.clone());
            let tools = tools.context("cannot create the client for the tool server")?;
            let (sees, model) = (model.sees(), model.into_model(form)?);
            // A small model pays too much for each function and plans badly.
            let plans =
                form == PromptForm::Full && model.is_language_model() && !model.name().trim().is_empty();
            let plan_functions = PlanFunctions::new(disabled_tools.clone(), plans);
            let plan_functions = plan_functions.context("cannot offer the functions for plans")?;
            let (breaker, prompt_form, if_small) = (ModelBreaker::default(), form, None);
            Ok(Agent {
                model,
                sees,
                breaker,
                tools,
                plan_functions,
                limits,
                prompt_form,
                if_small,
                max_retries,
            })
        };
        let agent = |model: ModelConfig, limits: Limits| -> anyhow::Result<Arc<Agent>> {
            let form = model.prompt_form(prompt_form, limits.context_tokens);
            let if_small = match model.of_unknown_size(prompt_form, form) {
                None => None,
                Some((same, size)) => {
                    Some(IfSmall { agent: Arc::new(agent_in(same, limits, PromptForm::Small)?), size: size? })
                }
            };
            Ok(Arc::new(Agent { if_small, ..agent_in(model, limits, form)? }))
        };
        let choices = model.choices().into_iter().map(|(name, model)| {
            let limits = model.limits(limits);
            Ok((name, agent(model, limits)?))
        });
        let by_name = Arc::new(choices.collect::<anyhow::Result<_>>()?);
        let first = agent(model, limits)?;
        tracing::info!(model = first.model.name(), "worker starts");
        Ok(Agents { first, by_name })
    }
}

fn prompt_form(variables: &Variables) -> Result<Option<PromptForm>, VariableError> {
    let Some(name) = variables.text(PROMPT) else { return Ok(None) };
    let known = PromptForm::ALL.into_iter().find(|form| form.as_str() == name);
    known.map(Some).ok_or_else(|| VariableError::new(PROMPT, name, "full, compact or small"))
}

fn url(variables: &Variables, name: &str, default: &str) -> Result<Url, VariableError> {
    let value = variables.text(name).unwrap_or(default);
    let url = value.trim().parse::<Url>().ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.query().is_none())
        .ok_or_else(|| VariableError::new(name, value, format!("an http or https URL such as {default}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_stop_the_start_and_name_their_variable() {
        for (name, value) in [
            ("AUTONOUS_TOOL_URL", "127.0.0.1:8701"),
            ("AUTONOUS_TOOL_URL", "ftp://127.0.0.1"),
            ("AUTONOUS_CONTROL_MAX_TURNS", "0"),
            ("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "soon"),
            ("AUTONOUS_CONTROL_MAX_TOKENS", "-1"),
            ("AUTONOUS_CONTROL_MAX_RETRIES", "21"),
            ("AUTONOUS_MODEL_CONTEXT_TOKENS", "3999"),
            ("AUTONOUS_MODEL_PROMPT", "tiny"),
        ] {
            let error = Config::read(&Variables::from_pairs([(name, value)])).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{name}=")), "{error}");
        }
    }
}
