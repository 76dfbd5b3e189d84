//! Decides what to do with a message, and whether a person may press a button; pure functions.

use std::collections::HashSet;

use channel::Chat;
use channel::access::{Access, GroupMembers, GroupTrigger};
use channel::update::Incoming;
use protocol::{PersonId, Sender};
use texts::Text;

use crate::commands::{self, Command, Parsed};

/// What to do with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Run,
    /// It replaces the text of an earlier message.
    Edited,
    /// It waited too long: do not run it, but store its text, so that a person can requeue it.
    Late,
    /// Carry it out at once.
    Command(Command),
    /// Store a row, do not run it, and do not answer.
    Skip(&'static str),
    /// It does not speak to the bot: do as for [`Self::Skip`], but a group may let the model read it later.
    Overheard,
    /// Store a row, do not run it, and tell the chat why.
    Answer {
        reason: &'static str,
        reply: Text<'static>,
    },
    /// The chat may not use the bot: tell it how it may, but not every time.
    UnknownChat,
    /// The sender is not obeyed in this group: tell the group why, but not every time.
    NotObeyed(Text<'static>),
}

/// The facts of a message when it comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub access: &'a Access,
    /// Who administers its group; none if that is not known.
    pub administrators: Option<&'a HashSet<PersonId>>,
    /// Messages from before this time, in seconds since the epoch, waited too long.
    pub not_before: Option<i64>,
}

/// Whether a person is obeyed in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obeyed {
    Yes,
    /// What the group reads.
    No(Text<'static>),
    /// It is not known who administers the group.
    DependsOnAdministrators,
}

/// Decides about a message.
pub(crate) fn judge(chat: &Chat, incoming: &Incoming, rules: &Rules<'_>) -> Verdict {
    let verdict = match refusal(chat, incoming, rules) {
        Some(refused) => refused,
        None => of_content(incoming, is_late(incoming, rules)),
    };
    match verdict {
        Verdict::Run if incoming.is_edit => Verdict::Edited,
        // It may be an edit of a part of one that speaks to the bot.
        Verdict::Overheard => Verdict::Overheard,
        _ if incoming.is_edit => Verdict::Skip("an edited message that is not run"),
        verdict => verdict,
    }
}

/// Whether a person is obeyed in a chat that may use the bot.
pub(crate) fn obeyed(person: Option<&Sender>, chat: &Chat, rules: &Rules<'_>) -> Obeyed {
    let access = rules.access;
    let Some(person) = person.filter(|_| access.is_group(&chat.id)) else { return Obeyed::Yes };
    match access.rules().group_members {
        _ if access.lists(person) => Obeyed::Yes,
        GroupMembers::All => Obeyed::Yes,
        GroupMembers::Listed => Obeyed::No(Text::ListedAlone),
        GroupMembers::Admins if !access.rules().users.is_empty() => Obeyed::No(Text::ListedAlone),
        GroupMembers::Admins => match rules.administrators {
            Some(people) if people.contains(&person.id) => Obeyed::Yes,
            Some(_) => Obeyed::No(Text::AdministratorsAlone),
            None => Obeyed::DependsOnAdministrators,
        },
    }
}

/// Whether the verdict depends on who administers the message's group.
pub(super) fn needs_administrators(chat: &Chat, incoming: &Incoming, access: &Access) -> bool {
    let rules = Rules { access, administrators: None, not_before: None };
    let is_theirs = matches!(
        incoming.command.as_deref().and_then(commands::parse),
        Some(Parsed::Command(Command::Context { change: Some(_) }))
    );
    let depends = obeyed(incoming.sender(), chat, &rules) == Obeyed::DependsOnAdministrators;
    access.is_group(&chat.id) && speaks(chat, incoming, &rules).is_none() && (is_theirs || depends)
}

fn is_late(incoming: &Incoming, rules: &Rules<'_>) -> bool {
    rules.not_before.is_some_and(|limit| incoming.sent_at < limit)
}

/// Why a message is not considered; none if it is.
fn refusal(chat: &Chat, incoming: &Incoming, rules: &Rules<'_>) -> Option<Verdict> {
    const NOT_KNOWN: &str = "it is not known who administers the group";
    let is_to_bot = incoming.is_to_bot || !rules.access.is_group(&chat.id);
    let verdict = speaks(chat, incoming, rules).or_else(|| match obeyed(incoming.sender(), chat, rules) {
        Obeyed::Yes => None,
        Obeyed::No(_) if !is_to_bot => Some(Verdict::Skip("its sender is not obeyed in this group")),
        Obeyed::No(reply) => Some(Verdict::NotObeyed(reply)),
        Obeyed::DependsOnAdministrators if !is_to_bot => Some(Verdict::Skip(NOT_KNOWN)),
        Obeyed::DependsOnAdministrators => {
            Some(Verdict::Answer { reason: NOT_KNOWN, reply: Text::UnknownAdministrators })
        }
    });
    match verdict? {
        Verdict::UnknownChat | Verdict::NotObeyed(_) if is_late(incoming, rules) => {
            Some(Verdict::Skip("an old message of somebody who may not use the bot"))
        }
        verdict => Some(verdict),
    }
}

/// Why a message is not for us, from any sender; none if it is.
fn speaks(chat: &Chat, incoming: &Incoming, rules: &Rules<'_>) -> Option<Verdict> {
    let is_to_bot = incoming.is_to_bot || !rules.access.is_group(&chat.id);
    if incoming.sender().is_some_and(|sender| sender.is_bot) {
        return Some(Verdict::Skip("a bot wrote it"));
    }
    match (rules.access.allows(&chat.id), is_to_bot) {
        (false, true) => Some(Verdict::UnknownChat),
        (false, false) => Some(Verdict::Skip("the chat may not use the bot")),
        (true, false) if rules.access.rules().group_trigger == GroupTrigger::Mention => {
            Some(Verdict::Overheard)
        }
        (true, _) => None,
    }
}

/// What to do with a message of somebody who may ask for it.
fn of_content(incoming: &Incoming, is_late: bool) -> Verdict {
    if incoming.is_forwarded() && incoming.command.is_some() {
        return Verdict::Answer { reason: "a forwarded command", reply: Text::ForwardedCommand };
    }
    match (incoming.command.as_deref().and_then(commands::parse), incoming.unreadable) {
        (Some(_), _) if is_late => Verdict::Skip("a command that waited too long"),
        _ if is_late => Verdict::Late,
        (Some(Parsed::Command(command)), _) => Verdict::Command(command),
        (Some(Parsed::Misused(reply)), _) => Verdict::Answer { reason: "a misused command", reply },
        (None, Some(unreadable)) => match unreadable.reply() {
            Some(reply) => Verdict::Answer { reason: unreadable.reason(), reply },
            None => Verdict::Skip(unreadable.reason()),
        },
        (None, None) => Verdict::Run,
    }
}
