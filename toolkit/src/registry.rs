//! The registry: the tools of a process, by name, ready to be called with JSON.
//!
//! Schemas and validators are built once, at startup. A process does not start when two tools share a name or
//! when a tool has no description.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use protocol::question::Question;
use protocol::{Data, ErrorCode, ToolError, ToolSpec};
use serde_json::Value;

use crate::arguments::{parse_object, typed};
use crate::function::{About, Function, FunctionError};
use crate::outcome::{Failure, Outcome, Success};
use crate::policy::{Below, Caller, Policy, Subject, Touches, Verdict};
use crate::tool::{Call, NamedFiles, Tool};
use crate::{Scope, Slot};

/// Why a list of tools cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Two tools have one name.
    #[error("two tools have the name `{0}`")]
    DuplicateName(&'static str),
    /// A tool cannot be described.
    #[error(transparent)]
    Function(#[from] FunctionError),
}

/// A tool with its types erased.
pub(crate) trait AnyTool: Send + Sync {
    fn spec(&self) -> &ToolSpec;
    fn slot(&self) -> Slot;
    fn is_quick(&self) -> bool;
    fn streams(&self) -> bool;
    fn is_bound_by_skill(&self) -> bool;
    fn is_offered(&self) -> bool;
    fn channels(&self) -> &'static [&'static str];

    /// Whether the tool works in the chats of a channel, or elsewhere.
    fn works_in(&self, channel: Option<&str>) -> bool {
        self.channels().is_empty() || self.channels().iter().any(|one| Some(*one) == channel)
    }

    fn example(&self) -> Value;
    fn meant_by(&self, name: &str) -> Option<String>;
    fn timeout(&self, arguments: &Value) -> Option<Duration>;
    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches;
    fn depends_on(&self, arguments: &Value) -> Option<String>;
    fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError>;
    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, Failure>;
    fn question(&self, arguments: &Value) -> Option<Question>;
    fn normalize(&self, arguments: &mut Value);
    fn validate(&self, arguments: &Value) -> Result<(), ToolError>;
    fn complete(&self, arguments: &mut Value, scope: &Scope);
    fn run(&self, arguments: Value, call: &Call) -> Outcome<Data>;

    /// What the rules say about a call with these arguments.
    fn verdict(&self, policy: &Policy, arguments: &Value, scope: &Scope, caller: Caller) -> Verdict {
        let spec = self.spec();
        let touches = || self.touches(arguments, scope);
        let about = (spec.name.as_str(), spec.risk, spec.annotations);
        policy.decide(&Subject::new(about, arguments, scope, caller, &touches))
    }

    /// What the rules keep a call with these arguments from below the paths that it names.
    fn below(&self, policy: &Policy, arguments: &Value, scope: &Scope, caller: Caller) -> Option<Below> {
        let spec = self.spec();
        if !policy.looks_at_touches(&spec.name) {
            return None;
        }
        let touches = || self.touches(arguments, scope);
        let about = (spec.name.as_str(), spec.risk, spec.annotations);
        policy.below(&Subject::new(about, arguments, scope, caller, &touches))
    }
}

struct Registered<T: Tool> {
    tool: T,
    function: Function<T::Arguments>,
}

impl<T: Tool> Registered<T> {
    fn new(tool: T) -> Result<Self, RegistryError> {
        let about = About {
            name: T::NAME,
            risk: T::RISK,
            annotations: T::ANNOTATIONS,
            essential: T::ESSENTIAL,
            json_texts: T::JSON_TEXTS,
        };
        let function = Function::new::<T::Data>(about, tool.more_description().as_deref())?;
        Ok(Self { tool, function })
    }
}

impl<T: Tool> AnyTool for Registered<T> {
    fn spec(&self) -> &ToolSpec {
        self.function.spec()
    }

    fn slot(&self) -> Slot {
        T::SLOT
    }

    fn is_quick(&self) -> bool {
        T::QUICK
    }

    fn streams(&self) -> bool {
        T::STREAMS
    }

    fn is_bound_by_skill(&self) -> bool {
        T::BOUND_BY_SKILL
    }

    fn is_offered(&self) -> bool {
        self.tool.is_offered()
    }

