//! How long the commands of a session, and of all callers together, may still run today (UTC).
//!
//! A command reserves its time before it starts and gives back what it did not use, so that commands that run
//! at the same time never exceed a limit together. What was used is kept in a file: a restart does not begin
//! again. The time of a command whose server was killed is lost.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use protocol::{ErrorCode, ToolError, millis, now_ms};
use serde::{Deserialize, Serialize};
use settings::quotas::{DAY_MS, Limits, free_again, next_midnight_ms};
use toolkit::{Scope, locked};

/// The file, beside the journal.
const FILE: &str = "command-time.json";

/// A command with less than this left would not get anywhere.
const SHORTEST: Duration = Duration::from_secs(1);

/// When to try again while other commands have reserved the rest.
const RETRY_AFTER_SECONDS: u64 = 5;

/// The seconds of commands that each session has used today.
#[derive(Debug, Default)]
pub struct CommandQuota {
    limits: Mutex<Most>,
    path: PathBuf,
    today: Mutex<Today>,
}

/// The most in a day.
#[derive(Debug, Clone, Copy, Default)]
struct Most {
    of_session: Option<Duration>,
    of_callers: Option<Duration>,
}

impl Most {
    fn of(limits: &Limits) -> Self {
        let seconds = |limit: Option<u64>| limit.map(Duration::from_secs);
        Self {
            of_session: seconds(limits.chat.command_seconds_per_day),
            of_callers: seconds(limits.token.command_seconds_per_day),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Today {
    /// Days since the epoch.
    day: i64,
    all_ms: u64,
    sessions_ms: HashMap<String, u64>,
    #[serde(default)]
    tokens_ms: HashMap<String, u64>,
    #[serde(skip)]
    all_reserved: Duration,
    #[serde(skip)]
    sessions_reserved: HashMap<String, Duration>,
    #[serde(skip)]
    tokens_reserved: HashMap<String, Duration>,
}

/// The time that a command has reserved; dropping it counts what was used.
#[derive(Debug)]
pub(crate) struct Reservation<'a> {
    quota: &'a CommandQuota,
    scope: &'a Scope,
    pub(crate) time: Duration,
    since: Instant,
}

impl CommandQuota {
    /// The limits, and what was used of them today, from the directory of the journal.
    pub fn open(limits: &Limits, directory: &Path) -> io::Result<Self> {
        let path = directory.join(FILE);
        let today = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Today::default(),
            // A damaged file would lift the limit in silence.
            read => serde_json::from_slice(&read?).map_err(io::Error::other)?,
        };
        Ok(Self { limits: Mutex::new(Most::of(limits)), path, today: Mutex::new(today) })
    }

    /// From now on these limits hold. What was used today stays used.
    pub fn set_limits(&self, limits: &Limits) {
        *locked(&self.limits) = Most::of(limits);
    }

    /// Reserves at most `wanted`.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED` with the time until there is some again.
    pub(crate) fn reserve<'a>(
        &'a self,
        scope: &'a Scope,
        wanted: Duration,
    ) -> Result<Reservation<'a>, ToolError> {
        let most = *locked(&self.limits);
        let mut today = self.today();
        let used = |of: &HashMap<String, u64>, name| Duration::from_millis(*of.get(name).unwrap_or(&0));
        let reserved = |of: &HashMap<String, Duration>, name| *of.get(name).unwrap_or(&Duration::ZERO);
        let (session, token) = (scope.as_str(), scope.token().unwrap_or_default());
        let of_token = scope.grant().and_then(|grant| grant.command_time_per_day());
        let all = Duration::from_millis(today.all_ms);
        let own = (used(&today.sessions_ms, session), reserved(&today.sessions_reserved, session));
        let tokens = (used(&today.tokens_ms, token), reserved(&today.tokens_reserved, token));
        let mut time = wanted;
        for (limit, (used, reserved), whom) in [
            (most.of_session, own, "this chat"),
            (of_token, tokens, "this token"),
            (most.of_callers, (all, today.all_reserved), "all callers"),
        ] {
            let Some(limit) = limit else { continue };
            let left = limit.saturating_sub(used);
            if left < SHORTEST {
                return Err(exceeded(limit, whom));
            }
            let free = left.saturating_sub(reserved);
            if free < SHORTEST {
                return Err(reserved_by_others(limit, whom));
            }
            time = time.min(free);
        }
        today.all_reserved += time;
        *today.sessions_reserved.entry(session.to_owned()).or_default() += time;
        if of_token.is_some() {
            *today.tokens_reserved.entry(token.to_owned()).or_default() += time;
        }
        Ok(Reservation { quota: self, scope, time, since: Instant::now() })
    }

    /// The counts of this day; those of another one are forgotten. Reservations stay.
    fn today(&self) -> MutexGuard<'_, Today> {
        let mut today = locked(&self.today);
        let day = now_ms().div_euclid(DAY_MS);
        if today.day != day {
            (today.day, today.all_ms) = (day, 0);
            today.sessions_ms.clear();
            today.tokens_ms.clear();
        }
        today
    }

    fn give_back(&self, scope: &Scope, reserved: Duration, used: Duration) {
        let mut today = self.today();
        today.all_reserved = today.all_reserved.saturating_sub(reserved);
        let (session, token) = (scope.as_str(), scope.token().unwrap_or_default());
        free(&mut today.sessions_reserved, session, reserved);
        // Only what was reserved: the token may have another grant with a limit meanwhile.
        let is_limited = scope.grant().is_some_and(|grant| grant.command_time_per_day().is_some());
        if is_limited {
            free(&mut today.tokens_reserved, token, reserved);
        }
        let most = *locked(&self.limits);
        if most.of_session.is_none() && most.of_callers.is_none() && !is_limited {
            return;
        }
        today.all_ms += millis(used);
        *today.sessions_ms.entry(session.to_owned()).or_default() += millis(used);
        if is_limited {
            *today.tokens_ms.entry(token.to_owned()).or_default() += millis(used);
        }
        if let Err(error) = self.store(&today) {
            tracing::error!(%error, "could not store how long commands have run");
        }
    }

    fn store(&self, today: &Today) -> io::Result<()> {
        let unfinished = self.path.with_extension("new");
        fs::write(&unfinished, serde_json::to_vec(today)?)?;
        fs::rename(unfinished, &self.path)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.quota.give_back(self.scope, self.time, self.since.elapsed());
    }
}

