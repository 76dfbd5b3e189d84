//! Receives updates as Telegram delivers them to an address of ours, instead of asking for them.
//!
//! A delivery is answered once its update is stored, and else with an error, so that Telegram repeats it.
//! Each delivery must bring the secret that this start has given to Telegram alone. Telegram is asked
//! regularly whether its deliveries arrive.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use channel::update_sink::ServiceState;
use http_port::{Bounds, Routes, TimeLimits};
use process::Secret;
use protocol::now_ms;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::api::{ALLOWED_UPDATES, BATCH, CallError, PATIENCE, Received, read};
use super::content::Identity;
use super::receive::Receiver;

/// The header of a delivery with our secret (<https://core.telegram.org/bots/api#setwebhook>).
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";

/// One after the other, so that the messages of a chat are stored in their order.
const CONNECTIONS: u8 = 1;

/// More than any update has, with all that it quotes.
const MAX_UPDATE_BYTES: usize = 1 << 20;

/// How often Telegram is asked whether its deliveries arrive.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// The same while messages that waited at start may still come.
const LOOK_IN_BACKLOG: Duration = Duration::from_secs(1);

/// A delivery that failed so long ago says nothing of now.
const RECENT_MS: i64 = 60_000;

/// Connections at once: one of Telegram, and others of who happens to find the address.
const BOUNDS: Bounds = Bounds {
    time: TimeLimits {
        head: Duration::from_secs(5),
        idle: Duration::from_secs(300),
        body: Duration::from_secs(30),
        reading: Duration::from_secs(30),
    },
    connections: 64,
    reserve: 4,
};

const REMEDY: &str = "Check AUTONOUS_TELEGRAM_WEBHOOK_URL, its certificate, and the proxy that leads from \
                      there to AUTONOUS_TELEGRAM_WEBHOOK_LISTEN.";

/// Where Telegram delivers updates.
#[derive(Debug)]
pub struct Webhook {
    /// The address that Telegram knows.
    pub url: reqwest::Url,
    /// The port that deliveries arrive at, in non-blocking mode.
    pub listener: TcpListener,
    /// What each delivery must bring: letters and digits, made at each start.
    pub secret: Secret,
}

/// What `getWebhookInfo` answers (<https://core.telegram.org/bots/api#getwebhookinfo>).
#[derive(Debug, Deserialize)]
struct WebhookInfo {
    url: String,
    pending_update_count: u64,
    /// In seconds since the epoch.
    last_error_date: Option<i64>,
    last_error_message: Option<String>,
}

/// An update that waits to be stored, and where to say that it is.
struct Delivery {
    update: Received,
    stored: oneshot::Sender<()>,
}

struct Door {
    secret: Secret,
    deliveries: mpsc::Sender<Delivery>,
}

