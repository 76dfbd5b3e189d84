//! Views that change while somebody looks: server-sent events with the parts that are new.
//!
//! Each view that is followed is rendered once for all who follow it, after something was written to the
//! database that it shows, and not again within [`RENDERS_EVERY`]. Nothing is rendered while no browser
//! follows it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use channel::Chat;
use futures_util::stream::{self, Stream};
use maud::Markup;
use serde::Deserialize;
use serde_json::json;
use store::queries::page as queries;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use toolkit::locked;

use super::Page;
use super::error::PageError;
use super::guard::cookie;
use super::read::read;
use super::{approvals, now, talk, tasks};
use crate::channels::page::NAME;
use crate::control::Control;

/// The pause between two renderings of a view.
const RENDERS_EVERY: Duration = Duration::from_millis(500);

/// A view that takes long is rendered less often: the pause is so many times as long as its rendering.
const PAUSES_FOR: u32 = 25;

/// Health, and calls of others, change without a write to the database.
const LOOKS_AGAIN: Duration = Duration::from_secs(5);

/// A view that can be followed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum View {
    Now,
    Approvals,
    /// A page of a task's events.
    Task {
        id: String,
        page: usize,
    },
    Chat(String),
}

/// The parts of a view, each with the number of the rendering that it is from.
type Parts = Arc<Vec<(&'static str, u64, Arc<str>)>>;

/// The views that are followed.
#[derive(Debug, Default)]
pub(crate) struct Live(Mutex<HashMap<View, Weak<watch::Sender<Parts>>>>);

#[derive(Deserialize)]
pub(super) struct PageNumber {
    #[serde(default)]
    page: usize,
}

pub(super) async fn get_live(
    State(control): State<Arc<Control>>,
    Extension(page): Extension<Arc<Page>>,
    Path(view): Path<String>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let view = match view.as_str() {
        "now" => View::Now,
        "approvals" => View::Approvals,
        _ => return Err(PageError::missing("view")),
    };
    Ok(follow(&control, page, view, &headers))
}

pub(super) async fn get_live_of(
    State(control): State<Arc<Control>>,
    Extension(page): Extension<Arc<Page>>,
    Path((view, id)): Path<(String, String)>,
    Query(PageNumber { page: number }): Query<PageNumber>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let view = match view.as_str() {
        "tasks" => View::Task { id, page: number },
        "chat" => View::Chat(id),
        _ => return Err(PageError::missing("view")),
    };
    Ok(follow(&control, page, view, &headers))
}

fn follow(control: &Arc<Control>, page: Arc<Page>, view: View, headers: &HeaderMap) -> Response {
    let followed = page.live.of(control, view);
    let cookie = cookie(headers).unwrap_or_default().to_owned();
    let events = events(Arc::clone(control), page, followed, cookie);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

impl Live {
    /// What follows a view; it is rendered for as long as somebody has this.
    fn of(&self, control: &Arc<Control>, view: View) -> Arc<watch::Sender<Parts>> {
        let mut views = locked(&self.0);
        views.retain(|_, followed| followed.strong_count() > 0);
        if let Some(followed) = views.get(&view).and_then(Weak::upgrade) {
            return followed;
        }
        let followed = Arc::new(watch::Sender::new(Parts::default()));
        views.insert(view.clone(), Arc::downgrade(&followed));
        tokio::spawn(keep(Arc::clone(control), view, Arc::downgrade(&followed)));
        followed
    }
}

/// Renders a view again and again, while a browser follows it.
async fn keep(control: Arc<Control>, view: View, followed: Weak<watch::Sender<Parts>>) {
    let (mut changes, mut words) = (control.store.changes(), control.words.changes());
    let follows_words = matches!(view, View::Chat(_));
    let (mut rendering, mut shown) = (0, None);
    while let Some(sender) = followed.upgrade() {
        changes.mark_unchanged();
        words.mark_unchanged();
        let began = Instant::now();
        let mut pause = RENDERS_EVERY;
        let version = version(&control, &view).await;
        if version.is_none() || version != shown {
            shown = version;
            if let Ok(parts) = render(&control, &view).await {
                rendering += 1;
                sender.send_if_modified(|kept| replace(kept, parts, rendering));
            }
            pause = pause.max(began.elapsed() * PAUSES_FOR).min(LOOKS_AGAIN);
        }
        drop(sender);
        sleep_until(began + pause).await;
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            changed = words.changed(), if follows_words => if changed.is_err() { return },
            () = tokio::time::sleep(LOOKS_AGAIN) => {}
            () = control.stop.cancelled() => return,
        }
    }
}

/// What a view shows is as it was while this is; none where that is not known, or costs as much as the view.
async fn version(control: &Control, view: &View) -> Option<String> {
    match view {
        View::Now | View::Approvals => None,
        View::Task { id, .. } => {
            let id = id.clone();
            read(control, move |connection| queries::task_version(connection, &id)).await.ok()
        }
        View::Chat(name) => {
            let chat = Chat::new(NAME, name);
            let (version, running) =
                read(control, move |connection| queries::chat_version(connection, &chat)).await.ok()?;
            let words = running.and_then(|task| control.words.of(&task)).map_or(0, |said| said.number);
            Some(format!("{version} {words}"))
        }
    }
}

async fn render(control: &Control, view: &View) -> Result<Vec<(&'static str, Markup)>, PageError> {
    match view {
        View::Now => Ok(::page::now::parts(&now::load(control).await?)),
        View::Approvals => approvals::parts(control).await,
        View::Task { id, page } => tasks::parts(control, id, *page).await,
        View::Chat(chat) => talk::parts(control, chat).await,
    }
}

/// Keeps the parts that are as they were; whether any is new.
fn replace(kept: &mut Parts, parts: Vec<(&'static str, Markup)>, rendering: u64) -> bool {
    let before = Arc::clone(kept);
    let mut is_new = false;
    let renewed = parts.into_iter().map(|(id, html)| {
        let html = html.into_string();
        match before.iter().find(|(known, _, old)| *known == id && **old == *html) {
            Some(same) => same.clone(),
            None => {
                is_new = true;
                (id, rendering, Arc::from(html))
            }
        }
    });
    *kept = Arc::new(renewed.collect());
    is_new
}

struct Follower {
    control: Arc<Control>,
    page: Arc<Page>,
    cookie: String,
    parts: watch::Receiver<Parts>,
    /// Its being here keeps the view rendered.
    _followed: Arc<watch::Sender<Parts>>,
    endings: watch::Receiver<u64>,
    /// The newest rendering of which each part was sent.
    sent: u64,
    waiting: Vec<Event>,
    is_over: bool,
}

/// The parts as events, until the session ends or the supervisor does.
fn events(
    control: Arc<Control>,
    page: Arc<Page>,
    followed: Arc<watch::Sender<Parts>>,
    cookie: String,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let mut parts = followed.subscribe();
    parts.mark_changed();
    let endings = page.sessions.endings();
    let follower = Follower {
        control,
        page,
        cookie,
        parts,
        _followed: followed,
        endings,
        sent: 0,
        waiting: Vec::new(),
        is_over: false,
    };
    stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })
}

