//! `skill`: the instructions for a kind of task.

use std::sync::Arc;

use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::{Call, Outcome, Slot, Success, Tool};

use crate::skills::Skills;
use crate::tool_context::ToolContext;

/// Reads a skill: instructions for a kind of task, written by whoever runs this machine.
///
/// Use it before you begin a task that one of the skills is for, and then follow it. A skill can name the
/// tools that it allows; once you have read it, this task can call only those.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillArguments {
    /// The skill's name.
    name: String,
}

/// What the skill says of itself.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SkillData {
    /// Its name.
    name: String,
    /// When to use it.
    description: String,
    /// The tools that the task may call from now on; absent when it narrows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_tools: Option<Vec<String>>,
}

/// The tool.
pub(crate) struct SkillTool {
    skills: Arc<Skills>,
}

impl SkillTool {
    /// Takes what the tool needs from the context.
    pub(crate) fn new(context: &ToolContext) -> Self {
        Self { skills: Arc::clone(&context.skills) }
    }
}

impl Tool for SkillTool {
    type Arguments = SkillArguments;
    type Data = SkillData;
    const NAME: &'static str = "skill";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations { instructions: true, ..Annotations::READS };
    const SLOT: Slot = Slot::File;

    fn example() -> Value {
        json!({"name": "example"})
    }

    fn more_description(&self) -> Option<String> {
        let skills = self.skills.list();
        if skills.is_empty() {
            return Some("There are no skills here.".to_owned());
        }
        let lines: Vec<String> =
            skills.iter().map(|skill| format!("- {}: {}", skill.name, skill.description)).collect();
        Some(format!("The skills:\n{}", lines.join("\n")))
    }

    fn run(&self, arguments: SkillArguments, _: &Call) -> Outcome<SkillData> {
        let skill = self.skills.read(&arguments.name)?;
        let notice = skill.allowed_tools.as_ref().map(|tools| {
            format!(
                "From now on this task can call only: {}.",
                if tools.is_empty() { "nothing".to_owned() } else { tools.join(", ") }
            )
        });
        Ok(Success {
            stdout: skill.text,
            notices: notice.into_iter().collect(),
            allowed_tools: skill.allowed_tools.clone(),
            data: SkillData {
                name: skill.name,
                description: skill.description,
                allowed_tools: skill.allowed_tools,
            },
            ..Success::default()
        })
    }
}
