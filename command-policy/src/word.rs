//! A word of a command line, as bash sees it after it has removed quotes and escapes.
//!
//! `r''m`, `\rm` and `$'rm'` are all `rm` here. A part that only the running shell knows (a variable, a
//! substitution) becomes one [`UNKNOWN`] character; no rule refuses a command for a part it does not know.
//! Nothing in here expands anything.

use tree_sitter::Node;

/// Stands for what only the running shell knows: a private-use character, which no program name and no
/// path in the rules contains.
pub(super) const UNKNOWN: char = '\u{F8FF}';

/// One word with its quotes resolved.
#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    text: String,
    /// An unquoted part of it is a pattern, a brace list or a tilde, which the shell expands.
    expands: bool,
    /// For each [`UNKNOWN`] the variable behind it, if it is one that stands by itself.
    variables: Vec<Option<String>>,
}

impl Word {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(super) fn of(node: Node<'_>, source: &str) -> Self {
        let mut word = Self::default();
        word.push(node, source);
        word
    }

    /// The text, with [`UNKNOWN`] for each unknown part.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text, if all of it is known.
    pub(super) fn known(&self) -> Option<&str> {
        (!self.text.contains(UNKNOWN)).then_some(&self.text)
    }

    /// Whether the program gets exactly this text.
    pub(super) fn is_literal(&self) -> bool {
        !self.expands && self.known().is_some()
    }

    /// The word as shell code, where an unknown part is some variable.
    pub(super) fn as_code(&self) -> String {
        let variable = |name: Option<&str>| name.map_or("$_".to_owned(), |name| format!("${{{name}}}"));
        self.with_variables(variable)
    }

    /// The text with something in place of each unknown part, which is a variable or not.
    pub(super) fn with_variables(&self, mut value: impl FnMut(Option<&str>) -> String) -> String {
        let mut parts = self.text.split(UNKNOWN);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (index, part) in parts.enumerate() {
            text.push_str(&value(self.variable(index)));
            text.push_str(part);
        }
        text
    }

    /// How many parts of it are unknown.
    pub(super) fn unknown_parts(&self) -> usize {
        self.text.matches(UNKNOWN).count()
    }

    /// The variable behind an unknown part.
    pub(super) fn variable(&self, index: usize) -> Option<&str> {
        self.variables.get(index)?.as_deref()
    }

    fn push_unknown(&mut self, variable: Option<&str>) {
        self.text.push(UNKNOWN);
        self.variables.push(variable.map(str::to_owned));
    }

    fn push(&mut self, node: Node<'_>, source: &str) {
        let text = &source[node.byte_range()];
        match node.kind() {
            "raw_string" => self.push_quoted(&text.replace('\'', "")),
            // An honest command line has no escapes in `$'…'` for the name of a command.
            "ansi_c_string" if text.contains('\\') => self.push_unknown(None),
            "ansi_c_string" => self.push_quoted(&text[1..].replace('\'', "")),
            "string" => self.push_double_quoted(node, source),
            // The home directory is always written `~`; every other variable is unknown.
            "simple_expansion" | "expansion" => {
                let inner = text.trim_start_matches(['$', '{']);
                let name = inner.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
                match name {
                    Some("HOME") => self.text.push('~'),
                    name => self.push_unknown(name.filter(|name| inner.trim_end_matches('}') == *name)),
                }
            }
            "command_substitution" if matches!(text, "$(pwd)" | "`pwd`") => self.push_unknown(Some("PWD")),
            "command_substitution" | "process_substitution" | "arithmetic_expansion" => {
                self.push_unknown(None);
            }
            "command_name" | "concatenation" | "translated_string" => {
                node.named_children(&mut node.walk()).for_each(|child| self.push(child, source));
            }
            _ => {
                self.expands |= text.contains(['*', '?', '[', '{', '~']);
                self.text.push_str(&unescaped(text, |_| true));
            }
        }
    }

    /// A quoted tilde at the start of a word is a file of that name, not the home directory.
    fn push_quoted(&mut self, text: &str) {
        if self.text.is_empty() && text.starts_with('~') {
            self.text.push_str("./");
        }
        self.text.push_str(text);
    }

    /// The grammar has no node for some blanks inside strings, so text comes from the source itself.
    fn push_double_quoted(&mut self, node: Node<'_>, source: &str) {
        let plain = |from: usize, to: usize| {
            unescaped(source.get(from..to).unwrap_or_default(), |c| matches!(c, '$' | '`' | '"' | '\\'))
        };
        let mut from = node.start_byte() + 1;
        for child in node.named_children(&mut node.walk()).filter(|child| child.kind() != "string_content") {
            self.push_quoted(&plain(from, child.start_byte()));
            self.push(child, source);
            from = child.end_byte();
        }
        let is_closed = source[node.byte_range()].ends_with('"') && node.end_byte() > from;
        self.push_quoted(&plain(from, node.end_byte() - usize::from(is_closed)));
    }
}

/// Removes the backslash before every character that it can escape here.
fn unescaped(text: &str, escapable: impl Fn(char) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match characters.peek() {
            Some('\n') if character == '\\' => drop(characters.next()),
            Some(&next) if character == '\\' && escapable(next) => {
                plain.push(next);
                characters.next();
            }
            _ => plain.push(character),
        }
    }
    plain
}
