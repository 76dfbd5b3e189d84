//! The story that docs/approvals.md tells with curl alone.

use std::fs;
use std::process::Command;

use harness::ToolServer;
use harness::project_copy::workspace;
use harness::tool_server::APPROVER;

use super::{CALLER, recorded};

/// The lines of the document's console blocks, as somebody types them.
fn documented() -> Vec<String> {
    let text = fs::read_to_string(workspace().join("docs/approvals.md")).unwrap();
    let story = text.split("## By curl alone").nth(1).expect("the document has the story");
    let blocks = story.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

#[test]
fn the_commands_of_the_document_tell_the_whole_story() {
    let server = ToolServer::builder().token(CALLER).approver().start();
    fs::write(server.root().join("old.txt"), "old\n").unwrap();
    let lines = documented();
    assert!(lines.len() >= 7, "{lines:?}");
    let script: String = lines.iter().map(|line| format!("{line}\necho; echo [end]\n")).collect();
    let script = script.replace("http://127.0.0.1:8701", &format!("http://{}", server.address()));
    let mut shell = Command::new("sh");
    let output =
        shell.args(["-ec", &script]).env("CALLER", CALLER).env("APPROVER", APPROVER).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said: Vec<&str> = text.split("[end]\n").map(str::trim).collect();
    let expected = [
        "", "old", "APPROVAL_REQUIRED", "\"state\":\"pending\"", "", "\"state\":\"granted\"", "\"ok\":true",
        "",
    ];
    assert_eq!(said.len(), expected.len(), "{text}");
    for ((said, expected), line) in said.iter().zip(expected).zip(&lines) {
        assert!(said.contains(expected), "{line}\n{said}");
    }
    assert!(!server.root().join("old.txt").exists());
    assert_eq!(recorded(&server), ["requested", "granted", "used"]);
}
