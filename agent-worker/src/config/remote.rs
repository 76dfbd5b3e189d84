//! The models on the network: those of `models.toml` that are used, or the one that the settings describe.

use std::collections::BTreeMap;

use anyhow::Context;
use models::{ExtraBody, ExtraHeaders, ModelEntry, ModelsFile};
use process::Secret;
use settings::choices::ModelProvider;
use settings::table::{
    MODEL_API_KEY, MODEL_BASE_URL, MODEL_CONTEXT_TOKENS, MODEL_EXTRA_BODY, MODEL_EXTRA_HEADERS,
    MODEL_FALLBACK, MODEL_FIRST_TOKEN_SECONDS, MODEL_IDLE_SECONDS, MODEL_MAX_OUTPUT_TOKENS, MODEL_NAME,
    MODEL_PROVIDER, MODEL_REASONING_EFFORT, MODEL_TEMPERATURE, MODEL_VISION,
};
use settings::{Provider, Row, SettingError, Source, base_url};

use crate::check::Probe;
use crate::http::{self, Proxy};
use crate::model::endpoint::{Options, Settings, Timeouts};
use crate::model::{Model, providers};
use crate::model_size::{self, SizeProbe};
use crate::prompt::PromptForm;

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
    source: &'a Source,
    timeouts: Timeouts,
    proxy: Option<Proxy>,
}

/// The models; none if there is no key and no address.
pub(super) fn read(source: &Source) -> Result<Option<Remotes>, SettingError> {
    let shared = Shared {
        source,
        timeouts: Timeouts {
            first_byte: MODEL_FIRST_TOKEN_SECONDS.read(source)?,
            idle: MODEL_IDLE_SECONDS.read(source)?,
        },
        proxy: Proxy::read(source)?,
    };
    if let Some(file) = ModelsFile::read(source)? {
        let remote = |entry: &ModelEntry| shared.remote(entry.clone(), file.key(entry, source)?);
        let all = file.selectable(source)?.into_iter().map(remote);
        let mut used = all.collect::<Result<Vec<_>, SettingError>>()?;
        let others = used.split_off(file.used(source)?.len());
        return Ok(Some(Remotes { used, others }));
    }
    let Some(provider) = chosen_provider(source)? else { return Ok(None) };
    let first = one_model(source, provider)?;
    let key = one_key(source, &first)?;
    let mut models = vec![shared.remote(first.clone(), key.clone())?];
    for name in MODEL_FALLBACK.read(source)? {
        if models.iter().any(|known| known.name == name) {
            let expected = "another model than the first, and each once";
            return Err(MODEL_FALLBACK.refuse(name, expected));
        }
        models.push(shared.remote(ModelEntry { name, ..first.clone() }, key.clone())?);
    }
    Ok(Some(Remotes { used: models, others: Vec::new() }))
}

/// The window of the one model that the settings describe.
pub(super) fn context_tokens(source: &Source) -> Result<usize, SettingError> {
    MODEL_CONTEXT_TOKENS.read(source).map(saturated)
}

/// The chosen provider; by default `openai` if there is an OpenAI key or our own, else the first one with a
/// key, else the one whose address is set, because a server of one's own needs no key, else none.
fn chosen_provider(source: &Source) -> Result<Option<Provider>, SettingError> {
    let has = |name| source.secret(name).is_some();
    match MODEL_PROVIDER.read(source)? {
        Some(ModelProvider::Server(provider)) => Ok(Some(provider)),
        Some(ModelProvider::Direct | ModelProvider::Scripted) => Ok(None),
        None if has(MODEL_API_KEY.name()) || has(Provider::OpenAi.key_variable()) => {
            Ok(Some(Provider::OpenAi))
        }
        None => {
            let with = |variable: fn(Provider) -> &'static str| {
                Provider::ALL.into_iter().find(|provider| has(variable(*provider)))
            };
            let own_address = || MODEL_BASE_URL.read(source).map(|url| url.map(|_| Provider::OpenAi));
            match with(Provider::key_variable) {
                Some(provider) => Ok(Some(provider)),
                None => Ok(own_address()?.or_else(|| with(Provider::base_url_variable))),
            }
        }
    }
}

