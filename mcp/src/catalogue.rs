//! The tools as `tools/list` shows them, made from the runner's catalogue when a client first asks.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use protocol::{SessionId, ToolSpec};
use rmcp::model::{JsonObject, ListToolsResult, Tool, ToolAnnotations};
use serde_json::Value;
use toolkit::{Grant, Runner, schema};

/// The tools of every session: a channel that has tools of its own has a list of its own. They never change.
pub(crate) struct Catalogue {
    runner: Arc<Runner>,
    elsewhere: OnceLock<ListToolsResult>,
    channels: Vec<(&'static str, OnceLock<ListToolsResult>)>,
}

impl Catalogue {
    pub(crate) fn new(runner: Arc<Runner>) -> Self {
        let channels = runner.channels().into_iter().map(|channel| (channel, OnceLock::new())).collect();
        Self { runner, elsewhere: OnceLock::new(), channels }
    }

    /// What a session can call with a token.
    pub(crate) fn of(&self, session: &SessionId, grant: Option<&Grant>) -> ListToolsResult {
        let own = self.channels.iter().find(|(channel, _)| Some(*channel) == session.channel());
        let (channel, list) = match own {
            Some((channel, list)) => (Some(*channel), list),
            None => (None, &self.elsewhere),
        };
        let of = |grant| {
            ListToolsResult::with_all_items(self.runner.specs(channel, grant).into_iter().map(tool).collect())
        };
        if grant.is_some() { of(grant) } else { list.get_or_init(|| of(None)).clone() }
    }
}

fn tool(spec: &ToolSpec) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(spec.annotations.read_only)
        .destructive(spec.annotations.destructive)
        .idempotent(spec.annotations.idempotent)
        .open_world(spec.annotations.open_world);
    Tool::new(Cow::Owned(spec.name.clone()), Cow::Owned(spec.description.clone()), object(&spec.input_schema))
        .with_title(title(&spec.name))
        .with_raw_output_schema(object(&schema::envelope_of(&spec.output_schema)))
        .with_annotations(annotations)
}

fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

/// `multi_edit` as `Multi edit`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
