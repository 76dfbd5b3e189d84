//! `plan_create`: the arguments, and the plan that follows from them.

use protocol::{Annotations, Plan, PlanStep, Risk, StepStatus, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolkit::arguments::{elide, invalid};
use toolkit::function::About;

use crate::model::ReplySchema;

pub(crate) const NAME: &str = "plan_create";

pub(super) const ABOUT: About = About {
    name: NAME,
    risk: Risk::Low,
    annotations: Annotations { destructive: false, ..Annotations::ACTS },
    essential: &[],
    json_texts: &[],
};

/// The prompt of another model.
pub(crate) const SYSTEM: &str = include_str!("../../prompts/plan.md");

/// What one text of a plan may have, so that the plan stays in the conversation at little cost.
const MAX_CHARS: usize = 300;
const MAX_SUMMARY_CHARS: usize = 600;

/// The most risks, and the most questions.
const MOST_NOTES: usize = 10;

/// The most steps of a plan, and how many another model is asked for.
const MOST_STEPS: usize = 20;
const DEFAULT_STEPS: usize = 6;

/// Plans a task of many steps.
///
/// # Details
///
/// A new plan replaces the task's earlier one. With `model` and without `steps`, one request to that model
/// makes the plan; an answer that does not fit is repaired once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateArguments {
    /// The task's text.
    #[schemars(length(min = 1, max = 20_000))]
    task: String,
    /// In their order.
    #[serde(default)]
    #[schemars(length(min = 1, max = 20))]
    steps: Option<Vec<String>>,
    /// The most steps that another model may plan; 6 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 20))]
    max_steps: Option<usize>,
    /// How another model is to plan, such as `cautious`.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    style: Option<String>,
    /// Another configured model, to plan instead of you.
    #[serde(default)]
    pub(crate) model: Option<String>,
}

/// A plan as a model writes it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Written {
    summary: String,
    steps: Vec<WrittenStep>,
    #[serde(default)]
    risks: Vec<String>,
    #[serde(default)]
    questions: Vec<String>,
    #[serde(default)]
    completion: String,
}

#[derive(Debug, Deserialize)]
struct WrittenStep {
    step: String,
    #[serde(default)]
    status: Option<String>,
}

impl CreateArguments {
    /// The plan of the caller's own steps, and what of them was not taken as it was written; none where
    /// another model is named to write them.
    pub(super) fn plan(&self) -> Result<Option<(Plan, Vec<String>)>, ToolError> {
        if self.task.trim().is_empty() {
            return Err(invalid("`task` is empty. Give the goal of the plan."));
        }
        match (&self.steps, &self.model) {
            (Some(steps), _) => {
                let steps = steps.iter().map(|step| WrittenStep { step: step.clone(), status: None });
                let (summary, steps) = (self.task.clone(), steps.collect());
                let written = Written { summary, steps, ..Written::default() };
                let plan = accepted(written, self.max_steps.unwrap_or(MOST_STEPS));
                plan.map(Some).map_err(|mistake| invalid(format!("The plan cannot be used: {mistake}.")))
            }
            (None, Some(_)) => Ok(None),
            (None, None) => {
                let hint = "List what you will do as `steps`, or name another model as `model`.";
                Err(invalid("`steps` is missing.").with_hint(hint))
            }
        }
    }

    /// The most steps that another model may plan.
    pub(crate) fn most(&self) -> usize {
        self.max_steps.unwrap_or(DEFAULT_STEPS)
    }

    /// What another model is asked.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("At most {} steps.\n", self.most());
        if let Some(style) = self.style.as_ref().filter(|style| !style.trim().is_empty()) {
            text.push_str(&format!("Style of the plan: {style}\n"));
        }
        text + &format!("\nThe task:\n{}", self.task)
    }
}

