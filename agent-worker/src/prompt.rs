//! What stands before every conversation: the system prompt, and the tools as the model is shown them.
//!
//! The prompt is a file for people to edit, with a few facts of the task filled in: `prompts/system.md`, for
//! a small window `prompts/compact.md`, for a small model `prompts/small.md`, unless the task brings another.
//!
//! The tools are shorter than in the catalogue, because every turn pays for them. What only checks arguments
//! is left out, since the tool server checks them anyway and its errors say what is expected, and so is what
//! the names of less usual arguments say already. A model with a small window gets only the first paragraph
//! of each description and the essential arguments, and a small model its own few tools
//! ([`crate::small_tools`]). Calls with the others still work.

use protocol::{Task, ToolSpec};
use serde_json::Value;
pub(crate) use settings::choices::PromptForm;

use crate::small_tools;

const FULL: &str = include_str!("../prompts/system.md");
const COMPACT: &str = include_str!("../prompts/compact.md");
const SMALL: &str = include_str!("../prompts/small.md");

/// Below this window, in tokens, a model gets the compact form by default.
const SMALL_WINDOW: usize = 32_000;

/// Below this window a model gets the form for small models, unless its size is known to be larger: only
/// small models come with so little room.
const TINY_WINDOW: usize = 16_000;

/// Below this number of parameters, in billions, a model is small.
const SMALL_MODEL: f64 = 4.0;

/// The default for a model with this window and this many billions of parameters, as far as they are known.
pub(crate) fn default_form(window: usize, billions: Option<f64>) -> PromptForm {
    match billions {
        Some(billions) if billions < SMALL_MODEL => PromptForm::Small,
        None if window < TINY_WINDOW => PromptForm::Small,
        Some(_) | None if window < SMALL_WINDOW => PromptForm::Compact,
        Some(_) | None => PromptForm::Full,
    }
}

/// That of a small model names no directory: it was seen to take the end of the path for one below its own.
fn template(form: PromptForm) -> &'static str {
    match form {
        PromptForm::Full => FULL,
        PromptForm::Compact => COMPACT,
        PromptForm::Small => SMALL,
    }
}

pub(crate) fn system(task: &Task, form: PromptForm) -> String {
    fill(task.system_prompt.as_deref().unwrap_or(template(form)), &task.date, &task.roots)
}

fn fill(template: &str, date: &str, roots: &[String]) -> String {
    let date = if date.is_empty() { "unknown" } else { date };
    let roots = if roots.is_empty() {
        "those that the tools accept; begin with the path `.`".to_owned()
    } else {
        roots.join(", ")
    };
    template.replace("{{date}}", date).replace("{{roots}}", &roots)
}

/// Keywords that bound a value or describe an absent one.
const CHECKS: [&str; 12] = [
    "$schema", "additionalProperties", "default", "exclusiveMaximum", "exclusiveMinimum", "maxItems",
    "maxLength", "maximum", "minItems", "minLength", "minimum", "pattern",
];

/// Arguments that no model needs with every request: the session's own lock holds for it, and how a plan is
/// made has good defaults.
const SELDOM: [&str; 13] = [
    "env", "eof", "expected_sha256", "keep_state", "max_steps", "model", "running", "signal", "stdin",
    "style", "tail_lines", "tty", "yield_after_seconds",
];

/// Arguments that the prompt explains for all tools, or whose tool says what they are.
const SELF_EXPLANATORY: [&str; 8] = ["action", "args", "name", "path", "pattern", "skill", "steps", "task"];

/// Tools that a model with a small window is not offered: their arguments cost more than they earn.
const NOT_IN_COMPACT: [&str; 6] =
    ["ask_user", "process_kill", "process_list", "process_read", "process_write", "todo_update"];

/// The tool without which background processes are of no use.
const READS_PROCESSES: &str = "process_read";

/// The catalogue in this form.
pub(crate) fn shown(tools: &[ToolSpec], form: PromptForm) -> Vec<ToolSpec> {
    let mut shown: Vec<ToolSpec> = tools.iter().map(|tool| shown_tool(tool, form)).collect();
    if !tools.iter().any(|tool| tool.name == READS_PROCESSES) {
        shown.iter_mut().for_each(without_background);
    }
    match form {
        PromptForm::Full => shown,
        PromptForm::Compact => {
            shown.into_iter().filter(|tool| !NOT_IN_COMPACT.contains(&tool.name.as_str())).collect()
        }
        PromptForm::Small => small_tools::of(&shown),
    }
}

/// Without the argument that starts what no tool could read.
fn without_background(tool: &mut ToolSpec) {
    if let Some(properties) = tool.input_schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove("background");
    }
}

