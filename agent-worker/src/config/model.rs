//! The models' settings: the provider, how it calls tools, and the models behind the first one.

use settings::choices::{ModelProvider, ToolProtocol, Words};
use settings::table::{
    MODEL_CONTEXT_TOKENS, MODEL_FALLBACK, MODEL_PROVIDER, MODEL_SCRIPT, MODEL_TOOL_PROTOCOL,
};
use settings::{SettingError, Source};

use super::remote::{self, Remote, Remotes, Room};
use crate::budget::Limits;
use crate::check::Probe;
use crate::model::Model;
use crate::model::direct::Direct;
use crate::model::fallback::{Candidate, Fallback};
use crate::model::json_protocol::JsonProtocol;
use crate::model::scripted::{self, Scripted};
use crate::model::text_calls::TextCalls;
use crate::model_size::SizeProbe;
use crate::prompt::{PromptForm, default_form};
use crate::window;

/// The models' settings.
#[derive(Debug)]
pub struct ModelConfig {
    provider: Provider,
    /// Whether models write calls as JSON into plain replies.
    is_json: bool,
    /// Those of `models.toml` that only a chat's own choice uses.
    others: Vec<Remote>,
}

#[derive(Debug)]
enum Provider {
    Direct,
    Scripted(Scripted),
    /// At least one, in the order in which they are asked.
    Remote(Vec<Remote>),
}

impl ModelConfig {
    pub(super) fn read(source: &Source) -> Result<Self, SettingError> {
        let (provider, others) = Provider::read(source)?;
        let protocol = MODEL_TOOL_PROTOCOL.read(source)?;
        if protocol == ToolProtocol::Json && matches!(provider, Provider::Direct) {
            let expected = "native, because the provider direct has no model that could write JSON";
            return Err(MODEL_TOOL_PROTOCOL.refuse(protocol.word(), expected));
        }
        let fallback = MODEL_FALLBACK.read(source)?;
        if !fallback.is_empty() && !matches!(provider, Provider::Remote(_)) {
            let expected = "nothing, because only model servers have a second model";
            return Err(MODEL_FALLBACK.refuse(fallback.join(","), expected));
        }
        super::unused::refuse(source, provider.name())?;
        Ok(Self { provider, is_json: protocol == ToolProtocol::Json, others })
    }

    /// What a chat can choose beside the first model: the model of this name, with the used ones behind it.
    pub(super) fn choices(&self) -> Vec<(String, Self)> {
        let Provider::Remote(used) = &self.provider else { return Vec::new() };
        let choice = |first: &Remote| {
            let behind = used.iter().filter(|model| model.name != first.name);
            let models = std::iter::once(first).chain(behind).cloned().collect();
            let provider = Provider::Remote(models);
            (first.name.clone(), Self { provider, is_json: self.is_json, others: Vec::new() })
        };
        used.iter().skip(1).chain(&self.others).map(choice).collect()
    }

    /// The first model's room; unbounded for `direct`, which reads no conversation.
    pub(super) fn room(&self, source: &Source) -> Result<Room, SettingError> {
        Ok(match &self.provider {
            Provider::Direct => {
                MODEL_CONTEXT_TOKENS.read(source)?;
                Room { context_tokens: usize::MAX, max_output_tokens: None }
            }
            Provider::Scripted(_) => {
                Room { context_tokens: remote::context_tokens(source)?, max_output_tokens: None }
            }
            Provider::Remote(models) => models[0].room(),
        })
    }

    /// These limits with the room of a model server's first model.
    pub(super) fn limits(&self, limits: Limits) -> Limits {
        let Provider::Remote(models) = &self.provider else { return limits };
        let Room { context_tokens, max_output_tokens } = models[0].room();
        Limits { context_tokens, max_output_tokens, ..limits }
    }

