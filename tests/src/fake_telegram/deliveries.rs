//! Deliveries of the fake Telegram to a webhook.
//!
//! The address that a bot sets is one of the internet, where a proxy ends TLS. A test says where that leads.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::FakeTelegram;
use super::state::Shared;
use crate::http::Request;

/// The pause before an update is delivered again; Telegram's own grows.
const PAUSE: Duration = Duration::from_millis(100);

impl FakeTelegram {
    /// What the bot has set as its webhook, and how often.
    pub fn webhook(&self) -> (String, usize) {
        let state = self.shared.lock();
        (state.webhook.url.clone(), state.webhook.times)
    }

    /// Sets another address, as another program with the bot's token would.
    pub fn move_webhook(&self, url: &str) {
        self.shared.lock().webhook.url = url.to_owned();
    }

    /// The secret that the bot has set.
    pub fn webhook_secret(&self) -> Option<String> {
        self.shared.lock().webhook.secret.clone()
    }

    /// Delivers updates to this port while a webhook is set: one after the other, each until it is taken.
    pub fn deliver_to(&self, address: SocketAddr) {
        let shared = Arc::downgrade(&self.shared);
        thread::spawn(move || while deliver(&shared, address).is_some() {});
    }
}

/// One attempt; none once the server is gone.
fn deliver(shared: &Weak<Shared>, address: SocketAddr) -> Option<()> {
    let (id, update, secret) = {
        let shared = shared.upgrade()?;
        let state = shared.lock();
        match state.waiting.front().filter(|_| state.webhook.is_set() && !state.is_cut) {
            Some((id, update)) => (*id, update.clone(), state.webhook.secret.clone()),
            None => {
                drop(state);
                drop(shared);
                thread::sleep(PAUSE / 10);
                return Some(());
            }
        }
    };
    let request = Request::post_json("/hook", &update);
    let request = match &secret {
        Some(secret) => request.header("X-Telegram-Bot-Api-Secret-Token", secret),
        None => request,
    };
    let why = match request.try_send(address) {
        Ok(answer) if (200..300).contains(&answer.status) => None,
        Ok(answer) => Some(format!("Wrong response from the webhook: {}", answer.status)),
        Err(error) => Some(error.to_string()),
    };
    let shared = shared.upgrade()?;
    let mut state = shared.lock();
    match why {
        None => {
            state.waiting.retain(|(known, _)| *known != id);
            state.confirmed.insert(id);
        }
        Some(why) => {
            state.webhook.failed(why);
            drop(state);
            drop(shared);
            thread::sleep(PAUSE);
        }
    }
    Some(())
}
