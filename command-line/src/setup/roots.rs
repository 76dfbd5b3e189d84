//! Which directories tools reach.

use std::path::{Path, PathBuf};

use settings::table::TOOL_ALLOWED_ROOTS;

use super::Parts;

pub(super) fn set_up(parts: &mut Parts<'_>) -> anyhow::Result<()> {
    parts.say("\nDirectories");
    if !parts.answers.roots.is_empty() {
        let roots =
            parts.answers.roots.iter().map(|root| checked(root)).collect::<anyhow::Result<Vec<_>>>()?;
        return set(parts, &roots);
    }
    let held = TOOL_ALLOWED_ROOTS.read(&parts.draft.source()?)?.unwrap_or_default();
    let own = parts.data.workspace().display().to_string();
    let default = if held.is_empty() { own.clone() } else { held.join(", ") };
    if !parts.dialogue.asks() {
        parts.say(&format!("Tools reach {default}"));
        return Ok(());
    }
    loop {
        let answer = parts
            .dialogue
            .ask("What may the agent read and change? Directories, comma separated", &default)?;
        if answer == default {
            return Ok(());
        }
        let named = answer.split(',').map(str::trim).filter(|name| !name.is_empty());
        match named.map(|root| checked(Path::new(root))).collect::<anyhow::Result<Vec<_>>>() {
            Ok(roots) => return set(parts, &roots),
            Err(error) => parts.say(&error.to_string()),
        }
    }
}

/// A directory by its real, absolute path.
fn checked(root: &Path) -> anyhow::Result<PathBuf> {
    let expanded = match (root.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_) | Err(_), _) => root.to_owned(),
    };
    let real = expanded.canonicalize().map_err(|error| anyhow::anyhow!("{}: {error}", root.display()))?;
    anyhow::ensure!(real.is_dir(), "{} is no directory", root.display());
    Ok(real)
}

fn set(parts: &mut Parts<'_>, roots: &[PathBuf]) -> anyhow::Result<()> {
    let texts: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    if let Some(odd) = texts.iter().find(|text| text.contains(',')) {
        anyhow::bail!("{odd}: a directory with a comma in its name cannot be a root");
    }
    parts.say(&format!("  ok    tools reach {}", texts.join(", ")));
    parts.draft.set(TOOL_ALLOWED_ROOTS.name(), texts.into_iter().collect::<toml_edit::Array>());
    Ok(())
}
