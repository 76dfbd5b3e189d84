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

use crate::workplace::Workplace;

/// All tools of this server.
pub fn registry(workplace: &Workplace) -> Result<Registry, RegistryError> {
    Registry::new()
        .with(ls::Ls::new(workplace))?
        .with(find::Find::new(workplace))?
        .with(grep::Grep::new(workplace))?
        .with(read::Read::new(workplace))?
        .with(write::Write::new(workplace))?
        .with(edit::EditTool::new(workplace))?
        .with(multi_edit::MultiEdit::new(workplace))?
        .with(delete::Delete::new(workplace))?
        .with(bash::Bash::new(workplace))?
        .with(skill::SkillTool::new(workplace))?
        .with(run_script::RunScript::new(workplace))
}