fn free(reserved: &mut HashMap<String, Duration>, name: &str, time: Duration) {
    if let Some(of_name) = reserved.get_mut(name) {
        *of_name = of_name.saturating_sub(time);
        if of_name.is_zero() {
            reserved.remove(name);
        }
    }
}

fn exceeded(limit: Duration, whom: &str) -> ToolError {
    let (now, seconds) = (now_ms(), limit.as_secs());
    let message = format!(
        "The limit of {seconds} seconds of commands a day for {whom} is used up; it is free again {}.",
        free_again(now)
    );
    let mut error = ToolError::new(ErrorCode::QuotaExceeded, message);
    error.retry_after_seconds = u64::try_from((next_midnight_ms(now) - now) / 1000 + 1).ok();
    error
}

fn reserved_by_others(limit: Duration, whom: &str) -> ToolError {
    let seconds = limit.as_secs();
    let message = format!(
        "Commands that are running have reserved the rest of the {seconds} seconds a day for {whom}."
    );
    let hint = "Wait until they have ended, then repeat the call; a short timeout_seconds reserves less.";
    let error = ToolError::new(ErrorCode::QuotaExceeded, message);
    error.with_hint(hint).with_retry_after(RETRY_AFTER_SECONDS)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use toolkit::Grant;

    use super::*;

    fn limits(chat: Option<u64>, token: Option<u64>) -> Limits {
        let mut limits = Limits::default();
        limits.chat.command_seconds_per_day = chat;
        limits.token.command_seconds_per_day = token;
        limits
    }

    fn session(name: &str) -> Scope {
        Scope::new(name.parse().unwrap(), None)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn commands_that_run_at_once_reserve_no_more_than_there_is() {
        let directory = tempfile::tempdir().unwrap();
        let quota = CommandQuota::open(&limits(Some(40), Some(60)), directory.path()).unwrap();
        let (one, two) = (session("one"), session("two"));
        let first = quota.reserve(&one, seconds(30)).unwrap();
        let second = quota.reserve(&one, seconds(30)).unwrap();
        assert_eq!((first.time, second.time), (seconds(30), seconds(10)));
        let refused = quota.reserve(&one, seconds(1)).unwrap_err();
        assert!(refused.message.contains("have reserved"), "{}", refused.message);
        assert_eq!(quota.reserve(&two, seconds(30)).unwrap().time, seconds(20), "all callers together");
        drop((first, second));
        assert_eq!(quota.reserve(&one, seconds(30)).unwrap().time, seconds(30), "they were short");
    }

    #[test]
    fn a_command_of_a_token_without_a_limit_gives_back_nothing_of_its_successor() {
        let directory = tempfile::tempdir().unwrap();
        let quota = CommandQuota::open(&limits(None, None), directory.path()).unwrap();
        let scope = |seconds: Option<u64>| {
            let limits = seconds.map_or(json!({}), |seconds| json!({"command_seconds_per_day": seconds}));
            let terms = json!({"name": "ci", "sha256": "0", "limits": limits});
            let grant = Grant::new(serde_json::from_value(terms).unwrap()).unwrap();
            Scope::new("one".parse().unwrap(), Some(Arc::new(grant)))
        };
        let (unlimited, limited) = (scope(None), scope(Some(60)));
        let before = quota.reserve(&unlimited, seconds(60)).unwrap();
        let _running = quota.reserve(&limited, seconds(60)).unwrap();
        drop(before);
        let refused = quota.reserve(&limited, seconds(60)).unwrap_err();
        assert!(refused.message.contains("have reserved"), "{}", refused.message);
    }

    #[test]
    fn what_was_used_survives_a_restart_and_not_the_day() {
        let directory = tempfile::tempdir().unwrap();
        let open = || CommandQuota::open(&limits(Some(10), None), directory.path()).unwrap();
        let one = session("one");
        open().give_back(&one, Duration::ZERO, seconds(9));
        let refused = open();
        refused.give_back(&one, Duration::ZERO, Duration::from_millis(500));
        let error = refused.reserve(&one, seconds(5)).unwrap_err();
        assert_eq!(error.code, ErrorCode::QuotaExceeded);
        assert!(error.message.contains("free again at 00:00 UTC"), "{}", error.message);
        assert!(error.retry_after_seconds.is_some_and(|wait| (1..=86_401).contains(&wait)));
        assert!(open().reserve(&session("two"), seconds(5)).is_ok());
        refused.today().day -= 1;
        assert!(refused.reserve(&one, seconds(5)).is_ok(), "another day");
        fs::write(directory.path().join(FILE), "{").unwrap();
        assert!(CommandQuota::open(&limits(Some(10), None), directory.path()).is_err());
    }
}
