//! The models on the network: those of `models.toml` that are used, or the one that the variables describe.

use std::collections::BTreeMap;
use std::time::Duration;

use process::models::{
    DEFAULT_CONTEXT_TOKENS, EXTRA_HEADERS, Effort, ExtraBody, ExtraHeaders, MAX_CONTEXT_TOKENS,
    MIN_CONTEXT_TOKENS, ModelEntry, ModelsError, ModelsFile, OWN_KEY, Provider, base_url,
    checked_temperature,
};
use process::{Secret, VariableError, Variables};
use serde_json::{Map, Value};

use crate::check::Probe;
use crate::http::{self, HttpError, Proxy};
use crate::model::endpoint::{Options, Settings, Timeouts};
use crate::model::{Model, providers};
use crate::model_size::{self, SizeProbe};
use crate::prompt::PromptForm;

pub(super) const PROVIDER: &str = "AUTONOUS_MODEL_PROVIDER";
pub(super) const FALLBACK: &str = "AUTONOUS_MODEL_FALLBACK";
const NAME: &str = "AUTONOUS_MODEL_NAME";
const BASE_URL: &str = "AUTONOUS_MODEL_BASE_URL";
const CONTEXT_TOKENS: &str = "AUTONOUS_MODEL_CONTEXT_TOKENS";
const REASONING_EFFORT: &str = "AUTONOUS_MODEL_REASONING_EFFORT";
const MAX_OUTPUT_TOKENS: &str = "AUTONOUS_MODEL_MAX_OUTPUT_TOKENS";
const TEMPERATURE: &str = "AUTONOUS_MODEL_TEMPERATURE";
const EXTRA_BODY: &str = "AUTONOUS_MODEL_EXTRA_BODY";
const VISION: &str = "AUTONOUS_MODEL_VISION";
const FIRST_TOKEN_SECONDS: &str = "AUTONOUS_MODEL_FIRST_TOKEN_SECONDS";
const IDLE_SECONDS: &str = "AUTONOUS_MODEL_IDLE_SECONDS";

/// The default of a small model, whose servers choose its words with more chance than a call bears.
const SMALL_TEMPERATURE: f64 = 0.2;

/// How much the first model reads and writes, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) context_tokens: usize,
    pub(super) max_output_tokens: Option<usize>,
}

/// A model on the network.
#[derive(Debug, Clone)]
pub(super) struct Remote {
    /// How the settings call it.
    pub(super) name: String,
    pub(super) provider: Provider,
    pub(super) settings: Settings,
    /// The form of its prompt, if the settings name one.
    pub(super) prompt: Option<PromptForm>,
    /// Its parameters in billions, as far as they are known.
    pub(super) billions: Option<f64>,
    context_tokens: usize,
}

/// All models on the network.
#[derive(Debug)]
pub(super) struct Remotes {
    /// At least one, in the order in which they are asked.
    pub(super) used: Vec<Remote>,
    /// Those that only a chat's own choice uses.
    pub(super) others: Vec<Remote>,
}

/// What all models share.
struct Shared<'a> {
    variables: &'a Variables,
    timeouts: Timeouts,
    proxy: Option<Proxy>,
}

/// The models; none if there is no key and no address.
pub(super) fn read(variables: &Variables) -> Result<Option<Remotes>, ModelsError> {
    let shared = Shared {
        variables,
        timeouts: Timeouts {
            first_byte: seconds(variables, FIRST_TOKEN_SECONDS, 300)?,
            idle: seconds(variables, IDLE_SECONDS, 60)?,
        },
        proxy: Proxy::from_variables(variables)?,
    };
    if let Some(file) = ModelsFile::read(variables)? {
        let remote = |entry: &ModelEntry| Ok(shared.remote(entry.clone(), file.key(entry, variables)?)?);
        let all = file.selectable(variables)?.into_iter().map(remote);
        let mut used = all.collect::<Result<Vec<_>, ModelsError>>()?;
        let others = used.split_off(file.used(variables)?.len());
        return Ok(Some(Remotes { used, others }));
    }
    let Some(provider) = chosen_provider(variables)? else { return Ok(None) };
    let first = one_model(variables, provider)?;
    let key = one_key(variables, &first)?;
    let mut models = vec![shared.remote(first.clone(), key.clone())?];
    for name in variables.list(FALLBACK).unwrap_or_default() {
        if models.iter().any(|known| known.name == name) {
            let expected = "another model than the first, and each once";
            return Err(VariableError::new(FALLBACK, name, expected).into());
        }
        models.push(shared.remote(ModelEntry { name, ..first.clone() }, key.clone())?);
    }
    Ok(Some(Remotes { used: models, others: Vec::new() }))
}

