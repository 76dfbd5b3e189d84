//! Who is signed in: by the control token or a link that works once, then by a cookie for a week.
//!
//! The database has the SHA-256 of each cookie and when it ends, so that a session survives a restart and
//! a copy of the database opens none. Links and wrong attempts are known in memory alone.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use process::secrets::random_token;
use protocol::hash::sha256;
use protocol::now_ms;
use store::{Store, StoreError, kv};
use tokio::sync::watch;
use tokio::time::Instant;
use toolkit::locked;

/// How long somebody stays signed in.
pub(crate) const LIFE: Duration = Duration::from_secs(7 * 24 * 3600);

/// How long a link can be followed.
const LINK_LIFE: Duration = Duration::from_secs(5 * 60);

/// More links that were not followed are forgotten.
const MOST_LINKS: usize = 20;

/// After so many wrong tokens within [`WRONG_WITHIN`], no token is looked at.
const MOST_WRONG: usize = 20;
const WRONG_WITHIN: Duration = Duration::from_secs(60);

/// What the keys of sessions begin with.
const KEY: &str = "page.session.";

#[derive(Debug)]
pub struct Sessions {
    store: Store,
    state: Mutex<State>,
    /// Incremented when sessions end, so that what is followed ends with them.
    ended: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// When each session ends, in milliseconds since the epoch; none until they are read.
    sessions: Option<HashMap<String, i64>>,
    links: HashMap<String, Instant>,
    wrong: VecDeque<Instant>,
}

/// What became of an attempt to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Admitted,
    Wrong,
    /// There were too many wrong attempts.
    TooMany,
}

impl Sessions {
    pub fn new(store: Store) -> Self {
        Self { store, state: Mutex::default(), ended: watch::Sender::new(0) }
    }

    /// Begins a session and returns what its cookie says. It is stored before this returns.
    pub(super) async fn begin(&self) -> Result<String, StoreError> {
        self.load().await?;
        let cookie = random()?;
        let (hash, until_ms) = (hash(&cookie), now_ms().saturating_add(in_ms(LIFE)));
        let key = format!("{KEY}{hash}");
        self.store.write(move |tx| kv::set(tx, &key, &until_ms.to_string())).await?;
        self.lock().sessions.get_or_insert_default().insert(hash, until_ms);
        Ok(cookie)
    }

    /// Whether a cookie is one of ours that has not ended.
    pub(super) async fn holds(&self, cookie: &str) -> Result<bool, StoreError> {
        self.load().await?;
        let ends_ms = self.lock().sessions.as_ref().and_then(|known| known.get(&hash(cookie)).copied());
        Ok(ends_ms.is_some_and(|ends_ms| ends_ms > now_ms()))
    }

