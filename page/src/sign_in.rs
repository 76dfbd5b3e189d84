//! How somebody signs in.

use maud::{Markup, html};

use crate::frame::bare;

/// Why the last attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Token,
    /// The link was used, or is older than five minutes.
    Link,
    TooMany,
}

/// The page for those who are not signed in.
pub fn sign_in(failure: Option<Failure>) -> Markup {
    let said = failure.map(|failure| match failure {
        Failure::Token => "This is not the control token.",
        Failure::Link => "This link was used, or is older than five minutes. Make another one.",
        Failure::TooMany => "There were too many wrong tokens. Wait a minute, then try again.",
    });
    let body = html! {
        @if let Some(said) = said { p.notice.bad role="alert" { (said) } }
        form method="post" action="/session" {
            // Programs that keep passwords want a name beside one.
            input name="username" value="autonous" autocomplete="username" hidden readonly;
            label for="token" { "Control token" }
            input id="token" name="token" type="password" required autofocus autocomplete="current-password";
            button.good { "Sign in" }
        }
        p {
            "Or type " code { "supervisor open" }
            " where the supervisor runs: it makes a link that signs you in."
        }
        p { code { "supervisor token control" } " prints the token." }
    };
    bare("Sign in", &body)
}
