//! The text of a new `autonous.toml`: each setting as a comment, with its meaning and its default.

use std::fmt::Write as _;

use crate::place::{Place, sections};
use crate::row::{Form, Row, WhenUnset};
use crate::table::ALL;

/// The columns of a comment.
const WIDTH: usize = 100;

const HEAD: &str = "\
# The settings of Autonous. A variable of the environment wins over a line here; a setting that has
# neither has its default, which is shown. `supervisor config` prints what holds and where it comes from,
# and `supervisor config check FILE` judges a file.
";

/// The whole file. Every setting is commented out.
pub fn text() -> String {
    let mut text = HEAD.to_owned();
    for section in sections() {
        let _ = write!(text, "\n[{section}]\n");
        for row in ALL.iter().filter(|row| Place::of(row.name()).section == section) {
            let _ = writeln!(text, "{}\n# {}", comment(*row), line(*row).replace('\n', "\n# "));
        }
    }
    text
}

/// A value as a file has it; a long list takes several lines.
fn literal(form: Form, value: &str) -> String {
    let line = form.literal(value);
    match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
        Some(items) if form == Form::List && line.len() >= WIDTH => {
            format!("[\n{}\n]", wrapped(items, "   "))
        }
        Some(_) | None => line,
    }
}

/// The setting of a row with its default.
fn line(row: &dyn Row) -> String {
    let place = Place::of(row.name());
    if row.is_secret() {
        let key = place.of_secret_file().key;
        return format!("{key} = \"\"");
    }
    match row.default() {
        WhenUnset::Value(value) => format!("{} = {}", place.key, literal(row.form(), value)),
        WhenUnset::Words(_) => format!("{} = {}", place.key, empty(row.form())),
    }
}

fn empty(form: Form) -> &'static str {
    match form {
        Form::Number => "0",
        Form::Flag => "false",
        Form::List => "[]",
        Form::Text | Form::Secret => "\"\"",
    }
}

fn comment(row: &dyn Row) -> String {
    let unset = match row.default() {
        WhenUnset::Words(words) => format!(" Default: {}.", plain(words)),
        WhenUnset::Value(_) => String::new(),
    };
    let what = if row.is_secret() { "the path of a file with " } else { "" };
    let values = format!(" ({what}{})", plain(&row.expected()));
    wrapped(&format!("{}{values}.{unset}", capital(&plain(row.meaning()))), "#")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Markdown without links and marks.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, (label, after))) = rest
        .split_once('[')
        .and_then(|(before, link)| Some((before, link.split_once("](")?)))
        .and_then(|(before, (label, target))| Some((before, (label, target.split_once(')')?.1))))
    {
        text.push_str(before);
        text.push_str(label);
        rest = after;
    }
    text.push_str(rest);
    text.replace('`', "")
}

/// Lines of words, each of which begins with `mark` and a space.
fn wrapped(text: &str, mark: &str) -> String {
    let (mut lines, mut line) = (Vec::new(), mark.to_owned());
    for word in text.split_whitespace() {
        if line.len() + word.len() >= WIDTH && line.len() > mark.len() {
            lines.push(std::mem::replace(&mut line, mark.to_owned()));
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings_file::SettingsFile;

    fn read(text: &str) -> SettingsFile {
        SettingsFile::of_text(Path::new("autonous.toml"), text).unwrap()
    }

    #[test]
    fn a_new_file_sets_nothing_and_says_everything() {
        let text = text();
        assert_eq!(read(&text).count(), 0);
        for row in ALL {
            let place = Place::of(row.name());
            assert!(text.contains(&format!("\n# {}", place.key)), "{place}");
        }
        assert!(!text.contains("](") && text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }

    #[test]
    fn a_default_that_is_no_comment_any_more_is_valid_and_says_the_same() {
        for row in
            ALL.iter().filter(|row| matches!(row.default(), WhenUnset::Value(text) if !text.is_empty()))
        {
            let place = Place::of(row.name());
            let file = read(&format!("[{}]\n{}\n", place.section, line(*row)));
            let WhenUnset::Value(default) = row.default() else { unreachable!("it was asked") };
            assert_eq!(file.value(row.name()), Some(default), "{place}");
        }
    }
}