    /// Ends the session of a cookie.
    pub(super) async fn end(&self, cookie: &str) -> Result<(), StoreError> {
        let (hash, key) = (hash(cookie), format!("{KEY}{}", hash(cookie)));
        self.store.write(move |tx| kv::remove(tx, &key)).await?;
        self.lock().sessions.get_or_insert_default().remove(&hash);
        self.ended.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Ends all sessions and links, and returns how many sessions there were.
    pub async fn end_all(&self) -> Result<usize, StoreError> {
        let ended = self.store.write(|tx| {
            let all = kv::beginning_with(tx, KEY)?;
            all.iter().try_for_each(|(hash, _)| kv::remove(tx, &format!("{KEY}{hash}")))?;
            Ok(all.len())
        });
        let ended = ended.await?;
        *self.lock() = State { sessions: Some(HashMap::new()), ..State::default() };
        self.ended.send_modify(|count| *count += 1);
        Ok(ended)
    }

    /// A counter that increments when sessions end.
    pub(super) fn endings(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }

    /// The code of a new link, which works once.
    pub(crate) fn make_link(&self) -> Result<String, StoreError> {
        let code = random()?;
        let now = Instant::now();
        let mut state = self.lock();
        state.links.retain(|_, made| now.duration_since(*made) < LINK_LIFE);
        if state.links.len() >= MOST_LINKS {
            state.links.clear();
        }
        state.links.insert(hash(&code), now);
        Ok(code)
    }

    /// Whether this is the code of a link that was not followed yet; it is used up by that.
    pub(super) fn follow_link(&self, code: &str) -> bool {
        let made = self.lock().links.remove(&hash(code));
        made.is_some_and(|made| made.elapsed() < LINK_LIFE)
    }

    /// Notes an attempt to sign in with a token, and says whether it is let in.
    pub(super) fn attempt(&self, is_right: impl FnOnce() -> bool) -> Admission {
        let now = Instant::now();
        let mut state = self.lock();
        while state.wrong.front().is_some_and(|at| now.duration_since(*at) >= WRONG_WITHIN) {
            state.wrong.pop_front();
        }
        if state.wrong.len() >= MOST_WRONG {
            return Admission::TooMany;
        }
        if is_right() {
            return Admission::Admitted;
        }
        state.wrong.push_back(now);
        if state.wrong.len() == MOST_WRONG {
            tracing::warn!(
                "{MOST_WRONG} wrong tokens within a minute at the page; no token is looked at for a while"
            );
        }
        Admission::Wrong
    }

    /// Reads the sessions of earlier runs, once, and forgets those that have ended.
    async fn load(&self) -> Result<(), StoreError> {
        if self.lock().sessions.is_some() {
            return Ok(());
        }
        let now = now_ms();
        let read = self.store.write(move |tx| {
            let mut known = HashMap::new();
            for (hash, ends_ms) in kv::beginning_with(tx, KEY)? {
                match ends_ms.parse::<i64>() {
                    Ok(ends_ms) if ends_ms > now => drop(known.insert(hash, ends_ms)),
                    Ok(_) | Err(_) => kv::remove(tx, &format!("{KEY}{hash}"))?,
                }
            }
            Ok(known)
        });
        let read = read.await?;
        self.lock().sessions.get_or_insert(read);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

fn random() -> Result<String, StoreError> {
    random_token().map_err(|_| StoreError::NoRandomness)
}

fn hash(secret: &str) -> String {
    sha256(secret.as_bytes())
}

fn in_ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> (tempfile::TempDir, Sessions) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("autonous.db")).unwrap();
        (directory, Sessions::new(store))
    }

    #[tokio::test]
    async fn a_session_lasts_until_it_is_ended_and_a_restart_keeps_it() {
        let (_directory, sessions) = sessions();
        let [one, other] = [sessions.begin().await.unwrap(), sessions.begin().await.unwrap()];
        let restarted = Sessions::new(sessions.store.clone());
        assert!(restarted.holds(&one).await.unwrap() && !restarted.holds(&"0".repeat(64)).await.unwrap());
        restarted.end(&one).await.unwrap();
        assert!(!restarted.holds(&one).await.unwrap() && restarted.holds(&other).await.unwrap());
        assert_eq!(restarted.end_all().await.unwrap(), 1);
        assert!(!restarted.holds(&other).await.unwrap());
    }

    #[tokio::test]
    async fn the_database_has_no_cookie() {
        let (_directory, sessions) = sessions();
        let cookie = sessions.begin().await.unwrap();
        let kept = sessions.store.write(|tx| kv::beginning_with(tx, KEY)).await.unwrap();
        assert_eq!(kept.len(), 1);
        assert!(!format!("{kept:?}").contains(&cookie), "{kept:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_works_once_and_for_five_minutes() {
        let (_directory, sessions) = sessions();
        let [used, late] = [sessions.make_link().unwrap(), sessions.make_link().unwrap()];
        assert!(sessions.follow_link(&used) && !sessions.follow_link(&used));
        tokio::time::advance(LINK_LIFE).await;
        assert!(!sessions.follow_link(&late));
    }

    #[tokio::test(start_paused = true)]
    async fn after_too_many_wrong_tokens_even_the_right_one_waits() {
        let (_directory, sessions) = sessions();
        for _ in 0..MOST_WRONG {
            assert_eq!(sessions.attempt(|| false), Admission::Wrong);
        }
        assert_eq!(sessions.attempt(|| panic!("it is not looked at")), Admission::TooMany);
        tokio::time::advance(WRONG_WITHIN).await;
        assert_eq!(sessions.attempt(|| true), Admission::Admitted);
    }
}
