//! Skills: instructions for a kind of task, each a directory with a `SKILL.md` and optional scripts.
//!
//! The front matter names the skill, says when to use it, and lists the tools it allows. All paths are
//! resolved beneath the skills' directory like those of the roots; nothing here writes.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cage::control_files::ControlFiles;
use files::change::read_whole;
use files::roots::{DeniedPaths, Roots, RootsError, names};
use protocol::{ErrorCode, ToolError};
use toolkit::arguments::{elide, invalid};
use toolkit::policy::TouchedPath;

const MAX_SKILL_BYTES: u64 = 64 * 1024;

/// The most skills that a description lists.
const MAX_LISTED: usize = 50;

/// The skills of a directory; none by default.
#[derive(Debug, Default)]
pub(crate) struct Skills {
    roots: Option<Roots>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skill {
    pub(crate) name: String,
    /// When to use it.
    pub(crate) description: String,
    /// The tools that a task may call once it has read the skill; none if all are allowed.
    pub(crate) allowed_tools: Option<Vec<String>>,
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) struct Script {
    /// Where it is, absolute.
    pub(crate) path: PathBuf,
    /// Its interpreter, with the argument from the script's first line.
    pub(crate) interpreter: Vec<String>,
    /// The script, opened.
    pub(crate) file: OwnedFd,
}

impl Skills {
    pub(crate) fn open(directory: &Path) -> Result<Self, RootsError> {
        let denied = DeniedPaths::new([]).map_err(|_| RootsError::None)?;
        let roots = Roots::open(&[directory.to_owned()], denied, ControlFiles::default(), |_| None)?;
        Ok(Self { roots: Some(roots) })
    }

    /// All readable skills, sorted by name.
    pub(crate) fn list(&self) -> Vec<Skill> {
        let Some(roots) = &self.roots else { return Vec::new() };
        let entries = std::fs::read_dir(roots.first()).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| names::to_text(entry.file_name().as_bytes())).collect();
        names.sort();
        let listed = names.into_iter().filter_map(|name| {
            let skill = load(roots, &name);
            if let Err(error) = &skill {
                tracing::warn!(
                    skill = name,
                    error = error.message,
                    "skipped an unusable entry of the skills directory"
                );
            }
            skill.ok()
        });
        listed.take(MAX_LISTED).collect()
    }

    /// Reads a skill. The error for an unknown name lists the known ones.
    pub(crate) fn read(&self, name: &str) -> Result<Skill, ToolError> {
        let roots = self.roots.as_ref().ok_or_else(|| self.unknown(name))?;
        load(roots, name)
            .map_err(|error| if error.code == ErrorCode::NotFound { self.unknown(name) } else { error })
    }

    /// Where a file of a skill is, for the operator's rules. It is in no root, so it has its whole path
    /// alone.
    pub(crate) fn touched(&self, name: &str, file: &str) -> Vec<TouchedPath> {
        let (Some(roots), Ok(())) = (&self.roots, require_name(name)) else { return Vec::new() };
        let found = roots.touched(&format!("{name}/{file}")).into_iter();
        found.map(|TouchedPath { path, .. }| TouchedPath { beneath: path.clone(), path }).collect()
    }

    /// Finds a script of a skill and its interpreter.
    pub(crate) fn script(&self, name: &str, relative_path: &str) -> Result<Script, ToolError> {
        self.read(name)?;
        let roots = self.roots.as_ref().ok_or_else(|| self.unknown(name))?;
        let path = Path::new(relative_path);
        let beneath = path.strip_prefix("scripts").unwrap_or(path);
        let scripts = roots.open_directory(&format!("{name}/scripts"))?;
        let file = roots.open_file(&format!("{name}/scripts/{}", beneath.display()))?;
        if !file.path.starts_with(&scripts.path) || beneath.as_os_str().is_empty() {
            let message = format!(
                "The script {:?} is not in the skill's `scripts` directory.",
                elide(relative_path, 200)
            );
            return Err(ToolError::new(ErrorCode::PathOutsideRoots, message));
        }
        let head = read_head(&file.handle)?;
        Ok(Script { interpreter: interpreter(&head)?, path: file.path, file: file.handle })
    }

    fn unknown(&self, name: &str) -> ToolError {
        let known: Vec<String> = self.list().into_iter().map(|skill| skill.name).collect();
        let hint = if known.is_empty() {
            "There are no skills; continue without one.".to_owned()
        } else {
            format!("The skills are: {}.", known.join(", "))
        };
        ToolError::new(ErrorCode::NotFound, format!("No such skill: {:?}.", elide(name, 60))).with_hint(hint)
    }
}

/// Reads a skill; `NOT_FOUND` if there is no such directory or it has no `SKILL.md`.
fn load(roots: &Roots, name: &str) -> Result<Skill, ToolError> {
    require_name(name)?;
    let file = roots.open_file(&format!("{name}/SKILL.md")).map_err(|error| {
        let is_file = error.code == ErrorCode::NotADirectory;
        if is_file { ToolError::new(ErrorCode::NotFound, error.message) } else { error }
    })?;
    let content = read_whole(&file.handle, MAX_SKILL_BYTES)
        .map_err(|_| broken(name, "cannot be read"))?
        .ok_or_else(|| broken(name, "is longer than 64 KiB"))?;
    let text = String::from_utf8(content).map_err(|_| broken(name, "is not UTF-8"))?;
    parse(name, text)
}

fn require_name(name: &str) -> Result<(), ToolError> {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(invalid("A skill's name has 1 to 64 characters: letters, digits, `-` and `_`."));
    }
    Ok(())
}

