//! Builds the tool calls of a completion, whose pieces arrive in any number of chunks.
//!
//! A piece belongs to the call with its index, or to the last call if it has none. A piece with a name and
//! another ID begins a new call even so: some servers give every call the index 0.

use serde_json::Value;

use super::wire;
use crate::model::ToolCall;
use crate::model::endpoint::ReplyError;

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Partial>,
    bytes: usize,
}

#[derive(Debug)]
struct Partial {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Value,
}

impl Calls {
    pub(super) fn add(&mut self, piece: wire::Call) {
        let wire::Call { index, id, function: wire::Function { name, arguments }, extra_content } = piece;
        let arguments = match arguments {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        // Each call counts for something, so that even a flood of empty ones is bounded.
        let extra_bytes = if extra_content.is_null() { 0 } else { extra_content.to_string().len() };
        self.bytes += id.len() + name.len() + arguments.len() + extra_bytes + 1;
        match self.continued_by(index, &id, &name) {
            Some(call) => {
                call.arguments.push_str(&arguments);
                for (known, new) in [(&mut call.id, id), (&mut call.name, name)] {
                    if known.is_empty() {
                        *known = new;
                    }
                }
                if !extra_content.is_null() {
                    call.extra = extra_content;
                }
            }
            None => self.calls.push(Partial { index, id, name, arguments, extra: extra_content }),
        }
    }

    /// About how much memory they use.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The calls, once no piece is missing, and what a server added to each; null for nothing.
    pub(super) fn finish(self) -> Result<(Vec<ToolCall>, Vec<Value>), ReplyError> {
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        let mut extras = Vec::with_capacity(self.calls.len());
        for Partial { id, name, arguments, extra, .. } in self.calls {
            if name.trim_matches(['.', ' ']).is_empty() {
                return Err(ReplyError::invalid(format!("a tool call has no usable name: {name:?}")));
            }
            // The ID alone says which call a result belongs to.
            let is_taken = id.is_empty() || calls.iter().any(|call| call.id == id);
            let id = if is_taken { format!("call_{}", calls.len()) } else { id };
            // Several servers send this when there are no arguments.
            let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
            calls.push(ToolCall { id, name, arguments });
            extras.push(extra);
        }
        Ok((calls, extras))
    }

    /// The call that a piece continues; none when it begins one.
    fn continued_by(&mut self, index: Option<u64>, id: &str, name: &str) -> Option<&mut Partial> {
        let call = match index {
            Some(_) => self.calls.iter_mut().rfind(|call| call.index == index),
            None => self.calls.last_mut(),
        }?;
        let has_other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let has_no_place = index.is_none() && id.is_empty() && !call.name.is_empty();
        let begins = !name.is_empty() && (has_other_id || has_no_place);
        (!begins).then_some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn piece(index: u64, id: &str, name: &str, arguments: &str) -> wire::Call {
        let function = json!({"name": name, "arguments": arguments});
        serde_json::from_value(json!({"index": index, "id": id, "function": function})).unwrap()
    }

    proptest! {
        #[test]
        fn each_call_gets_its_own_pieces_in_any_order(
            pieces in prop::collection::vec((0_u64..2, "[{}:\"a-zé]{0,4}"), 0..20),
        ) {
            let mut calls = Calls::default();
            let mut expected = [String::new(), String::new()];
            for (index, name) in [(0, "ls"), (1, "read")] {
                calls.add(piece(index, &format!("id_{index}"), name, ""));
            }
            for (index, text) in &pieces {
                calls.add(piece(*index, "", "", text));
                expected[usize::from(*index == 1)].push_str(text);
            }
            let expected = expected.map(|text| if text.is_empty() { "{}".to_owned() } else { text });
            let whole = calls.finish().unwrap().0.into_iter().map(|call| call.arguments).collect::<Vec<_>>();
            prop_assert_eq!(whole, expected);
        }
    }
}