/// The window of the one model that the variables describe.
pub(super) fn context_tokens(variables: &Variables) -> Result<usize, VariableError> {
    let range = MIN_CONTEXT_TOKENS..=MAX_CONTEXT_TOKENS;
    Ok(saturated(variables.number(CONTEXT_TOKENS, DEFAULT_CONTEXT_TOKENS, range)?))
}

/// `AUTONOUS_MODEL_PROVIDER`; by default `openai` if there is an OpenAI key or `AUTONOUS_MODEL_API_KEY`, else
/// the first provider with a key, else none.
fn chosen_provider(variables: &Variables) -> Result<Option<Provider>, VariableError> {
    let has = |name| variables.secret(name).is_some();
    match variables.text(PROVIDER) {
        Some(name) => Provider::by_name(name).map(Some).ok_or_else(|| {
            let mut names = Provider::ALL.map(Provider::name).to_vec();
            names.extend(["direct", "scripted"]);
            names.sort_unstable();
            VariableError::new(PROVIDER, name, format!("one of {}", names.join(", ")))
        }),
        None if has(OWN_KEY) || has(Provider::OpenAi.key_variable()) => Ok(Some(Provider::OpenAi)),
        None => Ok(Provider::ALL.into_iter().find(|provider| has(provider.key_variable()))),
    }
}

/// The one model that the variables describe.
fn one_model(variables: &Variables, provider: Provider) -> Result<ModelEntry, VariableError> {
    let own_url = variables
        .text(BASE_URL)
        .map(|text| base_url(text).map_err(|expected| VariableError::new(BASE_URL, text, expected)));
    let effort = variables.text(REASONING_EFFORT).map(|text| {
        let known = Effort::ALL.into_iter().find(|effort| effort.as_str() == text);
        let names = || Effort::ALL.map(Effort::as_str).join(", ");
        known.ok_or_else(|| VariableError::new(REASONING_EFFORT, text, format!("one of {}", names())))
    });
    let temperature = variables.text(TEMPERATURE).map(|text| {
        let number = text.trim().parse().ok().and_then(|number| checked_temperature(number).ok());
        number.ok_or_else(|| VariableError::new(TEMPERATURE, text, "a number from 0 to 2"))
    });
    let vision = variables.text(VISION).map(|_| variables.flag(VISION, false)).transpose()?;
    let tokens = u64::try_from(context_tokens(variables)?).unwrap_or(MAX_CONTEXT_TOKENS);
    let most = tokens / 2;
    let output = variables.text(MAX_OUTPUT_TOKENS).map(|_| variables.number(MAX_OUTPUT_TOKENS, 1, 1..=most));
    let name = variables.text(NAME).unwrap_or(providers::default_model(provider));
    Ok(ModelEntry {
        base_url: own_url.transpose()?,
        context_tokens: tokens,
        max_output_tokens: output.transpose()?,
        vision,
        reasoning_effort: effort.transpose()?,
        temperature: temperature.transpose()?,
        extra_body: extra_body(variables)?,
        extra_headers: extra_headers(variables)?,
        ..ModelEntry::new(name, provider)
    })
}

fn extra_body(variables: &Variables) -> Result<ExtraBody, VariableError> {
    let Some(text) = variables.text(EXTRA_BODY) else { return Ok(ExtraBody::default()) };
    let refused = |expected: &str| VariableError::new(EXTRA_BODY, text, expected);
    let fields: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| refused("a JSON object, such as {\"service_tier\": \"flex\"}"))?;
    ExtraBody::try_from(fields).map_err(|why| refused(&format!("other fields: {why}")))
}

/// The value may have a key in it, so no error shows it.
fn extra_headers(variables: &Variables) -> Result<ExtraHeaders, VariableError> {
    let Some(text) = variables.secret(EXTRA_HEADERS) else { return Ok(ExtraHeaders::default()) };
    let refused = |expected: &str| VariableError::new(EXTRA_HEADERS, "***", expected);
    let headers: BTreeMap<String, String> = serde_json::from_str(text.expose())
        .map_err(|_| refused("a JSON object of texts, such as {\"X-Title\": \"Autonous\"}"))?;
    ExtraHeaders::try_from(headers).map_err(|why| refused(&format!("other headers: {why}")))
}