fn read_head(file: &std::os::fd::OwnedFd) -> Result<Vec<u8>, ToolError> {
    let mut head = vec![0; 256];
    let length = rustix::io::pread(file, head.as_mut_slice(), 0)
        .map_err(|_| ToolError::new(ErrorCode::IoError, "The script could not be read."))?;
    head.truncate(length);
    Ok(head)
}

/// The interpreter that a script's first line names.
fn interpreter(head: &[u8]) -> Result<Vec<String>, ToolError> {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let named = line.strip_prefix(b"#!").and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
    let (program, argument) = named.trim().split_once([' ', '\t']).unwrap_or((named.trim(), ""));
    if !program.starts_with('/') {
        return Err(invalid("The script does not begin with `#!` and the absolute path of its interpreter.")
            .with_hint("The author of the skill must add a first line such as `#!/usr/bin/env python3`."));
    }
    let argument = argument.trim();
    Ok(std::iter::once(program)
        .chain((!argument.is_empty()).then_some(argument))
        .map(str::to_owned)
        .collect())
}

fn broken(name: &str, what: &str) -> ToolError {
    let message = format!("The SKILL.md of `{name}` {what}.");
    ToolError::new(ErrorCode::IoError, message)
        .with_hint("The operator of the server must fix it; continue without this skill.")
}

/// The skill that a `SKILL.md` describes.
fn parse(name: &str, text: String) -> Result<Skill, ToolError> {
    let body = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let front = body.and_then(|body| body.split_once("\n---")).map(|(front, _)| front);
    let front =
        front.ok_or_else(|| broken(name, "does not begin with front matter between two lines `---`"))?;
    let fields = FrontMatter::parse(front)
        .map_err(|line| broken(name, &format!("has invalid front matter: {line:?}")))?;
    let required = |field: &'static str| {
        fields.one(field).ok_or_else(|| broken(name, &format!("does not have the field `{field}`")))
    };
    let (own_name, description) = (required("name")?, required("description")?);
    if own_name != name {
        return Err(broken(name, &format!("is named `{own_name}`, but its directory is not")));
    }
    Ok(Skill { name: own_name, description, allowed_tools: fields.list("allowed-tools"), text })
}

/// The fields of front matter: `key: value`, and lists in brackets, by commas or as lines with `-`.
struct FrontMatter(Vec<(String, Vec<String>)>);

impl FrontMatter {
    fn parse(text: &str) -> Result<Self, String> {
        let mut fields: Vec<(String, Vec<String>)> = Vec::new();
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let item = line.trim_start().strip_prefix("- ");
            match (item, fields.last_mut(), line.split_once(':')) {
                (Some(item), Some((_, values)), _) => values.push(unquoted(item)),
                (None, _, Some((key, value))) if !key.starts_with(char::is_whitespace) => {
                    let value = Some(value.trim()).filter(|value| !value.is_empty());
                    fields.push((key.trim().to_owned(), value.map(unquoted).into_iter().collect()));
                }
                // A long value continues in an indented line.
                (None, Some((_, values)), _) if line.starts_with(char::is_whitespace) => {
                    let last = values.pop().map(|value| value + " ").unwrap_or_default();
                    values.push(last + line.trim());
                }
                _ => return Err(elide(line, 80)),
            }
        }
        Ok(Self(fields))
    }

    fn values(&self, key: &str) -> Option<&[String]> {
        self.0.iter().find(|(own, _)| own == key).map(|(_, values)| values.as_slice())
    }

    fn one(&self, key: &str) -> Option<String> {
        self.values(key)?.first().filter(|value| !value.is_empty()).cloned()
    }

    fn list(&self, key: &str) -> Option<Vec<String>> {
        let parts = self.values(key)?.iter().flat_map(|value| {
            value
                .trim_start_matches('[')
                .trim_end_matches(']')
                .split([',', ' '])
                .map(unquoted)
                .collect::<Vec<_>>()
        });
        Some(parts.filter(|part| !part.is_empty()).collect())
    }
}

fn unquoted(value: &str) -> String {
    let value = value.trim();
    let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(front: &str) -> Option<Vec<String>> {
        parse("s", format!("---\nname: s\ndescription: d\n{front}---\ntext\n")).unwrap().allowed_tools
    }

    #[test]
    fn allowed_tools_are_read_however_they_are_listed() {
        let both = Some(vec!["read".to_owned(), "bash".to_owned()]);
        assert_eq!(allowed("allowed-tools: [read, \"bash\"]\n"), both);
        assert_eq!(allowed("allowed-tools: read, bash\n"), both);
        assert_eq!(allowed("allowed-tools: read bash\n"), both);
        assert_eq!(allowed("allowed-tools:\n  - read\n  - bash\n"), both);
        assert_eq!(allowed("allowed-tools: []\n"), Some(Vec::new()));
        assert_eq!(allowed(""), None);
    }

    #[test]
    fn a_broken_skill_says_what_is_wrong() {
        let check = |text: &str, expected: &str| {
            let message = parse("s", text.to_owned()).unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        };
        check("no front matter", "does not begin with front matter");
        check("---\nname: s\n---\n", "does not have the field `description`");
        check("---\nname: other\ndescription: d\n---\n", "is named `other`");
        check("---\nwhat is this\n---\n", "invalid front matter: \"what is this\"");
    }

    #[test]
    fn a_script_names_its_interpreter() {
        assert_eq!(interpreter(b"#!/usr/bin/env python3\nprint()").unwrap(), ["/usr/bin/env", "python3"]);
        assert_eq!(interpreter(b"#! /bin/sh\n").unwrap(), ["/bin/sh"]);
        assert!(interpreter(b"print()").is_err() && interpreter(b"#!python\n").is_err());
    }
}