/// The one model that the settings describe.
fn one_model(source: &Source, provider: Provider) -> Result<ModelEntry, SettingError> {
    let own_url = MODEL_BASE_URL
        .read(source)?
        .map(|text| base_url(&text).map_err(|expected| MODEL_BASE_URL.refuse(text, expected)));
    let context_tokens = MODEL_CONTEXT_TOKENS.read(source)?;
    let max_output_tokens = MODEL_MAX_OUTPUT_TOKENS.read(source)?;
    let most = context_tokens / 2;
    if let Some(tokens) = max_output_tokens.filter(|tokens| *tokens > most) {
        let expected = format!("a whole number from 1 to {most}, half of the window");
        return Err(MODEL_MAX_OUTPUT_TOKENS.refuse(tokens.to_string(), expected));
    }
    let name = MODEL_NAME.read(source)?.unwrap_or_else(|| providers::default_model(provider).to_owned());
    Ok(ModelEntry {
        base_url: own_url.transpose()?,
        context_tokens,
        max_output_tokens,
        vision: MODEL_VISION.read(source)?,
        reasoning_effort: MODEL_REASONING_EFFORT.read(source)?,
        temperature: MODEL_TEMPERATURE.read(source)?,
        extra_body: extra_body(source)?,
        extra_headers: extra_headers(source)?,
        ..ModelEntry::new(name, provider)
    })
}

fn extra_body(source: &Source) -> Result<ExtraBody, SettingError> {
    let Some(fields) = MODEL_EXTRA_BODY.read(source)? else { return Ok(ExtraBody::default()) };
    ExtraBody::try_from(fields).map_err(|why| {
        let text = source.text(MODEL_EXTRA_BODY.name()).unwrap_or_default();
        MODEL_EXTRA_BODY.refuse(text, format!("other fields: {why}"))
    })
}

/// The value may have a key in it, so no error shows it.
fn extra_headers(source: &Source) -> Result<ExtraHeaders, SettingError> {
    let Some(text) = MODEL_EXTRA_HEADERS.read(source)? else { return Ok(ExtraHeaders::default()) };
    let headers: BTreeMap<String, String> = serde_json::from_str(text.expose())
        .map_err(|_| MODEL_EXTRA_HEADERS.refuse("", MODEL_EXTRA_HEADERS.expected()))?;
    ExtraHeaders::try_from(headers)
        .map_err(|why| MODEL_EXTRA_HEADERS.refuse("", format!("other headers: {why}")))
}

/// The key of the one model: ours, or else the vendor's.
fn one_key(source: &Source, model: &ModelEntry) -> Result<Option<Secret>, SettingError> {
    let provider = model.provider;
    let key = MODEL_API_KEY.read(source)?.or_else(|| source.secret(provider.key_variable()));
    // A key that was read from a file often ends in a newline, which a header must not contain.
    let key = key.map(|key| Secret::from(key.expose().trim()));
    let vendors = provider.vendor_base_url();
    let url = model.base_url.clone().map_or_else(|| provider.base_url(source), Ok)?;
    if key.is_none() && url.as_str().trim_end_matches('/') == vendors {
        let expected = format!("a key for {vendors}, or another AUTONOUS_MODEL_BASE_URL");
        return Err(SettingError::new(MODEL_API_KEY.name(), "", expected));
    }
    Ok(key)
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Shared<'_> {
    fn remote(&self, entry: ModelEntry, key: Option<Secret>) -> Result<Remote, SettingError> {
        let vendors = entry.provider.base_url(self.source)?;
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

    pub(super) fn client(self) -> anyhow::Result<Box<dyn Model>> {
        let server = providers::server(self.provider, self.settings);
        let failed = || format!("cannot create the client for {}", self.provider.name());
        Ok(Box::new(server.with_context(failed)?))
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