impl Receiver {
    /// Receives deliveries until `stop`.
    pub(super) async fn receive_deliveries(mut self, webhook: Webhook, stop: CancellationToken) {
        let Webhook { url, listener, secret } = webhook;
        let (deliveries, arrived) = mpsc::channel(usize::from(BATCH));
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(%error, "the port of the webhook cannot be used");
                return;
            }
        };
        let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        tracing::info!(address, %url, "Telegram's deliveries arrive here");
        let door = Door { secret: secret.clone(), deliveries };
        let until = stop.clone();
        let serving = http_port::serve(listener, None, routes(door), BOUNDS, async move {
            until.cancelled().await;
            Duration::from_secs(1)
        });
        tokio::select! {
            _ = serving => {}
            () = self.keep_receiving(&url, &secret, arrived) => {}
        }
    }

    async fn keep_receiving(
        &mut self,
        url: &reqwest::Url,
        secret: &Secret,
        mut arrived: mpsc::Receiver<Delivery>,
    ) {
        let (mut is_told, mut next_look) = (false, Instant::now());
        let mut bot = None;
        loop {
            tokio::select! {
                biased;
                () = sleep_until(next_look) => {
                    let looked = self.look(url, secret, &mut is_told).await;
                    next_look = Instant::now() + match looked {
                        Ok(identity) => {
                            bot = Some(identity);
                            if self.sink.is_in_backlog() { LOOK_IN_BACKLOG } else { LOOK_EVERY }
                        }
                        Err(error) => self.after_telegram_error(&error),
                    };
                }
                first = arrived.recv(), if bot.is_some() => {
                    let (Some(first), Some(bot)) = (first, &bot) else { return };
                    self.store_deliveries(first, &mut arrived, bot).await;
                }
            }
        }
    }

    /// Tells Telegram our address where it knows another, and reports whether its deliveries arrive.
    async fn look(
        &mut self,
        url: &reqwest::Url,
        secret: &Secret,
        is_told: &mut bool,
    ) -> Result<Identity, CallError> {
        let bot = self.identify().await?;
        let info: WebhookInfo = self.api.ask("GetWebhookInfo", &json!({}), PATIENCE).await?;
        if !*is_told || info.url != url.as_str() {
            if *is_told {
                tracing::warn!(other = info.url, "another program has moved the webhook; it is set again");
            }
            // <https://core.telegram.org/bots/api#setwebhook>
            let fields = json!({
                "url": url.as_str(), "secret_token": secret.expose(), "max_connections": CONNECTIONS,
                "allowed_updates": ALLOWED_UPDATES,
            });
            let _: bool = self.api.ask("SetWebhook", &fields, PATIENCE).await?;
            *is_told = true;
        }
        self.set_menu().await;
        self.failures = 0;
        let failed_at_ms = info.last_error_date.unwrap_or(0).saturating_mul(1000);
        match info.last_error_message.filter(|_| failed_at_ms > now_ms() - RECENT_MS) {
            Some(why) => {
                let detail = format!("Telegram cannot deliver to {url}: {why}");
                tracing::warn!(why, "Telegram cannot deliver updates");
                self.sink.report(ServiceState::Degraded { detail, remedy: REMEDY });
            }
            None => self.report(&bot),
        }
        if info.pending_update_count == 0 && self.sink.is_in_backlog() {
            let ended = self.sink.store(Vec::new(), None, true).await;
            ended.unwrap_or_else(|error| tracing::error!(%error, "could not note that no messages wait"));
        }
        Ok(bot)
    }

    /// Stores what has arrived in one transaction, and answers each delivery. One that is not answered is
    /// refused by the door.
    async fn store_deliveries(
        &mut self,
        first: Delivery,
        arrived: &mut mpsc::Receiver<Delivery>,
        bot: &Identity,
    ) {
        let mut deliveries = vec![first];
        while deliveries.len() < usize::from(BATCH)
            && let Ok(next) = arrived.try_recv()
        {
            deliveries.push(next);
        }
        deliveries.sort_by_key(|delivery| delivery.update.id);
        let (updates, answers): (Vec<_>, Vec<_>) =
            deliveries.into_iter().map(|delivery| (delivery.update, delivery.stored)).unzip();
        match self.store(updates, bot, false).await {
            Ok(()) => answers.into_iter().for_each(|stored| {
                let _ = stored.send(());
            }),
            Err(error) => tracing::error!(%error, "could not store updates; Telegram delivers them again"),
        }
    }
}

fn routes(door: Door) -> Routes {
    let all = Router::new()
        .route("/", post(deliver))
        .route("/{*path}", post(deliver))
        .layer(DefaultBodyLimit::max(MAX_UPDATE_BYTES))
        .with_state(Arc::new(door));
    let when_full = Router::new().fallback(|| async { StatusCode::SERVICE_UNAVAILABLE });
    Routes { all, when_full, metrics: None }
}

async fn deliver(State(door): State<Arc<Door>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let given = headers.get(SECRET_HEADER).and_then(|value| value.to_str().ok());
    if !given.is_some_and(|given| door.secret.matches(given)) {
        tracing::warn!(
            "a delivery without our secret was refused; it is not of Telegram, or of an earlier start"
        );
        return StatusCode::UNAUTHORIZED;
    }
    let raw: Result<Box<RawValue>, _> = serde_json::from_slice(&body);
    let Some(update) = raw.ok().and_then(|raw| read(&[raw]).pop()) else { return StatusCode::BAD_REQUEST };
    let (stored, is_stored) = oneshot::channel();
    // A full line is refused at once: Telegram comes again.
    if door.deliveries.try_send(Delivery { update, stored }).is_err() {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    match is_stored.await {
        Ok(()) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
