//! `/whoami`: the IDs that the settings ask for.

use texts::Text;

use super::Context;

pub(super) fn text(context: &Context<'_>) -> String {
    let Context { chat, origin, language, .. } = *context;
    let who = origin.and_then(|origin| origin.from.as_ref()).map(ToString::to_string);
    let who = who.map(|sender| format!("{}\n", Text::WhoYouAre { sender: &sender }.to(language)));
    let (id, channel) = (chat.id.as_str(), chat.channel.as_str());
    let here = match origin.and_then(|origin| origin.chat.as_ref()) {
        Some(name) => Text::WhereThisIsNamed { name, chat: id, channel },
        None => Text::WhereThisIs { chat: id, channel },
    };
    format!("{}{}", who.unwrap_or_default(), here.to(language))
}
