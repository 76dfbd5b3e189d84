//! Two sessions and somebody outside change a few files in any order; a model says what must come of each
//! step.
//!
//! The model knows only one rule: a change of a file that is there is let through when the session knows all
//! that the file says, and refused otherwise. So the session that overwrites a file has seen it.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::support::TestServer;

const FILES: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    One,
    Two,
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    Read,
    Write,
    Append,
    Edit,
    Delete,
    /// Another program gives the file a new content.
    OutsideChange,
    /// Another program writes the same content again.
    OutsideTouch,
    /// Another program removes the file.
    OutsideRemove,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    who: Who,
    file: usize,
    deed: Deed,
}

/// Steps in any order; reading and changing are more frequent than losing a file.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let deed = prop_oneof![
        4 => Just(Deed::Read),
        3 => Just(Deed::Write),
        2 => Just(Deed::Append),
        4 => Just(Deed::Edit),
        1 => Just(Deed::Delete),
        2 => Just(Deed::OutsideChange),
        1 => Just(Deed::OutsideTouch),
        1 => Just(Deed::OutsideRemove),
    ];
    let who = prop_oneof![Just(Who::One), Just(Who::Two)];
    vec((who, 0..FILES, deed).prop_map(|(who, file, deed)| Step { who, file, deed }), 1..50)
}

/// What the files say, and what each session knows of them.
pub(crate) struct Model<'a> {
    server: &'a TestServer,
    name: String,
    files: [Option<String>; FILES],
    known: HashMap<(Who, usize), String>,
    updates: usize,
}

impl<'a> Model<'a> {
    pub(crate) fn new(server: &'a TestServer, name: &str) -> Self {
        Self { server, name: name.to_owned(), files: Default::default(), known: HashMap::new(), updates: 0 }
    }

    /// Takes a step in the model and on the server, and compares the two.
    pub(crate) async fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        self.updates += 1;
        let update = format!("update {}\n", self.updates);
        match step.deed {
            Deed::Read => self.read(step).await?,
            Deed::Write => self.write(step, update).await?,
            Deed::Append => self.append(step, update).await?,
            Deed::Edit => self.edit(step, update).await?,
            Deed::Delete => self.delete(step).await?,
            Deed::OutsideChange => self.outside(step.file, Some(update)),
            Deed::OutsideTouch => self.outside(step.file, self.files[step.file].clone()),
            Deed::OutsideRemove => self.outside(step.file, None),
        }
        prop_assert_eq!(fs::read_to_string(self.path(step.file)).ok(), self.files[step.file].clone());
        Ok(())
    }

    fn path(&self, file: usize) -> PathBuf {
        self.server.root.join(self.argument(file))
    }

    fn argument(&self, file: usize) -> String {
        format!("{}-{file}", self.name)
    }

    fn outside(&mut self, file: usize, content: Option<String>) {
        let _ = fs::remove_file(self.path(file));
        if let Some(content) = &content {
            fs::write(self.path(file), content).expect("the root is writable");
        }
        self.files[file] = content;
    }

    /// Why a change of the file that is there must be refused, if it must.
    fn refusal(&self, step: Step) -> Option<ErrorCode> {
        let now = self.files[step.file].as_ref()?;
        match self.known.get(&(step.who, step.file)) {
            None => Some(ErrorCode::NotRead),
            Some(known) => (known != now).then_some(ErrorCode::Conflict),
        }
    }

    async fn call(
        &self,
        step: Step,
        tool: &str,
        mut arguments: Value,
        expected: Option<ErrorCode>,
    ) -> Result<(), TestCaseError> {
        arguments["path"] = json!(self.argument(step.file));
        let session = format!("{}-{:?}", self.name, step.who);
        let envelope = self.server.call_in(&session, tool, arguments).await;
        prop_assert_eq!(envelope.meta.error.map(|error| error.code), expected, "{} {:?}", tool, step);
        Ok(())
    }

    async fn read(&mut self, step: Step) -> Result<(), TestCaseError> {
        let missing = self.files[step.file].is_none().then_some(ErrorCode::NotFound);
        self.call(step, "read", json!({}), missing).await?;
        self.learn(step);
        Ok(())
    }

    async fn write(&mut self, step: Step, update: String) -> Result<(), TestCaseError> {
        let refusal = self.refusal(step);
        self.call(step, "write", json!({"content": update}), refusal).await?;
        if refusal.is_none() {
            self.files[step.file] = Some(update);
            self.learn(step);
        }
        Ok(())
    }

    /// Appending needs no reading, and is none: a session that knew all before knows all after it.
    async fn append(&mut self, step: Step, update: String) -> Result<(), TestCaseError> {
        let knew = self.files[step.file].is_some() && self.refusal(step).is_none();
        self.call(step, "write", json!({"content": update, "mode": "append"}), None).await?;
        self.files[step.file].get_or_insert_default().push_str(&update);
        if knew {
            self.learn(step);
        }
        Ok(())
    }

    /// Replaces the last line that the session knows of.
    async fn edit(&mut self, step: Step, update: String) -> Result<(), TestCaseError> {
        let known = self.known.get(&(step.who, step.file)).cloned().unwrap_or_default();
        let find = format!("{}\n", known.lines().last().unwrap_or("update"));
        let missing = self.files[step.file].is_none().then_some(ErrorCode::NotFound);
        let refusal = missing.or(self.refusal(step));
        self.call(step, "edit", json!({"find": find, "replace": format!("{update}and {update}")}), refusal)
            .await?;
        if refusal.is_none() {
            self.files[step.file] = Some(known.replacen(&find, &format!("{update}and {update}"), 1));
            self.learn(step);
        }
        Ok(())
    }

    async fn delete(&mut self, step: Step) -> Result<(), TestCaseError> {
        let missing = self.files[step.file].is_none().then_some(ErrorCode::NotFound);
        let refusal = missing.or(self.refusal(step));
        self.call(step, "delete", json!({}), refusal).await?;
        if refusal.is_none() {
            self.files[step.file] = None;
            self.known.remove(&(step.who, step.file));
        }
        Ok(())
    }

    /// The session knows what the file says now.
    fn learn(&mut self, step: Step) {
        if let Some(content) = &self.files[step.file] {
            self.known.insert((step.who, step.file), content.clone());
        }
    }
}
