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

    use protocol::journal::OUTPUT_TEXT_BYTES;
    use protocol::{ErrorCode, FullOutput, TaskId, ToolError};

    use super::*;
    use crate::runner::Request;
    use crate::runner::tests::{LONG, ScriptedData, runner_of};
    use crate::{Failure, Outcome, Success};

    /// What was kept.
    #[derive(Default)]
    struct Kept(Mutex<Option<String>>);

    impl OutputKeeper for Kept {
        fn name_of(&self, _: &CallIds) -> String {
            "own.txt".to_owned()
        }

        fn keep(&self, _: &CallIds, output: &str) -> io::Result<()> {
            *self.0.lock().unwrap() = Some(output.to_owned());
            Ok(())
        }
    }

    /// The file that the record names, and what was kept in it.
    async fn after(outcome: Outcome<ScriptedData>) -> (Option<String>, Option<String>) {
        after_call(outcome, Request::new("scripted", "{}")).await
    }

    async fn after_call_of_task(outcome: Outcome<ScriptedData>) -> (Option<String>, Option<String>) {
        after_call(outcome, Request { task: Some(TaskId::new()), ..Request::new("scripted", "{}") }).await
    }

    async fn after_call(
        outcome: Outcome<ScriptedData>,
        request: Request,
    ) -> (Option<String>, Option<String>) {
        let (runner, recorded, _directory) = runner_of(LONG, move |_, _| outcome.clone());
        let kept = Arc::new(Kept::default());
        Arc::new(runner.keeping_outputs(Arc::clone(&kept) as _)).run(request).await;
        (recorded.output_file.lock().unwrap().take(), kept.0.lock().unwrap().take())
    }

    fn printed(stdout: &str, stderr: &str) -> Success<ScriptedData> {
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
        let data = ScriptedData { process_id: Some("p1".to_owned()) };
        let in_background = Success { data, ..printed(&long, "aside") };
        assert_eq!(after(Ok(in_background)).await, (Some("own.txt".to_owned()), None));
    }
}
