//! Makes the completions of shells and the man pages from a command line, as it is defined for `clap`.
//!
//! Packages install what it makes. It reads no setting and knows no program: each program passes its own
//! command line, and the name under which people call it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;

/// A shell that completes commands.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Shell {
    /// Bash.
    Bash,
    /// The Z shell.
    Zsh,
    /// Fish.
    Fish,
}

/// Which completions are printed.
#[derive(Debug, clap::Args)]
pub struct CompletionsArguments {
    /// The shell.
    pub shell: Shell,
    /// The name under which the program is called.
    #[arg(long)]
    pub name: Option<String>,
}

/// Where man pages are written.
#[derive(Debug, clap::Args)]
pub struct ManArguments {
    /// An existing directory.
    pub directory: PathBuf,
    /// The name under which the program is called.
    #[arg(long)]
    pub name: Option<String>,
}

/// The script that has a shell complete this command line.
pub fn completions(command: Command, arguments: &CompletionsArguments) -> Vec<u8> {
    let (mut command, name) = named(command, arguments.name.as_deref());
    let shell = match arguments.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    script
}

/// Writes a man page for the program, and one for each of its commands that is not hidden.
///
/// # Errors
///
/// The directory is not there, or cannot be written to.
pub fn write_man_pages(command: Command, arguments: &ManArguments) -> io::Result<()> {
    let (command, _) = named(command, arguments.name.as_deref());
    fs::metadata(&arguments.directory)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_page(&command, &arguments.directory)
}

/// The pages below a command have its name in front of their own.
fn write_page(command: &Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_page(below, directory)?;
    }
    clap_mangen::Man::new(command.clone()).generate_to(directory).map(drop)
}

fn named(command: Command, name: Option<&str>) -> (Command, String) {
    let name = name.unwrap_or(command.get_name()).to_owned();
    (command.name(name.clone()), name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn program() -> Command {
        let send = Command::new("send").about("Send a message").arg(Arg::new("text").long("text"));
        Command::new("post").about("Sends things").subcommand(send).subcommand(Command::new("x").hide(true))
    }

    fn script(shell: Shell) -> String {
        let arguments = CompletionsArguments { shell, name: Some("mail".to_owned()) };
        String::from_utf8(completions(program(), &arguments)).unwrap()
    }

    #[test]
    fn each_shell_completes_the_commands_of_the_name_that_people_type() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            assert!(script.contains("send") && script.contains("mail"), "{shell:?}: {script}");
            assert!(!script.contains("post"), "{shell:?}: {script}");
        }
    }

    #[test]
    fn the_program_and_each_command_that_is_not_hidden_have_a_page() {
        let directory = tempfile::tempdir().unwrap();
        let arguments =
            ManArguments { directory: directory.path().to_owned(), name: Some("mail".to_owned()) };
        write_man_pages(program(), &arguments).unwrap();
        let entries = fs::read_dir(&directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["mail-send.1", "mail.1"]);
        let page = fs::read_to_string(directory.path().join("mail-send.1")).unwrap();
        assert!(page.contains("Send a message"), "{page}");
        directory.close().unwrap();
        assert!(write_man_pages(program(), &arguments).is_err(), "there is no directory");
    }
}
