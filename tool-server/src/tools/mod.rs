//! The tools: one file and one line each.

mod bash;
mod delete;
mod edit;
mod find;
mod grep;
mod ls;
mod multi_edit;
mod read;
mod run_script;
mod skill;
mod write;

use toolkit::{Registry, RegistryError};

use crate::tool_context::ToolContext;

/// All tools of this server.
pub fn registry(context: &ToolContext) -> Result<Registry, RegistryError> {
    Registry::new()
        .with(ls::Ls::new(context))?
        .with(find::Find::new(context))?
        .with(grep::Grep::new(context))?
        .with(read::Read::new(context))?
        .with(write::Write::new(context))?
        .with(edit::EditTool::new(context))?
        .with(multi_edit::MultiEdit::new(context))?
        .with(delete::Delete::new(context))?
        .with(bash::Bash::new(context))?
        .with(skill::SkillTool::new(context))?
        .with(run_script::RunScript::new(context))
}
