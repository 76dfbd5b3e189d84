//! What keeps an output that the record of its call has no room for.

use std::io;

use super::CallIds;

/// Keeps outputs, each in a file of its own.
pub trait OutputKeeper: Send + Sync + 'static {
    /// The name of the file for the output of a call.
    fn name_of(&self, ids: &CallIds) -> String;

    /// Keeps this output of a call under that name. What is there already stays as it is.
    fn keep(&self, ids: &CallIds, output: &str) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use protocol::journal::{CallEnded, CallReplayed, CallStarted, OUTPUT_TEXT_BYTES};
    use protocol::{Annotations, ErrorCode, FullOutput, Risk, TaskId, ToolError};
    use redaction::Redactor;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::Touches;
    use crate::runner::{Recorder, Request, Runner, RunnerSettings};
    use crate::{Call, Failure, NamedFiles, Outcome, Registry, Scope, Slot, Success, Tool};

    /// No arguments.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    #[derive(Debug, Clone, Default, Serialize, JsonSchema)]
    struct PrintedData {
        process_id: Option<String>,
    }

    /// Ends like this.
    struct Printing(Outcome<PrintedData>);

    impl Tool for Printing {
        type Arguments = Nothing;
        type Data = PrintedData;
        const NAME: &'static str = "printing";
        const RISK: Risk = Risk::Low;
        const ANNOTATIONS: Annotations = Annotations::READS;
        const SLOT: Slot = Slot::File;

        fn example(&self) -> Value {
            json!({})
        }

        fn touches(&self, _: &Value, _: &Scope) -> Touches {
            Touches::nothing()
        }

        fn named_files(&self, _: &Value, _: &Scope) -> Result<NamedFiles, ToolError> {
            Ok(NamedFiles::new())
        }

        fn run(&self, _: Nothing, _: &Call) -> Outcome<PrintedData> {
            self.0.clone()
        }
    }

    /// What was recorded and kept.
    #[derive(Default)]
    struct Kept {
        named: Mutex<Option<String>>,
        output: Mutex<Option<String>>,
    }

    impl Recorder for Kept {
        fn started(&self, _: &CallIds, _: CallStarted) -> io::Result<()> {
            Ok(())
        }

        fn replayed(&self, _: &CallIds, _: CallReplayed) -> io::Result<()> {
            Ok(())
        }

        fn ended(&self, _: &CallIds, body: CallEnded) {
            *self.named.lock().unwrap() = body.output_file;
        }
    }

    impl OutputKeeper for Kept {
        fn name_of(&self, _: &CallIds) -> String {
            "own.txt".to_owned()
        }

        fn keep(&self, _: &CallIds, output: &str) -> io::Result<()> {
            *self.output.lock().unwrap() = Some(output.to_owned());
            Ok(())
        }
    }

    /// The file that the record names, and what was kept in it.
    async fn after(outcome: Outcome<PrintedData>) -> (Option<String>, Option<String>) {
        after_call(outcome, Request::new("printing", "{}")).await
    }

    async fn after_call_of_task(outcome: Outcome<PrintedData>) -> (Option<String>, Option<String>) {
        after_call(outcome, Request { task: Some(TaskId::new()), ..Request::new("printing", "{}") }).await
    }

    async fn after_call(outcome: Outcome<PrintedData>, request: Request) -> (Option<String>, Option<String>) {
        let directory = std::env::temp_dir().join(format!("runner-{}", TaskId::new()));
        let (kept, settings) = (Arc::new(Kept::default()), RunnerSettings::of_test(directory.clone()));
        let registry = Registry::new().with(Printing(outcome)).unwrap();
        let redactor = Arc::new(Redactor::new(["FAKE-own-secret"]));
        let runner = Runner::new(registry, settings, Arc::clone(&kept) as _, redactor).unwrap();
        let runner = Arc::new(runner.keeping_outputs(Arc::clone(&kept) as _));
        runner.run(request).await;
        std::fs::remove_dir_all(directory).unwrap();
        (kept.named.lock().unwrap().take(), kept.output.lock().unwrap().take())
    }

    fn printed(stdout: &str, stderr: &str) -> Success<PrintedData> {
        Success { stdout: stdout.to_owned(), stderr: Some(stderr.to_owned()), ..Success::default() }
    }

    #[tokio::test]
    async fn what_a_command_printed_is_kept_if_its_record_has_less() {
        let (short, long) = ("x".repeat(OUTPUT_TEXT_BYTES), "x".repeat(OUTPUT_TEXT_BYTES + 1));
        let own = |output: &str| (Some("own.txt".to_owned()), Some(output.to_owned()));
        assert_eq!(after(Ok(printed(&short, ""))).await, (None, None));
        assert_eq!(after(Ok(printed(&long, ""))).await, own(&long));
        assert_eq!(after(Ok(printed("out\n", "aside\n"))).await, own("out\naside"));
        assert_eq!(after(Ok(printed("", "a FAKE-own-secret"))).await, own("a ***REDACTED***"));
        let error = ToolError::new(ErrorCode::ExitNonzero, "The command ended with exit code 3.");
        let failed = Failure::of_command(error, 3, printed("out\n", "why\n"));
        assert_eq!(after(Err(failed)).await, own("out\nwhy"));
    }

    #[tokio::test]
    async fn a_long_output_of_another_tool_is_kept_without_its_notices() {
        let own = |output: &str| (Some("own.txt".to_owned()), Some(output.to_owned()));
        let (short, long) = ("x".repeat(OUTPUT_TEXT_BYTES), "x".repeat(OUTPUT_TEXT_BYTES + 1));
        let notices = vec!["The file has no newline at its end.".to_owned()];
        let read = |text: &str| Success { stderr: None, notices: notices.clone(), ..printed(text, "") };
        assert_eq!(after_call_of_task(Ok(read(&short))).await, (None, None));
        assert_eq!(after_call_of_task(Ok(read(&long))).await, own(&long));
        assert_eq!(after(Ok(read(&long))).await, (None, None), "it is of no task");
    }

    #[tokio::test]
    async fn what_another_file_has_or_nothing_printed_is_not_kept() {
        let long = "x".repeat(OUTPUT_TEXT_BYTES + 1);
        let refused = ToolError::new(ErrorCode::IoError, "x".repeat(3000));
        assert_eq!(after(Err(refused.into())).await, (None, None));
        let path = "/data/output/spilled.txt".to_owned();
        let full = FullOutput { path, sha256: String::new(), bytes: 1, lines: 1 };
        let cut = Success { full_output: Some(full), ..printed(&long, "aside") };
        assert_eq!(after(Ok(cut)).await, (Some("spilled.txt".to_owned()), None));
        let data = PrintedData { process_id: Some("p1".to_owned()) };
        let in_background = Success { data, ..printed(&long, "aside") };
        assert_eq!(after(Ok(in_background)).await, (Some("own.txt".to_owned()), None));
    }
}
