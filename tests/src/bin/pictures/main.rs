//! Pictures of the bot's chats as a phone shows them, from what the running programs sent to the tests'
//! Telegram: each is a page of HTML and, if Chromium is there, a PNG of it. And pictures of the page at the
//! control port, and of the conversation in a terminal.
//!
//! The argument is the directory for them. `CHROMIUM` names the browser.

mod chat;
mod control_page;
mod more_scenes;
mod page;
mod scenes;
mod shot;
mod terminal;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1).map(PathBuf::from) else {
        println!("Usage: pictures DIRECTORY");
        return ExitCode::FAILURE;
    };
    std::fs::create_dir_all(&directory).expect("the directory can be made");
    let browser = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    println!("{}", terminal::take(&directory).display());
    control_page::take(&directory).iter().for_each(|picture| println!("{}", picture.display()));
    let mut missing = 0;
    for (name, page) in scenes::play() {
        let file = directory.join(format!("{name}.html"));
        std::fs::write(&file, page).expect("a page can be written");
        match shot::take(&browser, &file) {
            Ok(picture) => println!("{}", picture.display()),
            Err(why) => {
                println!("{}: {why}", file.display());
                missing += 1;
            }
        }
    }
    if missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
