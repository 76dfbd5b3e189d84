//! The frame of every effect: the checks of its task and its rate, and one transaction for what it adds.

use std::time::Instant;

use channel::Chat;
use protocol::effect::{Answer, EffectAnswer, EffectRequest};
use protocol::{ErrorCode, ToolError};
use store::sql::Connection;
use store::{StoreError, effects};

use super::Effects;
use crate::file_copy::not_stored;

/// The most messages of tools that wait to be sent to one chat.
const MOST_WAITING: u32 = 200;

impl Effects {
    /// Makes an effect of a call of this chat, at most once. What it adds is for `target`.
    pub(super) async fn add(
        &self,
        request: &EffectRequest,
        own: Chat,
        target: Chat,
        add: impl FnOnce(&Connection) -> Result<EffectAnswer, StoreError> + Send + 'static,
    ) -> EffectAnswer {
        let (call, task) = (request.call.clone(), request.task.clone());
        let added = self.store.write(move |tx| {
            if let Some(answer) = effects::answer(tx, &call)? {
                return Ok(Ok(answer));
            }
            if let Some(task) = &task
                && !effects::is_running(tx, task, &own)?
            {
                return Ok(Err(not_running()));
            }
            if effects::waiting(tx, &target)? >= MOST_WAITING {
                return Ok(Err(too_many("Too many messages wait to be sent to this chat.")));
            }
            let answer = add(tx)?;
            answer.iter().try_for_each(|answer| effects::note(tx, &call, answer))?;
            Ok(answer)
        });
        added.await.map_err(not_stored)?
    }

    /// Passes if the call may have an effect now; its start is an event from then on. An effect that was made
    /// before has its answer.
    pub(super) async fn admit(
        &self,
        request: &EffectRequest,
        own: &Chat,
        target: &Chat,
    ) -> Result<Option<Answer>, ToolError> {
        if !self.rate.admits(&target.address(), Instant::now()) {
            return Err(too_many("Too many calls that act on this chat within a minute."));
        }
        self.journal.drain().await;
        let (call, task, own) = (request.call.clone(), request.task.clone(), own.clone());
        let known = self.store.write(move |tx| {
            let runs = task.map_or(Ok(true), |task| effects::is_running(tx, &task, &own))?;
            Ok((effects::answer(tx, &call)?, runs))
        });
        match known.await.map_err(not_stored)? {
            (Some(answer), _) => Ok(Some(answer)),
            (None, true) => Ok(None),
            (None, false) => Err(not_running()),
        }
    }

    /// Passes if the call's task runs in this chat, or the call has none.
    pub(super) async fn require_running(&self, request: &EffectRequest, own: &Chat) -> Result<(), ToolError> {
        let (Some(task), own) = (request.task.clone(), own.clone()) else { return Ok(()) };
        let runs = self.store.write(move |tx| effects::is_running(tx, &task, &own)).await;
        if runs.map_err(not_stored)? { Ok(()) } else { Err(not_running()) }
    }
}

fn not_running() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "The task of this call does not run in this chat.")
}

fn too_many(message: &str) -> ToolError {
    ToolError::new(ErrorCode::QuotaExceeded, message).with_hint("Wait a minute before the next call.")
}
