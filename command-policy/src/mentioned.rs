//! What a command line names: every text in it that could be the path of a file.
//!
//! Which of them are files, and from which directory each is meant, only the disk knows. So nothing is left
//! out for looking like something else, and a text too many does no harm.

use std::collections::BTreeSet;

use super::arguments::listed;
use super::command::Command;
use super::reader::{self, Line};

/// How many texts of a line are looked at.
const MAX_TEXTS: usize = 2000;

/// Programs and builtins that touch no other files than their operands say, and run none.
const PLAIN: &str = ": [ b2sum base32 base64 basename break cat cd chgrp chmod chown cksum cmp comm \
    continue cp cut date dd df diff dirname du echo egrep exit expand expr factor false fgrep fold grep \
    head hostname id install join kill link ln ls md5sum mkdir mkfifo mknod mktemp mv nl nproc od paste \
    popd pr printenv printf ps pushd pwd readlink realpath return rev rm rmdir seq sha1sum sha256sum \
    sha512sum shift shred shuf sleep sort split stat strings sum sync tac tail tee test touch tr true \
    truncate tty umask uname unexpand uniq unlink wait wc who whoami xxd yes";

/// The texts of a line that could be paths.
#[derive(Debug, Default)]
pub struct Mentioned {
    /// As a program would get them; patterns are not expanded.
    pub texts: BTreeSet<String>,
    /// Whether these are all the files that the line runs or reads.
    pub is_complete: bool,
}

/// What a command line names.
pub fn mentioned(command_line: &str) -> Mentioned {
    let Ok(line) = reader::read(command_line) else { return Mentioned::default() };
    let mut mentioned = Mentioned { texts: BTreeSet::new(), is_complete: is_plain(&line) };
    for word in &line.words {
        match line.values.forms(word) {
            Some(forms) => forms.iter().for_each(|form| mentioned.add(form)),
            None => mentioned.is_complete = false,
        }
    }
    if mentioned.texts.len() > MAX_TEXTS {
        mentioned.is_complete = false;
        let texts = std::mem::take(&mut mentioned.texts);
        mentioned.texts = texts.into_iter().take(MAX_TEXTS).collect();
    }
    mentioned
}

/// Whether nothing in the line reads or runs a file that no word of it names.
fn is_plain(line: &Line) -> bool {
    let is_plain = |command: &Command| listed(PLAIN, &command.name);
    !line.is_opaque && line.values.are_complete() && line.commands.iter().all(is_plain)
}

impl Mentioned {
    /// A text, and what may be a path within it: `--file=a`, `-fa`, `a:b`, `@a`.
    fn add(&mut self, form: &str) {
        self.texts.insert(form.to_owned());
        for token in form.split_whitespace() {
            for text in braces(token) {
                let value = text.split_once('=').map_or(text.as_str(), |(_, value)| value);
                let glued = text.strip_prefix('-').and_then(|rest| rest.char_indices().nth(1));
                let glued = glued.map_or("", |(at, _)| &text[1 + at..]);
                let listed = value.split([':', ',']).chain(text.split([':', ',']));
                for part in listed.chain([text.as_str(), value, glued]) {
                    let part = part.trim_start_matches('@');
                    if !part.is_empty() && !part.starts_with('~') {
                        self.texts.insert(part.to_owned());
                    }
                }
            }
        }
    }
}

/// What a word with lists in braces stands for; a range becomes a pattern.
fn braces(word: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![word.to_owned()];
    while let Some(word) = open.pop() {
        if done.len() + open.len() > MAX_TEXTS {
            break;
        }
        match first_braces(&word) {
            Some((before, choices, after)) => {
                open.extend(choices.into_iter().map(|choice| format!("{before}{choice}{after}")));
            }
            None => done.push(word),
        }
    }
    done
}

/// The innermost braces of a word that are a list or a range: what stands before, the choices, what follows.
fn first_braces(word: &str) -> Option<(&str, Vec<String>, &str)> {
    let mut start = None;
    for (at, character) in word.char_indices() {
        match (character, start) {
            ('{', _) => start = Some(at),
            ('}', Some(open)) => {
                let inner = &word[open + 1..at];
                let choices: Vec<String> = if inner.contains(',') {
                    inner.split(',').map(str::to_owned).collect()
                } else if inner.contains("..") {
                    vec!["*".to_owned()]
                } else {
                    start = None;
                    continue;
                };
                return Some((&word[..open], choices, &word[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, texts: &[&str], is_complete: bool) {
        let found = mentioned(line);
        for text in texts {
            assert!(found.texts.contains(*text), "{line}: {text}: {found:?}");
        }
        assert_eq!(found.is_complete, is_complete, "{line}: {found:?}");
    }

    #[test]
    fn what_could_be_a_path_is_found_in_all_forms() {
        check("cat a > b < c; rm d", &["a", "b", "c", "d"], true);
        check("cd d && cat $PWD/a", &["d", "./a"], true);
        check("F=a; G=$F.txt; cat \"x/$G\"", &["x/a.txt"], true);
        check("for f in a b; do cat d/$f; done", &["d/a", "d/b"], true);
        check("cat {a,b{c,d}}/x.{1..3}", &["a/x.*", "bc/x.*", "bd/x.*"], true);
        check("sort --files0-from=a -obc 'd e' f:g", &["a", "bc", "d e", "d", "f", "g"], true);
        check("sh a", &["a"], false);
        check("bash -c 'cat a; cat \"$(cat b)\"'", &["a", "b"], false);
        check("cat $X", &[], false);
        check("cat $(cat a)", &["a"], false);
        check("F=a; F+=b; cat $F", &[], false);
        check("PATH=.; cat a", &["a"], false);
        check("printf -v F a; cat a", &["a"], false);
        check("a=(b c); cat ${a[0]}", &["b"], false);
        check("cat x | xargs rm", &["x"], false);
        check("if then (", &[], false);
    }
}
