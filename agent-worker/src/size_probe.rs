//! Asks a model's server how large the model is, when a task begins: the server may have started after the
//! worker. An answer is kept, whether it says a size or not; without one the next task asks again.

use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::check::{MAX_LIST_BYTES, Probe};
use crate::http;
use crate::model_size;

/// A server that works on another request may be late, and the task begins without its answer.
const TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct SizeProbe {
    probe: Probe,
    model: String,
    /// The billions of parameters; none if the server does not say them.
    billions: OnceCell<Option<f64>>,
}

impl SizeProbe {
    /// A question for the list of models of a server that calls the model by this name.
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
        let billions = model_size::of_list(&list.body, &self.model).filter(|_| list.status.is_success());
        tracing::info!(model = self.model, ?billions, "the size of the model, as its server says");
        Ok(billions)
    }
}

/// The server did not answer in time.
struct NoAnswer;
