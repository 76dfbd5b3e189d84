//! How many parameters a model has: what its name says about it, or its server's list of models.
//!
//! Local servers name a model after its file or its tag, and both have the size in them:
//! `qwen2.5-coder:1.5b`, `Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf`, `smollm2-360m`.
//! Vendors name no size, and nothing is guessed. A server is asked when a task begins, because it may have
//! started after the worker. Its answer is kept, whether it says a size or not; without one the next task
//! asks again.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::check::{MAX_LIST_BYTES, Probe};
use crate::http;

/// What the names of vendors' models begin with. None of those is small, also behind a proxy.
const VENDORS: [&str; 5] = ["gpt-", "chatgpt-", "claude-", "gemini-", "grok-"];

/// A server that works on another request may be late, and the task begins without its answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Whether a name is that of a vendor's model, such as `gpt-4.1-mini` or `anthropic/claude-sonnet-4-5`.
pub(crate) fn is_vendors(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    VENDORS.iter().any(|vendor| name.starts_with(vendor))
}

/// The billions of parameters in a model's name; the largest number if there are several, because that of the
/// active ones (`30b-a3b`) is smaller.
pub(crate) fn of_name(name: &str) -> Option<f64> {
    let name = name.to_ascii_lowercase();
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.');
    words.filter_map(|word| of_word(word.strip_suffix(".gguf").unwrap_or(word))).reduce(f64::max)
}

/// The billions of parameters of a model in its server's list. A server with one model answers to any name.
fn of_list(list: &[u8], model: &str) -> Option<f64> {
    let list: Value = serde_json::from_slice(list).ok()?;
    let listed = list["data"].as_array()?;
    let entry = match listed.as_slice() {
        [only] => only,
        several => several.iter().find(|entry| entry["id"] == model)?,
    };
    // llama.cpp counts them.
    let counted = entry["meta"]["n_params"].as_f64().filter(|number| *number > 0.0);
    counted.map(|number| number / 1e9).or_else(|| of_name(entry["id"].as_str()?))
}

/// `1.5b`, `360m`, `8x7b`, and `e2b` for the parameters that are effective.
fn of_word(word: &str) -> Option<f64> {
    let (number, factor) = match (word.strip_suffix('b'), word.strip_suffix('m')) {
        (Some(number), _) => (number, 1.0),
        (None, Some(number)) => (number, 0.001),
        (None, None) => return None,
    };
    let number = number.strip_prefix('e').unwrap_or(number);
    let (times, number) = number.split_once('x').unwrap_or(("1", number));
    Some(positive(times)? * positive(number)? * factor)
}

fn positive(digits: &str) -> Option<f64> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.parse().ok().filter(|number: &f64| is_number && *number > 0.0)
}

/// A question for the list of models of a server that calls the model by this name.
pub(crate) struct SizeProbe {
    probe: Probe,
    model: String,
    /// The billions of parameters; none if the server does not say them.
    billions: OnceCell<Option<f64>>,
}

impl SizeProbe {
    pub(crate) fn new(probe: Probe, model: String) -> Self {
        Self { probe, model, billions: OnceCell::new() }
    }

    /// The model's size in billions of parameters, as far as it is known.
    pub(crate) async fn billions(&self) -> Option<f64> {
        self.billions.get_or_try_init(|| self.ask()).await.ok().copied().flatten()
    }

    async fn ask(&self) -> Result<Option<f64>, NoAnswer> {
        let Some((client, request)) = &self.probe.request else { return Ok(None) };
        let request = request.try_clone().ok_or(NoAnswer)?;
        let list = timeout(TIMEOUT, http::send(client, request, MAX_LIST_BYTES)).await;
        let list = list.ok().and_then(Result::ok).ok_or(NoAnswer)?;
        // A server that still loads its model does not know it yet.
        if list.status.is_server_error() {
            return Err(NoAnswer);
        }
        let billions = of_list(&list.body, &self.model).filter(|_| list.status.is_success());
        tracing::info!(model = self.model, ?billions, "the size of the model, as its server says");
        Ok(billions)
    }
}

/// The server did not answer in time.
struct NoAnswer;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_size_or_nothing() {
        for (name, expected) in [
            ("qwen2.5-coder:1.5b", Some(1.5)),
            ("Qwen/Qwen2.5-Coder-1.5B-Instruct", Some(1.5)),
            ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", Some(0.5)),
            ("/models/tiny-1.1B.gguf", Some(1.1)),
            ("smollm2_360m", Some(0.36)),
            ("gemma-3n-e2b-it", Some(2.0)),
            ("qwen3-30b-a3b", Some(30.0)),
            ("mixtral:8x7b", Some(56.0)),
            ("openai/gpt-oss-120b", Some(120.0)),
            ("gpt-4.1-mini", None),
            ("claude-sonnet-4-5", None),
            ("model-4bit-128k", None),
            ("local", None),
            ("b-m-.b-0b-1..2b", None),
            ("", None),
        ] {
            assert_eq!(of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn a_vendors_model_is_known_by_its_name() {
        for name in ["gpt-4.1-mini", "anthropic/claude-sonnet-4-5", "Gemini-Flash-latest", "grok-4"] {
            assert!(is_vendors(name), "{name}");
        }
        for name in ["local", "qwen3-30b-a3b", "my-gpt-4", ""] {
            assert!(!is_vendors(name), "{name}");
        }
    }

    #[test]
    fn a_list_of_models_says_the_size_or_nothing() {
        for (list, expected) in [
            (r#"{"data":[{"id":"any","meta":{"n_params":1500000000}}]}"#, Some(1.5)),
            (r#"{"data":[{"id":"coder-0.5b.gguf","meta":{}}]}"#, Some(0.5)),
            (r#"{"data":[{"id":"m","meta":{"n_params":2000000000}},{"id":"n-7b"}]}"#, Some(2.0)),
            (r#"{"data":[{"id":"a-1b"},{"id":"n-7b"}]}"#, None),
            (r#"{"data":[{"id":"m","meta":{"n_params":-1}}]}"#, None),
            (r#"{"data":[]}"#, None),
            (r#"{"data":[{"id":7}]}"#, None),
            ("no list", None),
        ] {
            assert_eq!(of_list(list.as_bytes(), "m"), expected, "{list}");
        }
    }
}
