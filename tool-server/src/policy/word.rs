//! A word of a command line, as bash would see it after it has taken quotes and escapes away.
//!
//! `r''m`, `\rm` and `$'\x72m'` are all `rm` here, so that quoting hides nothing. What only the running
//! shell can know (a variable, a substitution) stands as one [`UNKNOWN`] character; a rule never refuses
//! a command for a part that it does not know. Nothing in here expands anything.

use tree_sitter::Node;

/// Stands for what only the running shell knows. A private-use character, because no program's name and
/// no path that a rule speaks of has it.
pub(super) const UNKNOWN: char = '\u{F8FF}';

/// One word with its quotes resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word(String);

impl Word {
    /// A word that needs no resolving.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A word of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self(UNKNOWN.to_string())
    }

    /// The word that a node of the syntax tree stands for.
    pub(super) fn of(node: Node<'_>, source: &str) -> Self {
        let mut text = String::new();
        resolve(node, source, &mut text);
        Self(text)
    }

    /// The text, with [`UNKNOWN`] where a part is not known.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// The text, if all of it is known.
    pub(super) fn known(&self) -> Option<&str> {
        (!self.0.contains(UNKNOWN)).then_some(&self.0)
    }

    /// Whether it is something of which nothing is known.
    pub(super) fn is_wholly_unknown(&self) -> bool {
        !self.0.is_empty() && self.0.chars().all(|character| character == UNKNOWN)
    }

    /// The word as shell code, where an unknown part is some variable.
    pub(super) fn as_code(&self) -> String {
        self.0.replace(UNKNOWN, "$_")
    }
}

fn resolve(node: Node<'_>, source: &str, out: &mut String) {
    let text = &source[node.byte_range()];
    match node.kind() {
        "raw_string" => quoted(&text.replace('\'', ""), out),
        "ansi_c_string" => quoted(&ansi_c(text), out),
        "string" => double_quoted(node, source, out),
        "simple_expansion" | "expansion" => out.push(expansion(text)),
        "command_substitution" | "process_substitution" | "arithmetic_expansion" => out.push(UNKNOWN),
        "command_name" | "concatenation" | "translated_string" => {
            for child in node.named_children(&mut node.walk()) {
                resolve(child, source, out);
            }
        }
        _ => out.push_str(&unescaped(text, |_| true)),
    }
}

/// The home directory is one thing however it is spelled; every other variable is unknown.
fn expansion(text: &str) -> char {
    let name = text.trim_start_matches(['$', '{']);
    let name = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
    if name == Some("HOME") { '~' } else { UNKNOWN }
}

/// Appends quoted text. A quoted tilde at a word's start is a file of that name, not the home directory.
fn quoted(text: &str, out: &mut String) {
    if out.is_empty() && text.starts_with('~') {
        out.push_str("./");
    }
    out.push_str(text);
}

/// The grammar leaves some blanks inside of strings to no node, so the text between expansions is taken
/// from the source itself.
fn double_quoted(node: Node<'_>, source: &str, out: &mut String) {
    let plain = |from: usize, to: usize, out: &mut String| {
        let text = source.get(from..to).unwrap_or_default();
        quoted(&unescaped(text, |c| matches!(c, '$' | '`' | '"' | '\\')), out);
    };
    let mut from = node.start_byte() + 1;
    for child in node.named_children(&mut node.walk()).filter(|child| child.kind() != "string_content") {
        plain(from, child.start_byte(), out);
        resolve(child, source, out);
        from = child.end_byte();
    }
    let closed = source[node.byte_range()].ends_with('"') && node.end_byte() > from;
    plain(from, node.end_byte() - usize::from(closed), out);
}

/// Takes the backslash away before every character that it can escape here.
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

/// Decodes `$'…'`: letters, octal, hexadecimal and Unicode escapes.
fn ansi_c(text: &str) -> String {
    let inner = text.strip_prefix("$'").unwrap_or(text);
    let inner = inner.strip_suffix('\'').unwrap_or(inner);
    let mut plain = String::new();
    let mut rest = inner.chars().peekable();
    while let Some(character) = rest.next() {
        let Some(&escape) = rest.peek().filter(|_| character == '\\') else {
            plain.push(character);
            continue;
        };
        let (radix, most) = match escape {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            _ => {
                rest.next();
                plain.push(control(escape));
                continue;
            }
        };
        if radix == 16 {
            rest.next();
        }
        plain.extend(code_point(&mut rest, radix, most));
    }
    plain
}

fn control(escape: char) -> char {
    match escape {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        other => other,
    }
}

fn code_point(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize) -> Option<char> {
    let mut value = 0u32;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        rest.next();
    }
    char::from_u32(value)
}
