//! `skill`: the instructions for a kind of task.

use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Scope, Slot, Success, Tool, names_no_files};

use crate::tool_context::ToolContext;

/// Reads a skill: the operator's instructions for a kind of task.
///
/// Once you have read it, you can call only the tools that it allows.
///
/// # Details
///
/// A skill is a directory that the operator of this machine has written. A skill that names no tools allows
/// all.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillArguments {
    /// The skill's name.
    name: String,
}

/// The skill's front matter.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SkillData {
    /// Its name.
    name: String,
    /// When to use it.
    description: String,
    /// The tools that the task may call from now on; absent when the skill allows all.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_tools: Option<Vec<String>>,
}

pub(crate) struct SkillTool(pub(super) ToolContext);

impl Tool for SkillTool {
    type Arguments = SkillArguments;
    type Data = SkillData;
    const NAME: &'static str = "skill";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations { instructions: true, ..Annotations::READS };
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({"name": "example"})
    }

    fn is_offered(&self) -> bool {
        !self.0.skills.list().is_empty()
    }

    fn more_description(&self) -> Option<String> {
        let skills = self.0.skills.list();
        if skills.is_empty() {
            return Some("There are no skills.".to_owned());
        }
        let lines: Vec<String> =
            skills.iter().map(|skill| format!("- {}: {}", skill.name, skill.description)).collect();
        Some(format!("The skills:\n{}", lines.join("\n")))
    }

    fn touches(&self, arguments: &Value, _: &Scope) -> Touches {
        let name = arguments["name"].as_str().unwrap_or_default();
        Touches { paths: self.0.skills.touched(name, "SKILL.md"), ..Touches::nothing() }
    }

    names_no_files!();

    fn run(&self, arguments: SkillArguments, _: &Call) -> Outcome<SkillData> {
        let skill = self.0.skills.read(&arguments.name)?;
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
