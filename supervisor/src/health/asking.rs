//! A question to something that may hang.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// At most one question at a time is on its way, however often it is asked.
#[derive(Debug)]
pub(crate) struct Asking<T> {
    on_its_way: Option<(Instant, JoinHandle<T>)>,
}

impl<T> Default for Asking<T> {
    fn default() -> Self {
        Self { on_its_way: None }
    }
}

impl<T: Send + 'static> Asking<T> {
    /// Asks, unless the last question is still open, and waits for `patience`. Without an answer by then, the
    /// error is how long the question has been open.
    pub(crate) async fn ask<F>(
        &mut self,
        patience: Duration,
        question: impl FnOnce() -> F,
    ) -> Result<T, Duration>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let begin = || (Instant::now(), tokio::spawn(question()));
        let (since, answer) = self.on_its_way.get_or_insert_with(begin);
        let open = since.elapsed();
        match timeout(patience, answer).await {
            Ok(answered) => {
                self.on_its_way = None;
                answered.map_err(|_| open)
            }
            Err(_) => Err(since.elapsed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn a_question_that_is_open_is_not_asked_again_and_its_answer_counts() {
        let mut asking = Asking::default();
        let answered = Arc::new(Notify::new());
        let until = Arc::clone(&answered);
        let first = move || async move {
            until.notified().await;
            1
        };
        assert!(asking.ask(Duration::ZERO, first).await.is_err());
        assert!(asking.ask(Duration::ZERO, || async { 2 }).await.is_err());
        answered.notify_one();
        assert_eq!(asking.ask(Duration::from_secs(9), || async { 3 }).await, Ok(1));
        assert_eq!(asking.ask(Duration::from_secs(9), || async { 4 }).await, Ok(4));
    }
}
