//! Bodies that note their end. The body of a request also ends with an error when it takes too long, so that
//! the route can answer with its own error.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::progress::Progress;

/// The body of a request did not arrive in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The body did not arrive within {} s.", .0.as_secs())]
pub struct BodyTimeout(pub Duration);

/// A long body has a second more for each so many bytes that have arrived, so that a slow line can send a
/// file. A client that sends a byte now and then gains nothing.
pub const SLOWEST_BYTES_PER_SECOND: u32 = 256 * 1024;

/// Whether a body could not be read because it took too long.
pub fn is_body_timeout(error: &(dyn Error + 'static)) -> Option<BodyTimeout> {
    std::iter::successors(Some(error), |error| (*error).source())
        .find_map(|error| error.downcast_ref::<BodyTimeout>().copied())
}

pub(crate) struct RequestBody {
    inner: Incoming,
    began: Instant,
    until: Instant,
    /// Made when the client first keeps us waiting.
    timer: Option<Pin<Box<Sleep>>>,
    progress: Arc<Progress>,
}

impl RequestBody {
    pub(crate) fn new(inner: Incoming, limit: Duration, progress: Arc<Progress>) -> Self {
        let began = Instant::now();
        Self { inner, began, until: began + limit, timer: None, progress }
    }

    fn extend(&mut self, arrived: usize) {
        let bytes = u32::try_from(arrived).unwrap_or(u32::MAX);
        self.until += Duration::from_secs(1) * bytes / SLOWEST_BYTES_PER_SECOND;
        if let Some(timer) = &mut self.timer {
            timer.as_mut().reset(self.until);
        }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(frame) => {
                if frame.is_none() || self.inner.is_end_stream() {
                    self.progress.body_ended();
                }
                if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
                    self.extend(data.len());
                }
                Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)))
            }
            Poll::Pending => {
                let (limit, until) = (self.until - self.began, self.until);
                let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
                timer.as_mut().poll(context).map(|()| Some(Err(BodyTimeout(limit).into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

pub(crate) struct ResponseBody {
    pub(crate) inner: Body,
    pub(crate) progress: Arc<Progress>,
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.progress.answered();
    }
}
