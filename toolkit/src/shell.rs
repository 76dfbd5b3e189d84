//! Text for a shell's command line.

/// One word, whatever is in it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_the_command_line() {
        assert_eq!(quoted("/a b/c'd"), "'/a b/c'\\''d'");
    }
}
