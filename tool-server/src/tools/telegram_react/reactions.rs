//! The emoji that Telegram takes as a reaction (<https://core.telegram.org/bots/api#reactiontypeemoji>).

use protocol::ToolError;
use toolkit::arguments::{elide, invalid};

/// Asks for the coloured form of an emoji. Telegram's list has none.
const COLOURED: char = '\u{fe0f}';

/// All of them, with a space between two.
const ALL: &str = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 \
    🤡 🥱 🥴 😍 🐳 ❤\u{200d}🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 \
    🖕 😈 😴 😭 🤓 👻 👨\u{200d}💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ \
    💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷\u{200d}♂ 🤷 🤷\u{200d}♀ 😡";

/// What people mean by emoji that are often used and not on the list.
const NEAR: [(&str, &[&str]); 12] = [
    ("✅☑✔🆗", &["👍", "👌", "💯"]),
    ("❌✖🚫⛔", &["👎", "💔"]),
    ("😂😆😅😹", &["🤣", "😁"]),
    ("😀😃😄🙂😊☺😺", &["😁", "🥰", "🤗"]),
    ("🧡💛💚💙💜🖤🤍🤎💕💖💗♥", &["❤", "💘", "🥰"]),
    ("👋🙋", &["🤗", "🫡"]),
    ("💪🚀✨⭐🌟", &["🔥", "⚡", "🏆"]),
    ("🥳🎊🎈🎂", &["🎉", "🍾"]),
    ("😞😔🙁☹😟😥😓", &["😢", "😭"]),
    ("😠💢👿", &["😡", "🤬"]),
    ("❓❔🧐🤷‍", &["🤔", "🤨", "🤷"]),
    ("🔍🔎👁⏳⌛", &["👀", "✍"]),
];

/// The emoji as Telegram takes it.
pub(super) fn known(emoji: &str) -> Result<String, ToolError> {
    let plain: String = emoji.trim().chars().filter(|character| *character != COLOURED).collect();
    if is_known(&plain) {
        return Ok(plain);
    }
    let first = plain.chars().next();
    let near = NEAR.iter().find(|(others, _)| first.is_some_and(|first| others.contains(first)));
    let near = near.map_or(&["👍", "❤", "🔥", "👀"][..], |(_, near)| near);
    let message = format!("Telegram does not take {:?} as a reaction.", elide(&plain, 20));
    Err(invalid(message).with_hint(format!("Near ones: {}. All: {ALL}", near.join(" "))))
}

fn is_known(emoji: &str) -> bool {
    ALL.split(' ').any(|known| known == emoji)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_of_the_list_is_taken_in_either_form_and_others_get_near_ones() {
        for (written, taken) in [("👍", "👍"), ("❤️", "❤"), (" ✍️ ", "✍"), ("❤️‍🔥", "❤‍🔥")]
        {
            assert_eq!(known(written).unwrap(), taken);
        }
        for (written, near) in
            [("😂", "Near ones: 🤣 😁."), ("✅", "Near ones: 👍"), ("x", "Near ones: 👍 ❤")]
        {
            assert!(known(written).unwrap_err().hint.contains(near), "{written}");
        }
        assert!(known("").is_err() && known("👍👍").is_err());
    }

    #[test]
    fn what_is_near_is_on_the_list() {
        let near = NEAR.iter().flat_map(|(_, near)| near.iter());
        let unknown: Vec<_> = near.filter(|emoji| !is_known(emoji)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
