//! Who the bot is, and which texts speak to it.

/// What `getMe` says of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) id: u64,
    /// Without the `@`.
    pub(super) username: String,
}

/// The longest word that may be a command; a tool's name may be longer than Telegram's 32 characters.
const MAX_COMMAND_CHARS: usize = 64;

impl Identity {
    /// What a text says to us: without a mention of us in front, and `/x@us` as `/x`. None for the command of
    /// another bot.
    pub(super) fn addressed(&self, text: &str) -> Option<String> {
        let text = self.without_mention(text);
        let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
        match command(word) {
            Some((_, Some(bot))) if !self.is_named(bot) => None,
            Some((command, Some(_))) => Some(format!("/{command}{rest}")),
            Some((_, None)) | None => Some(text.to_owned()),
        }
    }

    /// Whether a text names us anywhere.
    pub(super) fn is_mentioned_in(&self, text: &str) -> bool {
        let mut rest = text;
        let mut before = None;
        while let Some(at) = rest.find('@') {
            before = rest[..at].chars().next_back().or(before.filter(|_| at == 0));
            rest = &rest[at + 1..];
            let name_ends = rest.find(|c: char| !is_of_a_name(c)).unwrap_or(rest.len());
            if self.is_named(&rest[..name_ends]) && !before.is_some_and(is_of_a_name) {
                return true;
            }
            before = Some('@');
        }
        false
    }

    fn is_named(&self, name: &str) -> bool {
        self.username.eq_ignore_ascii_case(name)
    }

    fn without_mention<'a>(&self, text: &'a str) -> &'a str {
        let text = text.trim_start();
        let Some(rest) = text.strip_prefix('@') else { return text };
        let (name, rest) = rest.split_at(rest.find(|c: char| !is_of_a_name(c)).unwrap_or(rest.len()));
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == ':');
        if self.is_named(name) && !rest.is_empty() { rest } else { text }
    }
}

/// Whether a text begins with a command, of whichever bot.
pub(super) fn is_command(text: &str) -> bool {
    text.split_whitespace().next().and_then(command).is_some()
}

/// The name of a command, and the bot that it is for.
fn command(word: &str) -> Option<(&str, Option<&str>)> {
    let word = word.strip_prefix('/')?;
    let (name, bot) = word.split_once('@').map_or((word, None), |(name, bot)| (name, Some(bot)));
    let is_name = !name.is_empty() && name.len() <= MAX_COMMAND_CHARS && name.chars().all(is_of_a_name);
    is_name.then_some((name, bot))
}

const fn is_of_a_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us() -> Identity {
        Identity { id: 5, username: "our_bot".to_owned() }
    }

    #[test]
    fn a_text_is_read_without_our_name_and_not_at_all_if_it_commands_another_bot() {
        for (text, expected) in [
            ("ls path=.", Some("ls path=.")),
            ("@our_bot ls path=.", Some("ls path=.")),
            (" @Our_Bot, /status", Some("/status")),
            ("@our_bot: @our_bot", Some("@our_bot")),
            ("@our_bot", Some("@our_bot")),
            ("@our_bots ls", Some("@our_bots ls")),
            ("/cancel@our_bot all", Some("/cancel all")),
            ("/CANCEL@OUR_BOT", Some("/CANCEL")),
            ("/cancel@other_bot", None),
            ("@our_bot /cancel@other_bot", None),
            ("/etc/passwd@home is a path", Some("/etc/passwd@home is a path")),
            ("", Some("")),
        ] {
            assert_eq!(us().addressed(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_mention_is_our_whole_name() {
        for (text, expected) in [
            ("hello @our_bot", true),
            ("@OUR_BOT!", true),
            ("(@our_bot)", true),
            ("ä@our_bot", true),
            ("me@our_bot", false),
            ("@our_bot2", false),
            ("our_bot", false),
            ("a@b @our_bot", true),
            ("@@our_bot", true),
        ] {
            assert_eq!(us().is_mentioned_in(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_command_is_a_word_and_not_a_path() {
        for (text, expected) in
            [("/ls path=.", true), (" /x@any_bot", true), ("/etc/hosts", false), ("/", false), ("ls", false)]
        {
            assert_eq!(is_command(text), expected, "{text:?}");
        }
    }
}