fn shown_tool(tool: &ToolSpec, form: PromptForm) -> ToolSpec {
    let mut shown = tool.clone();
    without_checks(&mut shown.input_schema);
    let is_essential = essential_arguments(tool);
    let properties = shown.input_schema.get_mut("properties").and_then(Value::as_object_mut);
    match form {
        PromptForm::Full => {
            let Some(properties) = properties else { return shown };
            properties.retain(|name, _| !SELDOM.contains(&name.as_str()));
            for (name, argument) in properties {
                for_each_part(argument, without_descriptions);
                if SELF_EXPLANATORY.contains(&name.as_str()) || !is_essential(name) {
                    remove(argument, "description");
                }
            }
        }
        PromptForm::Compact => {
            shown.description = tool.description.split("\n\n").next().unwrap_or_default().to_owned();
            if let Some(properties) = properties {
                properties.retain(|name, _| is_essential(name));
                properties.values_mut().for_each(without_descriptions);
            }
        }
        PromptForm::Small => {
            properties.into_iter().flatten().for_each(|(_, part)| without_descriptions(part))
        }
    }
    shown
}

/// Whether an argument is required or its tool calls it essential.
fn essential_arguments(tool: &ToolSpec) -> impl Fn(&str) -> bool {
    let required = tool.input_schema["required"].as_array().into_iter().flatten();
    let required = required.filter_map(Value::as_str).map(str::to_owned);
    let names: Vec<String> = required.chain(tool.essential.iter().cloned()).collect();
    move |name| names.iter().any(|essential| essential == name)
}

fn without_checks(schema: &mut Value) {
    if let Value::Object(keywords) = schema {
        keywords.retain(|keyword, _| !CHECKS.contains(&keyword.as_str()));
    }
    for_each_part(schema, without_checks);
}

fn without_descriptions(schema: &mut Value) {
    remove(schema, "description");
    for_each_part(schema, without_descriptions);
}

fn remove(schema: &mut Value, keyword: &str) {
    if let Value::Object(keywords) = schema {
        keywords.remove(keyword);
    }
}

/// Applies a change to each schema inside a schema. The names of properties are no keywords.
fn for_each_part(schema: &mut Value, change: fn(&mut Value)) {
    let Value::Object(keywords) = schema else { return };
    for (keyword, part) in keywords {
        match (keyword.as_str(), part) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(change),
            ("items", item) => change(item),
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => branches.iter_mut().for_each(change),
            (_, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_tool;
    use serde_json::json;

    #[test]
    fn every_placeholder_is_filled() {
        for (_, form) in <PromptForm as settings::choices::Words>::WORDS.iter().copied() {
            let filled = fill(template(form), "2026-01-31", &["/w/a".to_owned(), "/w/b".to_owned()]);
            assert!(!filled.contains("{{") && !filled.contains("}}"), "{filled}");
            assert!(filled.contains("Today is 2026-01-31 (UTC)."));
            assert_eq!(filled.contains(": /w/a, /w/b\n"), form != PromptForm::Small, "{filled}");
        }
    }

    #[test]
    fn missing_facts_are_not_invented() {
        let filled = fill("{{date}}|{{roots}}", "", &[]);
        assert_eq!(filled, "unknown|those that the tools accept; begin with the path `.`");
    }

    #[test]
    fn the_size_decides_before_the_window() {
        for (window, billions, expected) in [
            (15_999, None, PromptForm::Small),
            (16_000, None, PromptForm::Compact),
            (31_999, None, PromptForm::Compact),
            (32_000, None, PromptForm::Full),
            (200_000, Some(1.5), PromptForm::Small),
            (8_000, Some(4.0), PromptForm::Compact),
            (40_000, Some(4.0), PromptForm::Full),
        ] {
            assert_eq!(default_form(window, billions), expected, "{window} {billions:?}");
        }
    }

    fn tool() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file.", "maxLength": 9},
                "expected_sha256": {"type": "string"},
                "default": {"type": "boolean", "description": "A name, no keyword.", "default": false},
                "limit": {"type": "integer", "description": "How many.", "minimum": 1},
                "edits": {"type": "array", "minItems": 1, "items": {
                    "type": "object", "required": ["all"], "additionalProperties": false,
                    "properties": {"all": {"type": "boolean", "default": false, "description": "All."}},
                }},
                "cursor": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let essential = vec!["default".to_owned()];
        ToolSpec { essential, ..test_tool("edit", "Edits.\n- more\n\nUse it.", schema) }
    }

    #[test]
    fn what_only_checks_or_repeats_a_name_is_left_out() {
        let [shown] = &shown(&[tool()], PromptForm::Full)[..] else { panic!("one tool is shown") };
        assert_eq!(shown.description, "Edits.\n- more\n\nUse it.");
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "default": {"type": "boolean", "description": "A name, no keyword."},
                "limit": {"type": "integer"},
                "edits": {"type": "array", "items": {
                    "type": "object", "properties": {"all": {"type": "boolean"}}, "required": ["all"],
                }},
                "cursor": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["path"],
        });
        assert_eq!(shown.input_schema, expected);
    }

    #[test]
    fn a_small_model_gets_the_first_paragraph_and_the_essential_arguments() {
        let [shown] = &shown(&[tool()], PromptForm::Compact)[..] else { panic!("one tool is shown") };
        assert_eq!(shown.description, "Edits.\n- more");
        let expected = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "default": {"type": "boolean"}},
            "required": ["path"],
        });
        assert_eq!(shown.input_schema, expected);
    }
}
