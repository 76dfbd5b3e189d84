//! Which model answers, with its key and its address.

use process::Secret;
use settings::table::{MODEL_API_KEY, MODEL_BASE_URL, MODEL_NAME, MODEL_PROVIDER};
use settings::{FILE_ENDING, Provider, base_url};

use super::{Parts, secret_of};
use crate::check::children;

/// A server on this machine, as Ollama has it.
const LOCAL: &str = "http://127.0.0.1:11434/v1";

/// What was answered about the model.
struct Model {
    /// None for no model at all.
    provider: Option<Provider>,
    name: String,
    url: Option<String>,
    key: Option<Secret>,
}

pub(super) async fn set_up(parts: &mut Parts<'_>) -> anyhow::Result<()> {
    parts.say("\nModel");
    let mut given = given(parts)?;
    if given.is_none() && !changes(parts)? {
        return Ok(());
    }
    loop {
        let model = match given.take() {
            Some(model) => model,
            None => ask(parts)?,
        };
        set(parts, &model);
        let finding = children::model_answers(&parts.children()?).await;
        if parts.accept(&finding)? {
            return Ok(());
        }
    }
}

/// What the command line says; none if it says nothing.
fn given(parts: &Parts<'_>) -> anyhow::Result<Option<Model>> {
    let answers = parts.answers;
    let key = secret_of("--model-key-file", answers.model_key_file.as_deref())?;
    let Some(text) = answers.model.as_deref().or(answers.model_url.as_ref().map(|_| "")) else {
        anyhow::ensure!(key.is_none(), "--model-key-file needs --model, such as --model anthropic");
        return Ok(None);
    };
    if text == "none" {
        return Ok(Some(Model { provider: None, name: String::new(), url: None, key: None }));
    }
    let url = answers.model_url.as_deref().map(address).transpose()?;
    let named = text.split_once('/').and_then(|(provider, name)| Some((Provider::by_name(provider)?, name)));
    let (provider, name) = match (named, Provider::by_name(text), &url) {
        (Some(named), _, _) => named,
        (None, Some(provider), _) => (provider, ""),
        (None, None, Some(_)) => (Provider::OpenAi, text),
        (None, None, None) => anyhow::bail!(
            "--model {text}: expected PROVIDER/NAME or PROVIDER ({}), or none, or a name with --model-url",
            Provider::ALL.map(Provider::name).join(", ")
        ),
    };
    Ok(Some(Model { provider: Some(provider), name: name.to_owned(), url, key }))
}

fn address(text: &str) -> anyhow::Result<String> {
    base_url(text).map_err(|expected| anyhow::anyhow!("{text}: expected {expected}"))?;
    Ok(text.trim().to_owned())
}

/// Whether a model that is there is to be another one. Unattended, everything stays.
fn changes(parts: &Parts<'_>) -> anyhow::Result<bool> {
    let source = parts.draft.source()?;
    let name = MODEL_NAME.read(&source)?;
    let provider = source.text(MODEL_PROVIDER.name());
    let keys: Vec<&str> = Provider::ALL
        .map(Provider::key_variable)
        .into_iter()
        .filter(|key| source.secret(key).is_some())
        .collect();
    let has = match (&name, provider, keys.first()) {
        (Some(name), _, _) => format!("The model is {name}."),
        (None, Some("direct"), _) => "There is no model: a message is the call of a tool.".to_owned(),
        (None, Some(provider), _) => format!("The model is the usual one of {provider}."),
        (None, None, Some(key)) => format!("{key} is set in this shell, and holds only there."),
        (None, None, None) => return Ok(parts.dialogue.asks()),
    };
    parts.say(&has);
    Ok(parts.dialogue.asks() && parts.dialogue.confirm("Change it?", false)?)
}

fn ask(parts: &Parts<'_>) -> anyhow::Result<Model> {
    let dialogue = &parts.dialogue;
    let lines = ["Anthropic", "OpenAI", "Gemini", "a server of your own, such as Ollama", "none for now"];
    let chosen = dialogue.choose("Which model should answer?", &lines, 0)?;
    let vendor = [Provider::Anthropic, Provider::OpenAi, Provider::Gemini].get(chosen).copied();
    if let Some(provider) = vendor {
        let key = dialogue.ask_secret(&format!("The key of {}", lines[chosen]))?;
        let name = dialogue.ask("The model's name (empty: the default)", "")?;
        return Ok(Model { provider: Some(provider), name, url: None, key });
    }
    if chosen == lines.len() - 1 {
        return Ok(Model { provider: None, name: String::new(), url: None, key: None });
    }
    let url = loop {
        match address(&dialogue.ask("Its address", LOCAL)?) {
            Ok(url) => break url,
            Err(error) => dialogue.say(&error.to_string()),
        }
    };
    let name = dialogue.ask("The model's name", "")?;
    let key = dialogue.ask_secret("Its key, if it needs one")?;
    Ok(Model { provider: Some(Provider::OpenAi), name, url: Some(url), key })
}

fn set(parts: &mut Parts<'_>, model: &Model) {
    let draft = &mut parts.draft;
    let key_file = format!("{}{FILE_ENDING}", MODEL_API_KEY.name());
    draft.set(MODEL_PROVIDER.name(), model.provider.map_or("direct", Provider::name));
    match model.name.as_str() {
        "" => draft.unset(MODEL_NAME.name()),
        name => draft.set(MODEL_NAME.name(), name),
    }
    match &model.url {
        None => draft.unset(MODEL_BASE_URL.name()),
        Some(url) => draft.set(MODEL_BASE_URL.name(), url.as_str()),
    }
    match &model.key {
        Some(key) => draft.set_secret(MODEL_API_KEY.name(), key.clone()),
        // The key of another provider is not sent to this one.
        None => draft.unset(&key_file),
    }
}