impl Follower {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            let stop = self.control.stop.clone();
            tokio::select! {
                () = stop.cancelled() => return None,
                changed = self.parts.changed() => {
                    changed.ok()?;
                    self.take();
                }
                ended = self.endings.changed() => {
                    ended.ok()?;
                    if !self.is_signed_in().await {
                        self.is_over = true;
                        return Some(Event::default().event("signed-out").data("{}"));
                    }
                }
            }
        }
    }

    fn take(&mut self) {
        let parts = Arc::clone(&self.parts.borrow_and_update());
        let fresh = parts.iter().rev().filter(|(_, rendering, _)| *rendering > self.sent);
        self.waiting = fresh
            .map(|(id, _, html)| {
                Event::default().event("part").data(json!({"id": id, "html": &**html}).to_string())
            })
            .collect();
        self.sent = parts.iter().map(|(_, rendering, _)| *rendering).max().unwrap_or(self.sent);
    }

    async fn is_signed_in(&self) -> bool {
        self.page.sessions.holds(&self.cookie).await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    #[test]
    fn a_part_that_is_as_it_was_keeps_its_number() {
        let mut kept = Parts::default();
        let parts = |two: &str| vec![("one", html! { "a" }), ("two", html! { (two) })];
        assert!(replace(&mut kept, parts("b"), 1));
        assert!(!replace(&mut kept, parts("b"), 2));
        assert!(replace(&mut kept, parts("c"), 3));
        assert_eq!(
            kept.iter().map(|(id, number, _)| (*id, *number)).collect::<Vec<_>>(),
            [("one", 1), ("two", 3)]
        );
    }
}
