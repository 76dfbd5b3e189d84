//! `AUTONOUS_WORKSPACES`: which files a chat sees. The tool server enforces it, and the supervisor tells the
//! model.

use crate::{VariableError, Variables};

/// The name of the root for what an agent keeps, in whatever directory it lies.
pub const STATE_ROOT: &str = "state";

/// The variable.
pub const WORKSPACES: &str = "AUTONOUS_WORKSPACES";

/// How the roots are divided between sessions, each of which is one chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Division {
    /// `shared`: all sessions see the same files.
    #[default]
    Shared,
    /// `per-chat`: each session sees only its own directory of each root.
    PerChat,
}

impl Division {
    /// Reads the variable.
    pub fn from_variables(variables: &Variables) -> Result<Self, VariableError> {
        let Some(value) = variables.text(WORKSPACES) else { return Ok(Self::default()) };
        let named = [Self::Shared, Self::PerChat].into_iter().find(|division| division.name() == value);
        named.ok_or_else(|| VariableError::new(WORKSPACES, value, "shared or per-chat"))
    }

    /// Its value of the variable.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::PerChat => "per-chat",
        }
    }

    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Shared => "all chats see the same files; AUTONOUS_WORKSPACES=per-chat gives each its own",
            Self::PerChat => "each chat sees only its own directory of each root",
        }
    }
}
