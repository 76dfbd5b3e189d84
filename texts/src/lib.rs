//! What the bot itself says to people in a chat, in the languages that it speaks.
//!
//! Each text is a variant of [`Text`], with what it tells as its fields. Its words are in
//! `locales/LANGUAGE.ftl`, which are part of the program. What programs and operators read (logs, the command
//! line, errors over HTTP) is not here, and neither is what a model writes or reads.

mod catalogue;
mod list;

pub use list::Text;
pub use settings::language::Language;
