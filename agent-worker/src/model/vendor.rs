//! The providers that are model servers: how each is asked, and by default for which model.

use process::models::Provider;
use reqwest::RequestBuilder;

use super::Model;
use super::anthropic::{self, Anthropic};
use super::endpoint::Settings;
use super::gemini::{self, Gemini};
use super::openai::{self, OpenAi};
use super::responses::{self, Responses};
use crate::http::HttpError;

/// What the worker knows of a provider.
#[derive(Debug)]
pub(crate) struct Vendor {
    pub(crate) default_model: &'static str,
    /// Puts the key into a request.
    pub(crate) sign: fn(RequestBuilder, &Settings) -> RequestBuilder,
    /// A client that has sent nothing yet.
    pub(crate) client: fn(Settings) -> Result<Box<dyn Model>, HttpError>,
}

/// What the worker knows of this provider.
pub(crate) fn vendor(provider: Provider) -> Vendor {
    match provider {
        Provider::Anthropic => Vendor {
            default_model: anthropic::DEFAULT_MODEL,
            sign: anthropic::sign,
            client: |settings| Ok(Box::new(Anthropic::new(settings)?)),
        },
        Provider::Gemini => Vendor {
            default_model: gemini::DEFAULT_MODEL,
            sign: gemini::sign,
            client: |settings| Ok(Box::new(Gemini::new(settings)?)),
        },
        Provider::OpenAiResponses => Vendor {
            default_model: responses::DEFAULT_MODEL,
            sign: openai::sign,
            client: |settings| Ok(Box::new(Responses::new(settings)?)),
        },
        Provider::OpenAi => Vendor {
            default_model: openai::DEFAULT_MODEL,
            sign: openai::sign,
            client: |settings| Ok(Box::new(OpenAi::new(settings)?)),
        },
    }
}