/// The key of the one model: ours, or else the vendor's.
fn one_key(variables: &Variables, model: &ModelEntry) -> Result<Option<Secret>, VariableError> {
    let provider = model.provider;
    let key = variables.secret(OWN_KEY).or_else(|| variables.secret(provider.key_variable()));
    // A key that was read from a file often ends in a newline, which a header must not contain.
    let key = key.map(|key| Secret::from(key.expose().trim()));
    let vendors = provider.vendor_base_url();
    let url = model.base_url.clone().map_or_else(|| provider.base_url(variables), Ok)?;
    if key.is_none() && url.as_str().trim_end_matches('/') == vendors {
        let expected = format!("a key for {vendors}, or another AUTONOUS_MODEL_BASE_URL");
        return Err(VariableError::new(OWN_KEY, "", expected));
    }
    Ok(key)
}

fn seconds(variables: &Variables, name: &str, default: u64) -> Result<Duration, VariableError> {
    Ok(Duration::from_secs(variables.number(name, default, 1..=86_400)?))
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Shared<'_> {
    fn remote(&self, entry: ModelEntry, key: Option<Secret>) -> Result<Remote, VariableError> {
        let vendors = entry.provider.base_url(self.variables)?;
        let base_url = entry.base_url.unwrap_or(vendors);
        // All models that the vendors serve themselves see images; of other servers' models this is unknown.
        let is_vendors = base_url.as_str() == entry.provider.vendor_base_url();
        let options = Options {
            max_output_tokens: entry.max_output_tokens,
            reasoning_effort: entry.reasoning_effort,
            temperature: entry.temperature,
            vision: entry.vision.unwrap_or(is_vendors),
            extra_body: entry.extra_body,
            extra_headers: entry.extra_headers,
            prices: entry.prices,
            required_first: false,
        };
        let model = entry.model.unwrap_or_else(|| entry.name.clone());
        let billions = model_size::of_name(&model);
        let settings = Settings {
            timeouts: self.timeouts,
            proxy: self.proxy.clone(),
            options,
            ..Settings::new(base_url, key, model)
        };
        let context_tokens = saturated(entry.context_tokens);
        let (name, provider, prompt) = (entry.name, entry.provider, entry.prompt);
        Ok(Remote { name, provider, settings, prompt, billions, context_tokens })
    }
}

impl Remote {
    pub(super) fn room(&self) -> Room {
        Room {
            context_tokens: self.context_tokens,
            max_output_tokens: self.settings.options.max_output_tokens.map(saturated),
        }
    }

    /// How to ask the model's server for its size, unless the settings or its name say it. A vendor's models
    /// are not small.
    pub(super) fn unknown_size(&self) -> Option<anyhow::Result<SizeProbe>> {
        let is_vendors = self.settings.base_url.as_str() == self.provider.vendor_base_url()
            || model_size::is_vendors(&self.settings.model);
        let is_unknown = self.prompt.is_none() && self.billions.is_none() && !is_vendors;
        is_unknown.then(|| Ok(SizeProbe::new(self.probe()?, self.settings.model.clone())))
    }

    /// The model with what its requests have in this form.
    pub(super) fn in_form(mut self, form: PromptForm) -> Self {
        if form == PromptForm::Small {
            self.settings.options.required_first = true;
            self.settings.options.temperature.get_or_insert(SMALL_TEMPERATURE);
        }
        self
    }

    pub(super) fn client(self) -> Result<Box<dyn Model>, HttpError> {
        Ok(Box::new(providers::server(self.provider, self.settings)?))
    }

    /// A request that shows whether the model can be reached: for the list of models at its address.
    pub(super) fn probe(&self) -> anyhow::Result<Probe> {
        let mut settings = self.settings.clone();
        // Azure lists what it offers beside the deployments, not below each of them.
        let resource = settings.base_url.path().split("/deployments/").next().unwrap_or_default().to_owned();
        let is_deployment = resource.len() < settings.base_url.path().len();
        settings.base_url.set_path(&resource);
        let client = http::model_client(settings.proxy.as_ref())?;
        let request = providers::sign(self.provider, client.get(settings.url("models")), &settings);
        let request = request.headers(settings.options.extra_headers.headers().clone()).build()?;
        let mut who = format!("{}, {}", self.provider.name(), settings.model);
        if self.name != settings.model {
            who = format!("{} ({who})", self.name);
        }
        let model = (!is_deployment).then_some(settings.model);
        Ok(Probe { who, model, request: Some((client, request)) })
    }
}
