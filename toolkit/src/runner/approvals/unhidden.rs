//! What a question hides of a call, for the approver who asks to see it.
//!
//! It stays in memory while the request waits: no file, journal, event or log has it.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// A call with nothing hidden; none if nothing was, or if it is not known any more.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Unhidden(Option<Arc<Whole>>);

#[derive(PartialEq)]
struct Whole {
    arguments: Map<String, Value>,
    preview: String,
}

impl Unhidden {
    pub(crate) fn new(arguments: Map<String, Value>, preview: String) -> Self {
        Self(Some(Arc::new(Whole { arguments, preview })))
    }

    pub(super) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// The arguments and the preview.
    pub(super) fn parts(&self) -> Option<(Map<String, Value>, String)> {
        self.0.as_ref().map(|whole| (whole.arguments.clone(), whole.preview.clone()))
    }
}

impl fmt::Debug for Unhidden {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Unhidden")
    }
}
