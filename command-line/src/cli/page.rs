//! `supervisor open` and `supervisor sign-out`: who sees the page.

use std::process::{Command, Stdio};

use clap::Args;

use super::control_client::ControlClient;
use super::database_access::{DatabaseAccess, database_access};
use super::error::CommandError;
use supervisor::data_dir::DataDir;
use supervisor::page::links::{Ended, Link};
use supervisor::page::sessions::Sessions;
use supervisor::tokens::Tokens;

/// The program that opens an address in the browser of a desktop.
const OPENER: &str = "xdg-open";

#[derive(Debug, Args)]
pub(crate) struct OpenArguments {
    /// Only print the link, and open no browser.
    #[arg(long)]
    pub print: bool,
}

/// Makes a link that signs in at the page. It is opened in a browser where there is a desktop.
pub(super) async fn open(
    data: &DataDir,
    arguments: &OpenArguments,
    has_desktop: bool,
) -> Result<String, CommandError> {
    let client = ControlClient::new(data)?;
    let Link { path } = client.send(client.post("/session/link")).await?;
    let address = format!("{}{path}", Tokens::read(&data.tokens())?.control_url);
    let is_opened = !arguments.print && has_desktop && start_browser(&address);
    Ok(if is_opened {
        format!("{address}\nThe link was opened in your browser. It works once.")
    } else {
        address
    })
}

fn start_browser(address: &str) -> bool {
    let mut opener = Command::new(OPENER);
    opener.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    opener.status().is_ok_and(|status| status.success())
}

/// Ends all sessions of the page.
pub(super) async fn sign_out(data: &DataDir) -> Result<String, CommandError> {
    let ended = match database_access(data).await? {
        DatabaseAccess::ViaSupervisor => {
            let client = ControlClient::new(data)?;
            let Ended { sessions } = client.send(client.post("/session/end-all")).await?;
            sessions
        }
        DatabaseAccess::Exclusive(exclusive) => Sessions::new(exclusive.store.clone()).end_all().await?,
    };
    let sessions = if ended == 1 { "session" } else { "sessions" };
    Ok(format!("Ended {ended} {sessions} of the page."))
}
