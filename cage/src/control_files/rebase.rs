//! What an interrupted rebase runs when somebody continues it.

const STEPS: &str = "rebase-merge/git-rebase-todo";

/// Names a program, so as a path it is any program.
const STRATEGY: &str = "rebase-merge/strategy";

/// Files below a git directory.
pub(super) const FILES: [&str; 2] = [STEPS, STRATEGY];

/// Whether git runs something because of this content of one of [`FILES`].
pub(super) fn runs(name: &str, bytes: &[u8]) -> bool {
    match name {
        STRATEGY => bytes.contains(&b'/'),
        _ => bytes.split_inclusive(|byte| *byte == b'\n').any(is_command),
    }
}

/// The content without what git runs.
pub(super) fn harmless(bytes: &[u8]) -> Vec<u8> {
    let is_harmless = |line: &&[u8]| !is_command(line) && !is_path(line);
    bytes.split_inclusive(|byte| *byte == b'\n').filter(is_harmless).flatten().copied().collect()
}

fn is_command(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let word = line.iter().position(u8::is_ascii_whitespace).map_or(line, |end| &line[..end]);
    word == b"exec" || word == b"x"
}

/// The strategy is one word; a step has several.
fn is_path(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.contains(&b'/') && !line.iter().any(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_cut_out_of_the_steps() {
        let steps = b"pick abc one\nexec make test\n  x id\npick def a/b\nexecute\n";
        assert!(runs(STEPS, steps));
        assert_eq!(harmless(steps), b"pick abc one\npick def a/b\nexecute\n");
        assert!(!runs(STEPS, b"pick abc exec a/b\n"));
        assert!(runs(STRATEGY, b"../x") && !runs(STRATEGY, b"ort\n") && harmless(b"../x\n").is_empty());
    }
}
