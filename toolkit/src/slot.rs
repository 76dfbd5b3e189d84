//! What calls wait for, when many run at once.

/// Which slots a call takes. Commands have their own, so that slow ones never keep file tools waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Tools that read and write files.
    File,
    /// Tools that run commands.
    Command,
    /// Transfers, which wait for their client's connection.
    Transfer,
    /// Tools that wait for background processes.
    Process,
    /// Tools that wait for other machines.
    Web,
}

impl Slot {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 5] = [Self::File, Self::Command, Self::Transfer, Self::Process, Self::Web];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Command => "command",
            Self::Transfer => "transfer",
            Self::Process => "process",
            Self::Web => "web",
        }
    }
}
