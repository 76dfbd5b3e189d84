//! The self-check at the start: which parts are required, which optional, and which protections are active.
//!
//! A missing requirement stops the start and is named with its remedy; a missing option is reported in
//! `/readyz`.

use std::path::{Path, PathBuf};

use cage::command::find_program;
use process::confinement::Confinement;
use sandbox::Capabilities;
use schemars::JsonSchema;
use serde::Serialize;

use crate::config::Config;

/// System directories that neither are roots nor contain any.
const SYSTEM_DIRECTORIES: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/etc"];

/// Programs that commands often use, each with the names it is installed under.
const OPTIONAL_PROGRAMS: [(&str, &[&str]); 3] =
    [("rg", &["rg"]), ("fd", &["fd", "fdfind"]), ("sed", &["sed"])];

/// The result of one check.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Check {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whether it succeeded.
    pub(crate) ok: bool,
    /// Whether the server refuses to start without it.
    pub(crate) required: bool,
    /// What was found, and the remedy if it failed.
    pub(crate) detail: String,
}

/// Why a directory must not be a root, if so.
pub(crate) fn forbidden_root_reason(root: &Path, config: &Config) -> Option<String> {
    if root == Path::new("/") {
        return Some("it is the whole machine; name the directory that tools should work in".to_owned());
    }
    if let Some(system) = SYSTEM_DIRECTORIES.iter().find(|system| root.starts_with(system)) {
        return Some(format!("{system} belongs to the system"));
    }
    let files = &config.files;
    let program = std::env::current_exe().ok().map(|program| (program, "the server's own program"));
    let skills = (files.skills_dir.clone(), "the skills directory");
    let output = (files.output_dir.clone(), "the output directory");
    let within = private_files(config).into_iter().chain(program).chain([skills.clone()]);
    let config_dir = files.config_dir.clone().map(|directory| (directory, "the configuration directory"));
    match (first_within(root, within), first_above(root, [skills, output].into_iter().chain(config_dir))) {
        (Some(what), _) if what == DATA_DIRECTORY => Some(format!(
            "it contains {what}, which tools must not reach: set AUTONOUS_DATA_DIR to a directory outside \
             of the roots"
        )),
        (Some(what), _) => Some(format!("it contains {what}, which tools must not reach")),
        (None, Some(what)) => Some(format!("it is in {what}, which tools must not change")),
        (None, None) => None,
    }
}

/// Why commands must not read a directory, if so.
pub(crate) fn forbidden_readonly_root_reason(root: &Path, config: &Config) -> Option<String> {
    let data = &config.files.data_dir;
    let own = [
        (config.files.output_dir.clone(), "the output directory"),
        (data.join("journal"), "the journal's directory"),
        (data.join("db"), "the database's directory"),
    ];
    match (first_within(root, private_files(config)), first_above(root, own)) {
        (Some(what), _) => Some(format!("it contains {what}")),
        (None, Some(what)) => Some(format!("it is in {what}")),
        (None, None) => None,
    }
}

type Named = (PathBuf, &'static str);

const DATA_DIRECTORY: &str = "the data directory itself";

/// What no tool and no command may reach.
fn private_files(config: &Config) -> Vec<Named> {
    let files = &config.files;
    let config_dir = files.config_dir.clone().map(|directory| (directory, "the configuration directory"));
    let own = [
        (files.data_dir.clone(), DATA_DIRECTORY),
        (files.data_dir.join("db"), "the database"),
        (files.data_dir.join("tokens"), "the tokens"),
        (files.journal.clone(), "the journal"),
        (files.output_dir.clone(), "the output directory"),
    ];
    own.into_iter().chain(config_dir).collect()
}

fn first_within(root: &Path, own: impl IntoIterator<Item = Named>) -> Option<&'static str> {
    own.into_iter().find(|(path, _)| resolved(path).starts_with(root)).map(|(_, what)| what)
}

fn first_above(root: &Path, own: impl IntoIterator<Item = Named>) -> Option<&'static str> {
    own.into_iter().find(|(path, _)| root.starts_with(resolved(path))).map(|(_, what)| what)
}

/// A path with the links of its existing part resolved.
fn resolved(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|existing| {
            let rest = path.strip_prefix(existing).ok()?;
            Some(existing.canonicalize().ok()?.join(rest))
        })
        .unwrap_or_else(|| path.to_owned())
}

/// Checks what the start depends on, after the roots were opened.
pub fn run(config: &Config, confinement: Confinement, capabilities: &Capabilities) -> Vec<Check> {
    let search_path = &config.commands.search_path;
    let mut checks = vec![landlock(confinement), commands(capabilities)];
    checks.extend((!config.commands.disable_exec).then(|| bash(search_path)));
    checks.extend(OPTIONAL_PROGRAMS.iter().map(|(name, names)| {
        let missing = format!("{name} is not in PATH; the tools do not need it, commands may");
        program(name, names, &missing, search_path)
    }));
    checks
}

fn landlock(confinement: Confinement) -> Check {
    let detail = match confinement {
        Confinement::Full => "the server is confined to its roots, journal and output by Landlock",
        Confinement::Partial => {
            "this kernel knows only some of Landlock's rights; a newer one confines the server fully"
        }
        Confinement::None => {
            "this kernel has no Landlock; paths are still resolved beneath the roots by openat2"
        }
    };
    Check {
        name: "landlock",
        ok: confinement != Confinement::None,
        required: false,
        detail: detail.to_owned(),
    }
}

/// Whether a confinement without any power holds: the caller is confined so, and all that fails.
pub fn own_confinement() -> Check {
    let (through, stopped) = process::self_check::escapes();
    let detail = if through.is_empty() {
        format!(
            "a process that is confined like the server, but has no directories, cannot {}",
            stopped.join(", ")
        )
    } else {
        format!("the server's own confinement does not stop: {}", through.join(", "))
    };
    Check { name: "own confinement", ok: through.is_empty(), required: false, detail }
}

fn commands(capabilities: &Capabilities) -> Check {
    let detail = match (capabilities.tier, &capabilities.reason, capabilities.remedy) {
        (Some(tier), None, _) => format!("commands run in sandbox tier {tier}"),
        (Some(tier), Some(reason), _) => {
            format!("commands run in sandbox tier {tier}; tier A is not available because {reason}")
        }
        (None, reason, remedy) => {
            let reason = reason.as_deref().unwrap_or("unknown reason");
            format!("no commands run: {reason}. {}", remedy.unwrap_or_default())
        }
    };
    Check { name: "commands", ok: capabilities.tier.is_some(), required: false, detail }
}

fn bash(search_path: &str) -> Check {
    let missing = "bash is not in PATH: install it (`apt-get install bash`), or set \
                   AUTONOUS_TOOL_DISABLE_EXEC=true to serve the file tools alone";
    Check { required: true, ..program("bash", &["bash"], missing, search_path) }
}

/// A program that is installed under one of these names.
fn program(name: &'static str, names: &[&str], missing: &str, search_path: &str) -> Check {
    let found = names.iter().find_map(|name| find_program(name, search_path));
    let detail = found.as_ref().map_or_else(|| missing.to_owned(), |path| path.display().to_string());
    Check { name, ok: found.is_some(), required: false, detail }
}
