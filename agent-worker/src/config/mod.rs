//! The worker's settings, read from the rows of [`settings::table`] before its first line.

mod model;
mod remote;
mod unused;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context;
use process::Secret;
use reqwest::Url;
use settings::table::{
    CONTROL_MAX_RETRIES, CONTROL_MAX_TOKENS, CONTROL_MAX_TURNS, CONTROL_MAX_WALL_TIME_SECONDS, MODEL_PROMPT,
    TOOL_DISABLED, TOOL_TOKEN, TOOL_URL,
};
use settings::{Program, SettingError, Source};

use crate::agent::{Agent, Agents, IfSmall};
use crate::breaker::ModelBreaker;
use crate::budget::Limits;
use crate::model::Model;
use crate::plans::PlanFunctions;
use crate::prompt::PromptForm;
use crate::tool_client::ToolClient;

pub use model::ModelConfig;

/// All settings of the worker.
#[derive(Debug)]
pub struct Config {
    tool_url: Url,
    tool_token: Option<Secret>,
    /// The tool server checks the names.
    disabled_tools: BTreeSet<String>,
    /// The models.
    pub model: ModelConfig,
    /// Those of a task, with the first model's window and longest reply.
    limits: Limits,
    /// For models that do not say it themselves; by default `small` for a small model, else `compact` if its
    /// window is below 32,000 tokens, else `full`.
    prompt_form: Option<PromptForm>,
    max_retries: u32,
}

impl Config {
    /// Reads and validates all settings.
    pub fn read(source: &Source) -> Result<Self, SettingError> {
        settings::check(source, Program::Worker)?;
        let model = ModelConfig::read(source)?;
        let room = model.room(source)?;
        Ok(Self {
            tool_url: TOOL_URL.read(source)?,
            tool_token: TOOL_TOKEN.read(source)?,
            disabled_tools: TOOL_DISABLED.read(source)?.into_iter().collect(),
            limits: Limits {
                max_turns: CONTROL_MAX_TURNS.read(source)?,
                wall_time: CONTROL_MAX_WALL_TIME_SECONDS.read(source)?,
                max_tokens: CONTROL_MAX_TOKENS.read(source)?,
                context_tokens: room.context_tokens,
                max_output_tokens: room.max_output_tokens,
                quota: Default::default(),
            },
            prompt_form: MODEL_PROMPT.read(source)?,
            max_retries: CONTROL_MAX_RETRIES.read(source)?,
            model,
        })
    }

    /// The model that tasks ask, without a task.
    pub fn into_model(self) -> anyhow::Result<Box<dyn Model>> {
        let form = self.model.prompt_form(self.prompt_form, self.limits.context_tokens);
        self.model.into_model(form)
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
            Ok(Agent {
                model,
                sees,
                breaker: ModelBreaker::default(),
                tools,
                plan_functions,
                limits,
                prompt_form: form,
                if_small: None,
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
            let error = Config::read(&Source::from_pairs([(name, value)])).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{name}=")), "{error}");
        }
    }
}
