//! What the variables of a line hold, as far as the line itself says it.
//!
//! All values that a variable is given anywhere in the line count wherever it is used: order, conditions and
//! subshells only make fewer of them possible.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::word::{UNKNOWN, Word};

/// How many texts one word may stand for.
const MAX_FORMS: usize = 64;

/// How many variables may be behind one another.
const MAX_DEPTH: usize = 4;

/// Variables that decide which files other words mean.
const DECISIVE: [&str; 6] = ["PATH", "CDPATH", "IFS", "BASH_ENV", "ENV", "GLOBIGNORE"];

/// The values of the variables of a line.
#[derive(Debug, Default)]
pub(super) struct Values {
    known: BTreeMap<String, Vec<Word>>,
    /// Something in the line sets variables in ways that are not followed.
    is_incomplete: bool,
}

impl Values {
    /// Notes an assignment or the list of a loop.
    pub(super) fn note(&mut self, node: Node<'_>, source: &str) {
        let text = |node: Node<'_>| &source[node.byte_range()];
        let (name, value) = match node.kind() {
            "for_statement" => ("variable", "value"),
            _ => ("name", "value"),
        };
        let Some(name) = node.child_by_field_name(name) else { return };
        let is_plain = name.kind() == "variable_name" && !text(node).starts_with(&format!("{}+", text(name)));
        self.is_incomplete |= DECISIVE.contains(&text(name)) || text(name).starts_with("LD_");
        let values: Vec<Node<'_>> = node.children_by_field_name(value, &mut node.walk()).collect();
        let known = self.known.entry(text(name).to_owned()).or_default();
        match node.kind() {
            // It goes through what the shell was started with.
            "for_statement" if values.is_empty() => known.push(Word::new(UNKNOWN)),
            _ if !is_plain => known.push(Word::new(UNKNOWN)),
            _ if values.is_empty() => known.push(Word::default()),
            _ => known.extend(values.into_iter().map(|value| Word::of(value, source))),
        }
    }

    /// From now on no variable is known.
    pub(super) fn forget(&mut self) {
        self.is_incomplete = true;
    }

    /// Whether the line says all that its variables hold.
    pub(super) fn are_complete(&self) -> bool {
        !self.is_incomplete
    }

    /// All texts that a word may stand for; none if only the running shell knows.
    pub(super) fn forms(&self, word: &Word) -> Option<Vec<String>> {
        self.forms_within(word, 0)
    }

    /// Whether a word can only be the name of a file, and no option.
    pub(super) fn is_file(&self, word: &Word) -> bool {
        let is_name = |form: &String| !form.starts_with('-') && !form.contains(char::is_whitespace);
        let is_plain = word.unknown_parts() == 0;
        is_plain || !self.is_incomplete && self.forms(word).is_some_and(|forms| forms.iter().all(is_name))
    }

    fn forms_within(&self, word: &Word, depth: usize) -> Option<Vec<String>> {
        let mut ways: Vec<Vec<String>> = vec![Vec::new()];
        for part in 0..word.unknown_parts() {
            let values = self.values_of(word.variable(part)?, depth)?;
            let longer = |way: &Vec<String>| {
                let way = way.clone();
                values.iter().map(move |value| way.iter().chain([value]).cloned().collect()).collect()
            };
            ways = ways.iter().flat_map(|way| -> Vec<Vec<String>> { longer(way) }).collect();
            if ways.len() > MAX_FORMS {
                return None;
            }
        }
        let form = |values: Vec<String>| {
            let mut values = values.into_iter();
            word.with_variables(|_| values.next().unwrap_or_default())
        };
        Some(ways.into_iter().map(form).collect())
    }

    fn values_of(&self, variable: &str, depth: usize) -> Option<Vec<String>> {
        match self.known.get(variable) {
            // A word that begins with the current directory means what it means without that.
            None if matches!(variable, "PWD" | "OLDPWD") => Some(vec![".".to_owned()]),
            Some(words) if depth < MAX_DEPTH => {
                let forms = words.iter().map(|word| self.forms_within(word, depth + 1));
                let forms = forms.collect::<Option<Vec<_>>>()?.concat();
                (forms.len() <= MAX_FORMS).then_some(forms)
            }
            Some(_) | None => None,
        }
    }
}
