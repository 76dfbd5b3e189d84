//! The providers of models: one file or folder for each, and the list.

mod anthropic;
mod gemini;
mod openai;
mod responses;
mod turns;

use reqwest::RequestBuilder;
use settings::Provider;

use super::endpoint::{ModelServer, Protocol, Settings};
use crate::http::HttpError;

fn protocol(provider: Provider) -> Box<dyn Protocol> {
    match provider {
        Provider::Anthropic => Box::new(anthropic::Anthropic),
        Provider::Gemini => Box::new(gemini::Gemini),
        Provider::OpenAi => Box::<openai::OpenAi>::default(),
        Provider::OpenAiResponses => Box::<responses::Responses>::default(),
    }
}

/// A model of this provider. Nothing is sent yet.
pub fn server(provider: Provider, settings: Settings) -> Result<ModelServer, HttpError> {
    ModelServer::new(provider, protocol(provider), settings)
}

/// The model that is asked where no setting names one.
pub(crate) fn default_model(provider: Provider) -> &'static str {
    protocol(provider).default_model()
}

/// Puts the key into a request.
pub(crate) fn sign(provider: Provider, request: RequestBuilder, settings: &Settings) -> RequestBuilder {
    protocol(provider).sign(request, settings)
}