    /// Whether any model sees images.
    pub(super) fn sees(&self) -> bool {
        match &self.provider {
            Provider::Direct | Provider::Scripted(_) => false,
            Provider::Remote(models) => models.iter().any(|model| model.settings.options.vision),
        }
    }

    /// Requests that show whether the models can be reached: for the list of models at each address.
    pub fn probes(&self) -> anyhow::Result<Vec<Probe>> {
        match &self.provider {
            Provider::Direct | Provider::Scripted(_) => {
                Ok(vec![Probe { who: self.provider.name().to_owned(), model: None, request: None }])
            }
            Provider::Remote(models) => models.iter().map(Remote::probe).collect(),
        }
    }

    /// The form in which the first model is asked, unless the settings for all models say another.
    pub(super) fn prompt_form(&self, wanted: Option<PromptForm>, window: usize) -> PromptForm {
        let first = match &self.provider {
            Provider::Direct | Provider::Scripted(_) => None,
            Provider::Remote(models) => models.first(),
        };
        let own = first.and_then(|model| model.prompt).or(wanted);
        own.unwrap_or_else(|| default_form(window, first.and_then(|model| model.billions)))
    }

    /// The same models again, and how to ask for the first one's size, where neither the settings nor its
    /// name say it and it would decide about the form.
    pub(super) fn of_unknown_size(
        &self,
        wanted: Option<PromptForm>,
        form: PromptForm,
    ) -> Option<(Self, anyhow::Result<SizeProbe>)> {
        let Provider::Remote(models) = &self.provider else { return None };
        let size =
            models.first()?.unknown_size().filter(|_| wanted.is_none() && form != PromptForm::Small)?;
        let provider = Provider::Remote(models.clone());
        Some((Self { provider, is_json: self.is_json, others: Vec::new() }, size))
    }

    pub(super) fn into_model(self, form: PromptForm) -> anyhow::Result<Box<dyn Model>> {
        let with_protocol = |model: Box<dyn Model>| -> Box<dyn Model> {
            if self.is_json { Box::new(JsonProtocol::new(model, form)) } else { Box::new(TextCalls(model)) }
        };
        let models = match self.provider {
            Provider::Direct => return Ok(Box::new(Direct)),
            Provider::Scripted(script) => return Ok(with_protocol(Box::new(script))),
            Provider::Remote(models) => models,
        };
        let candidates = models.into_iter().enumerate().map(|(index, remote)| {
            // A model behind the first one reads its conversation, and is otherwise asked as ever.
            let remote = if index == 0 { remote.in_form(form) } else { remote };
            let (context_tokens, client) = (remote.room().context_tokens, remote.client()?);
            Ok(Candidate { model: with_protocol(client), context_tokens })
        });
        let mut candidates = candidates.collect::<anyhow::Result<Vec<_>>>()?;
        let first = candidates.remove(0).model;
        Ok(match candidates.is_empty() {
            true => first,
            false => Box::new(Fallback { first, others: candidates, size: window::tokens_of_request }),
        })
    }
}

impl Provider {
    fn name(&self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Scripted(_) => "scripted",
            Self::Remote(_) => "of a model server",
        }
    }

    /// The provider, and the models that only a chat's own choice uses.
    fn read(source: &Source) -> Result<(Self, Vec<Remote>), SettingError> {
        let provider = match MODEL_PROVIDER.read(source)? {
            Some(ModelProvider::Direct) => Self::Direct,
            Some(ModelProvider::Scripted) => {
                let script = Scripted::new(&MODEL_SCRIPT.read(source)?.unwrap_or_default());
                Self::Scripted(script.map_err(|bad| MODEL_SCRIPT.refuse(bad.0, scripted::EXPECTED))?)
            }
            Some(ModelProvider::Server(_)) | None => match remote::read(source)? {
                None => Self::Direct,
                Some(Remotes { used, others }) => return Ok((Self::Remote(used), others)),
            },
        };
        Ok((provider, Vec::new()))
    }
}

#[cfg(test)]
mod tests;