    fn channels(&self) -> &'static [&'static str] {
        T::CHANNELS
    }

    fn example(&self) -> Value {
        self.tool.example()
    }

    fn meant_by(&self, name: &str) -> Option<String> {
        self.tool.meant_by(name)
    }

    fn timeout(&self, arguments: &Value) -> Option<Duration> {
        self.tool.timeout(arguments)
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        self.tool.touches(arguments, scope)
    }

    fn depends_on(&self, arguments: &Value) -> Option<String> {
        self.tool.depends_on(arguments)
    }

    fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError> {
        self.tool.named_files(arguments, scope)
    }

    /// Of a tool that can be tried out, what the trial shows.
    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, Failure> {
        if self.spec().input_schema["properties"].get("dry_run").is_none() {
            return Ok(self.tool.preview(arguments, call)?);
        }
        let mut trial = arguments.clone();
        trial["dry_run"] = Value::Bool(true);
        self.run(trial, call).map(|success| success.stdout)
    }

    fn question(&self, arguments: &Value) -> Option<Question> {
        self.tool.question(arguments)
    }

    /// Arguments as the schema has them.
    fn normalize(&self, arguments: &mut Value) {
        self.function.normalize(arguments);
    }

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        self.function.validate(arguments).map_err(|error| match self.tool.misfit(arguments) {
            Some(message) => ToolError { message, ..error },
            None => error,
        })
    }

    fn complete(&self, arguments: &mut Value, scope: &Scope) {
        self.tool.complete(arguments, scope);
    }

    fn run(&self, arguments: Value, call: &Call) -> Outcome<Data> {
        let outcome = self.tool.run(typed(arguments)?, call).map(Success::erase);
        if !T::SHOWS_OUTSIDE {
            return outcome;
        }
        outcome.map(|success| Success { untrusted: true, ..success }).map_err(Failure::marked_as_outside)
    }
}

/// The tools of a process, by name.
#[derive(Default)]
pub struct Registry {
    tools: BTreeMap<&'static str, Arc<dyn AnyTool>>,
    /// What runs like a tool and has a route of its own, because its content is no JSON.
    transfers: BTreeMap<&'static str, Arc<dyn AnyTool>>,
    /// The names in the order in which the tools were added.
    order: Vec<&'static str>,
}

impl Registry {
    /// An empty registry; add tools with [`Registry::with`].
    pub fn new() -> Self {
        Self::default()
    }

    /// The registry with one more tool.
    pub fn with<T: Tool>(mut self, tool: T) -> Result<Self, RegistryError> {
        if self.tools.insert(T::NAME, Arc::new(Registered::new(tool)?)).is_some() {
            return Err(RegistryError::DuplicateName(T::NAME));
        }
        self.order.push(T::NAME);
        Ok(self)
    }

    /// The registry with a transfer: it runs like any tool, past the same guards and into the same journal,
    /// but is in no catalogue and is called only with an [`Attachment`](crate::Attachment).
    pub fn with_transfer<T: Tool>(mut self, tool: T) -> Result<Self, RegistryError> {
        if self.transfers.insert(T::NAME, Arc::new(Registered::new(tool)?)).is_some() {
            return Err(RegistryError::DuplicateName(T::NAME));
        }
        Ok(self)
    }

    /// The catalogue, sorted by name.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|tool| tool.spec())
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.keys().copied()
    }

    /// The names of the transfers, sorted.
    pub fn transfer_names(&self) -> impl Iterator<Item = &'static str> {
        self.transfers.keys().copied()
    }

    /// Whether the tool can work here.
    pub fn is_offered(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|tool| tool.is_offered())
    }

    /// The channels that have tools of their own.
    pub fn channels(&self) -> BTreeSet<&'static str> {
        self.tools.values().flat_map(|tool| tool.channels()).copied().collect()
    }

    /// Whether the tool works in the chats of a channel, or elsewhere.
    pub fn works_in(&self, name: &str, channel: Option<&str>) -> bool {
        self.tools.get(name).is_none_or(|tool| tool.works_in(channel))
    }

    /// What the rules say about a call without making it.
    ///
    /// # Errors
    /// `UNKNOWN_TOOL` and `INVALID_ARGUMENT`, as for a call.
    pub fn verdict(
        &self,
        policy: &Policy,
        (tool, body): (&str, &[u8]),
        scope: &Scope,
        caller: Caller,
    ) -> Result<Verdict, ToolError> {
        let found = self.tools.get(tool).or_else(|| self.transfers.get(tool)).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            ToolError::new(ErrorCode::UnknownTool, format!("No such tool: `{tool}`."))
                .with_hint(format!("The tools are: {}.", names.join(", ")))
        })?;
        let mut arguments = parse_object(body).map(Value::Object)?;
        found.normalize(&mut arguments);
        found.validate(&arguments)?;
        found.complete(&mut arguments, scope);
        Ok(found.verdict(policy, &arguments, scope, caller))
    }

    /// The tools in the order in which they were added.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &Arc<dyn AnyTool>> {
        self.order.iter().filter_map(|name| self.tools.get(name))
    }

    /// What a tool that is not disabled says to a caller who used a name that no tool has.
    pub(crate) fn meant_by(&self, name: &str, disabled: &BTreeSet<String>) -> Option<String> {
        let mut tools = self.tools.values().filter(|tool| !disabled.contains(&tool.spec().name));
        tools.find_map(|tool| tool.meant_by(name))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.tools.get(name)
    }

    pub(crate) fn transfer(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.transfers.get(name)
    }
}