/// In the few words that all providers know: bounds stand in the request and are checked here.
pub(crate) fn schema() -> ReplySchema {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let step = json!({
        "type": "object",
        "properties": {
            "step": {"type": "string"},
            "status": {"type": "string", "enum": StepStatus::ALL.map(StepStatus::as_str)},
        },
        "required": ["step", "status"],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "steps": {"type": "array", "items": step},
            "risks": texts,
            "questions": texts,
            "completion": {"type": "string"},
        },
        "required": ["summary", "steps", "risks", "questions", "completion"],
        "additionalProperties": false,
    });
    ReplySchema { name: "plan", schema }
}

/// The plan, and the steps that were changed or left out; or its fault.
pub(crate) fn accepted(written: Written, most: usize) -> Result<(Plan, Vec<String>), String> {
    let mut notices = Vec::new();
    let mut steps: Vec<PlanStep> = Vec::new();
    for WrittenStep { step, status } in written.steps {
        let step = one_line(&step, MAX_CHARS);
        if step.is_empty() {
            continue;
        }
        let known = |status: &String| StepStatus::ALL.iter().any(|known| known.as_str() == status);
        if let Some(unknown) = status.filter(|status| !known(status)) {
            let number = steps.len() + 1;
            let unknown = elide(&unknown, 40);
            notices.push(format!("Step {number} came with the unknown status {unknown:?}: it is pending."));
        }
        steps.push(PlanStep { step, status: StepStatus::Pending });
    }
    if steps.len() > most {
        return Err(format!("it has {} steps, and at most {most} are allowed", steps.len()));
    }
    let Some(first) = steps.first_mut() else { return Err("it has no step".to_owned()) };
    first.status = StepStatus::InProgress;
    let notes = |notes: Vec<String>| {
        let notes = notes.iter().map(|note| one_line(note, MAX_CHARS)).filter(|note| !note.is_empty());
        notes.take(MOST_NOTES).collect()
    };
    let plan = Plan {
        summary: one_line(&written.summary, MAX_SUMMARY_CHARS),
        steps,
        risks: notes(written.risks),
        questions: notes(written.questions),
        completion: one_line(&written.completion, MAX_SUMMARY_CHARS),
    };
    if plan.summary.is_empty() {
        return Err("its summary is empty".to_owned());
    }
    Ok((plan, notices))
}

fn one_line(text: &str, max_chars: usize) -> String {
    elide(&text.split_whitespace().collect::<Vec<_>>().join(" "), max_chars)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn written(steps: &Value) -> Written {
        let plan = json!({"summary": "Do  it.", "steps": steps, "risks": ["", "fire"], "completion": "done"});
        serde_json::from_value(plan).unwrap()
    }

    #[test]
    fn the_first_step_is_in_progress_and_an_unknown_status_becomes_pending_with_a_notice() {
        let steps = json!([
            {"step": "one", "status": "completed"},
            {"step": "two\nlines", "status": "blocked"},
            {"step": " "},
            {"step": "three"},
        ]);
        let (plan, notices) = accepted(written(&steps), 3).unwrap();
        let steps: Vec<_> = plan.steps.iter().map(|step| (step.step.as_str(), step.status)).collect();
        use StepStatus::{InProgress, Pending};
        assert_eq!(steps, [("one", InProgress), ("two lines", Pending), ("three", Pending)]);
        assert_eq!(notices, ["Step 2 came with the unknown status \"blocked\": it is pending."]);
        assert_eq!((plan.summary.as_str(), plan.risks), ("Do it.", vec!["fire".to_owned()]));
    }

    #[test]
    fn a_schema_for_the_model_has_only_what_all_providers_know() {
        fn check(schema: &Value) {
            let known = ["type", "properties", "required", "additionalProperties", "items", "enum"];
            let object = schema.as_object().unwrap();
            assert!(object.keys().all(|keyword| known.contains(&keyword.as_str())), "{schema}");
            if let Some(properties) = schema["properties"].as_object() {
                let required: Vec<&str> =
                    schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                assert!(properties.keys().all(|name| required.contains(&name.as_str())), "{schema}");
                assert_eq!(schema["additionalProperties"], false);
                properties.values().for_each(check);
            }
            schema.get("items").into_iter().for_each(check);
        }
        check(&schema().schema);
    }
}
