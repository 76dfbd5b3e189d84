//! Quick calls: those that usually end within a millisecond run on the runtime's thread that received them.
//!
//! Handing such a call to a thread that may block, and its answer back, takes longer than the call: two
//! threads have to wake up. But a file can be slow, and a thread of the runtime that waits for one must not
//! keep other calls waiting. So only as many run like that as leave two threads free, and a watcher wakes one
//! of those as soon as a call turns out to be slow: it continues with everything else, and with the call's
//! deadline. Others wait for a place, which is free again within a moment; while a call is slow they go to
//! threads that may block instead.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

/// The threads of the runtime that never run a call.
const FREE_THREADS: usize = 2;

/// A call that takes longer is slow. The watcher looks this often. A call that only waits for a processor is
/// not slow: on a busy machine that takes two turns of other threads, 3 ms each (EEVDF's base slice).
const SLOW: Duration = Duration::from_millis(8);

/// Without a call for this long, the watcher sleeps until there is one.
const QUIET: Duration = Duration::from_millis(100);

/// The places of quick calls of one runtime.
pub(super) struct QuickCalls {
    places: Vec<Place>,
    free: Arc<Semaphore>,
    /// Tells those who wait for a place that a call is slow.
    crowded: Notify,
    watcher: OnceLock<Thread>,
    /// The watcher sleeps, or is about to.
    sleeps: AtomicBool,
    since: Instant,
}

#[derive(Default)]
struct Place {
    /// When its call began, in microseconds after `since`; zero while it is free.
    began_us: AtomicU64,
    slow: Notify,
}

/// A place that a call has taken. It is free again when this is dropped.
pub(super) struct Taken {
    calls: Arc<QuickCalls>,
    index: usize,
    _permit: OwnedSemaphorePermit,
}

/// The places of the runtime that the first call arrives on.
pub(super) type SharedQuickCalls = Arc<OnceLock<Arc<QuickCalls>>>;

/// The places of this runtime.
pub(super) fn of_this_runtime(shared: &SharedQuickCalls) -> &Arc<QuickCalls> {
    shared.get_or_init(QuickCalls::of_this_runtime)
}

impl QuickCalls {
    /// The places of the runtime that this is called on; none on one with too few threads.
    fn of_this_runtime() -> Arc<Self> {
        let runtime = Handle::try_current().ok();
        let runtime = runtime.filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        let threads = runtime.map_or(0, |runtime| runtime.metrics().num_workers());
        let places: Vec<Place> = (FREE_THREADS..threads).map(|_| Place::default()).collect();
        Arc::new(Self {
            free: Arc::new(Semaphore::new(places.len())),
            crowded: Notify::new(),
            places,
            watcher: OnceLock::new(),
            sleeps: AtomicBool::new(true),
            since: Instant::now(),
        })
    }

    /// A place that somebody watches, once one is free; none if that may take long.
    pub(super) async fn take(self: &Arc<Self>) -> Option<Taken> {
        if self.places.is_empty() || !self.wake_watcher() {
            return None;
        }
        let permit = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) if self.has_slow() => return None,
            Err(_) => tokio::select! {
                biased;
                permit = Arc::clone(&self.free).acquire_owned() => permit.ok()?,
                () = self.crowded.notified() => return None,
            },
        };
        self.occupy(permit)
    }

    /// Runs work on this thread if it is quick and there is a place, else on one that may block.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        is_quick: bool,
        deadline: Instant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Result<T, JoinError>, Elapsed> {
        let place = if is_quick { self.take().await } else { None };
        match place {
            Some(place) => place.run(deadline, work).await,
            None => timeout_at(deadline.into(), tokio::task::spawn_blocking(work)).await,
        }
    }

    fn occupy(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> Option<Taken> {
        let now = self.now_us();
        let is_taken = |place: &&Place| {
            place.began_us.compare_exchange(0, now, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        };
        let index = self.places.iter().position(|place| is_taken(&place))?;
        let taken = Taken { calls: Arc::clone(self), index, _permit: permit };
        self.wake_watcher().then_some(taken)
    }

    /// False if there is no watcher.
    fn wake_watcher(self: &Arc<Self>) -> bool {
        let watcher = match self.watcher.get() {
            Some(watcher) => watcher,
            None => match watch(Arc::downgrade(self)) {
                Ok(watcher) => self.watcher.get_or_init(|| watcher),
                Err(error) => {
                    tracing::warn!(%error, "cannot start the watcher of quick calls");
                    return false;
                }
            },
        };
        if self.sleeps.load(Ordering::SeqCst) {
            watcher.unpark();
        }
        true
    }

    /// Never zero.
    fn now_us(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Wakes the threads that wait for a slow call or for a place; returns whether any call runs.
    fn look(&self) -> bool {
        let slow_since = self.slow_since_us();
        let mut any = false;
        for place in &self.places {
            let began = place.began_us.load(Ordering::SeqCst);
            any |= began > 0;
            if began > 0 && began < slow_since {
                place.slow.notify_one();
                self.crowded.notify_waiters();
            }
        }
        any
    }

    fn has_slow(&self) -> bool {
        let slow_since = self.slow_since_us();
        self.places.iter().any(|place| (1..slow_since).contains(&place.began_us.load(Ordering::SeqCst)))
    }

    /// Calls that began before this are slow.
    fn slow_since_us(&self) -> u64 {
        self.now_us().saturating_sub(u64::try_from(SLOW.as_micros()).unwrap_or(0))
    }
}

impl Drop for QuickCalls {
    fn drop(&mut self) {
        if let Some(watcher) = self.watcher.get() {
            watcher.unpark();
        }
    }
}

impl Taken {
    /// Runs a call on this thread as soon as the caller waits for it. The deadline counts once it is slow.
    pub(super) async fn run<T: Send + 'static>(
        self,
        deadline: Instant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Result<T, JoinError>, Elapsed> {
        let (calls, index) = (Arc::clone(&self.calls), self.index);
        let mut work: JoinHandle<T> = tokio::spawn(async move {
            let _taken = self;
            work()
        });
        tokio::select! {
            biased;
            ended = &mut work => Ok(ended),
            () = calls.places[index].slow.notified() => timeout_at(deadline.into(), work).await,
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.calls.places[self.index].began_us.store(0, Ordering::SeqCst);
    }
}

fn watch(calls: Weak<QuickCalls>) -> std::io::Result<Thread> {
    let watching = move || {
        let mut last_call = Instant::now();
        while let Some(calls) = calls.upgrade() {
            if calls.look() {
                last_call = Instant::now();
            }
            if last_call.elapsed() < QUIET {
                drop(calls);
                thread::sleep(SLOW);
                continue;
            }
            // A call that begins after this either sees that the watcher sleeps, or is seen here.
            calls.sleeps.store(true, Ordering::SeqCst);
            let is_quiet = !calls.look();
            let sleeper = Arc::downgrade(&calls);
            drop(calls);
            if is_quiet {
                thread::park();
            }
            let Some(calls) = sleeper.upgrade() else { return };
            calls.sleeps.store(false, Ordering::SeqCst);
            last_call = Instant::now();
        }
    };
    let spawned = thread::Builder::new().name("quick-calls".to_owned()).spawn(watching)?;
    Ok(spawned.thread().clone())
}
