//! The tools of a small model: six with one purpose each, so that none is taken for another.
//!
//! A small model fills in every argument that it is shown, whether it needs it or not, and it writes them in
//! the order of the schema. So it sees only those that it needs, all required, each name after what decides
//! it: the file comes before its content. Calls of the other tools, or with other arguments, still work.

use protocol::ToolSpec;
use serde_json::{Map, Value, json};

/// A tool as a small model sees it.
struct SmallTool {
    name: &'static str,
    description: &'static str,
    /// In the order in which the model writes them.
    arguments: &'static [&'static str],
}

/// In the order of their usual use.
const TOOLS: [SmallTool; 6] = [
    SmallTool { name: "ls", description: "Lists the files in a directory.", arguments: &["path"] },
    SmallTool {
        name: "read",
        description: "Shows what a file says, and how many lines it has.",
        arguments: &["path"],
    },
    SmallTool {
        name: "grep",
        description: "Finds out which files have a word or regular expression in them, and in which lines.",
        arguments: &["pattern", "path"],
    },
    SmallTool {
        name: "write",
        description: "Writes a file. Mode overwrite replaces all of it, append adds at its end.",
        arguments: &["path", "mode", "content"],
    },
    SmallTool {
        name: "edit",
        description: "Changes text in a file that you have read: replaces the exact text `find`.",
        arguments: &["path", "find", "replace"],
    },
    SmallTool {
        name: "bash",
        description: "Runs a shell command that no other tool replaces, such as mv or echo $((6 * 7)).",
        arguments: &["cmd"],
    },
];

/// Those of the catalogue, without checks in their schemas, that a small model is shown.
pub(crate) fn of(catalogue: &[ToolSpec]) -> Vec<ToolSpec> {
    let find = |name| catalogue.iter().find(|spec| spec.name == name);
    TOOLS.iter().filter_map(|tool| Some(tool.of(find(tool.name)?))).collect()
}

impl SmallTool {
    fn of(&self, spec: &ToolSpec) -> ToolSpec {
        let known = &spec.input_schema["properties"];
        let shown: Vec<&str> =
            self.arguments.iter().copied().filter(|name| known.get(name).is_some()).collect();
        let properties: Map<String, Value> =
            shown.iter().map(|name| ((*name).to_owned(), known[name].clone())).collect();
        let input_schema = json!({"type": "object", "properties": properties, "required": shown});
        ToolSpec { description: self.description.to_owned(), input_schema, ..spec.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_tool;

    #[test]
    fn only_known_tools_and_arguments_are_shown_and_all_of_them_are_required() {
        let schema = json!({
            "type": "object",
            "properties": {"content": {"type": "string"}, "dry_run": {}, "path": {"type": "string"}},
            "required": ["path", "content"],
        });
        let catalogue = [test_tool("find", "Finds.", json!({})), test_tool("write", "Writes.", schema)];
        let [write] = &of(&catalogue)[..] else { panic!("one tool is shown") };
        assert_eq!(write.name, "write");
        assert!(write.description.starts_with("Writes a file."), "{}", write.description);
        let expected = json!({
            "type": "object",
            "properties": {"content": {"type": "string"}, "path": {"type": "string"}},
            "required": ["path", "content"],
        });
        assert_eq!(write.input_schema, expected);
    }
}
