//! The tools: one file and one line each.

mod ask_user;
mod bash;
mod contacts_send;
mod delete;
mod edit;
mod find;
mod given;
mod grep;
mod ls;
mod multi_edit;
mod patience;
mod process_kill;
mod process_list;
mod process_read;
mod process_write;
mod read;
mod run_script;
mod schedule_cancel;
mod schedule_list;
mod schedule_task;
mod short_form;
mod skill;
mod telegram_react;
mod telegram_send_file;
mod telegram_send_voice;
mod todo_update;
mod url_fetch;
mod web_search;
mod write;

use std::collections::BTreeSet;

use settings::SettingError;
use settings::table::TOOL_DISABLED;
use toolkit::{PathText, Registry, RegistryError, WORKER_FUNCTIONS};

use crate::tool_context::ToolContext;
use crate::transfers::{FileDownload, FileUpload, Undo};

/// All tools of this server, and the transfers.
pub fn registry(context: &ToolContext) -> Result<Registry, RegistryError> {
    let registry = Registry::new()
        .with(ls::Ls(context.clone()))?
        .with(find::Find(context.clone()))?
        .with(grep::Grep(context.clone()))?
        .with(read::Read(context.clone()))?
        .with(write::Write(context.clone()))?
        .with(edit::EditTool(context.clone()))?
        .with(multi_edit::MultiEdit(context.clone()))?
        .with(delete::Delete(context.clone()))?
        .with(bash::Bash(context.clone()))?
        .with(process_read::ProcessRead(context.clone()))?
        .with(process_list::ProcessList(context.clone()))?
        .with(process_write::ProcessWrite(context.clone()))?
        .with(process_kill::ProcessKill(context.clone()))?
        .with(skill::SkillTool(context.clone()))?
        .with(run_script::RunScript(context.clone()))?
        .with(url_fetch::UrlFetch(context.clone()))?
        .with(web_search::WebSearch(context.clone()))?
        .with(todo_update::TodoUpdate::new(context.clone()))?
        .with(ask_user::AskUser(context.clone()))?
        .with(telegram_send_file::TelegramSendFile(context.clone()))?
        .with(telegram_send_voice::TelegramSendVoice(context.clone()))?
        .with(telegram_react::TelegramReact(context.clone()))?
        .with(contacts_send::ContactsSend(context.clone()))?
        .with(schedule_task::ScheduleTask(context.clone()))?
        .with(schedule_list::ScheduleList(context.clone()))?
        .with(schedule_cancel::ScheduleCancel(context.clone()))?
        .with_transfer(FileDownload(context.clone()))?
        .with_transfer(FileUpload(context.clone()))?
        .with_transfer(Undo(context.clone()))?;
    Ok(registry)
}

/// The default of `path`: the first root.
fn first_root() -> PathText {
    PathText::from(".")
}

/// The default of a flag that is on.
const fn yes() -> bool {
    true
}

/// An unknown name in AUTONOUS_TOOL_DISABLED would disable nothing.
pub(crate) fn refuse_unknown(disabled: &BTreeSet<String>, registry: &Registry) -> Result<(), SettingError> {
    // The worker has the same setting.
    let known: Vec<&str> = registry.names().chain(WORKER_FUNCTIONS).collect();
    let unknown = disabled.iter().find(|name| !known.contains(&name.as_str()));
    let expected = || format!("names of tools, comma separated: {}", known.join(", "));
    unknown.map_or(Ok(()), |unknown| Err(TOOL_DISABLED.refuse(unknown, expected())))
}
