//! The header `Prefer` (RFC 7240).

use std::time::Duration;

use axum::http::HeaderMap;

/// How long the caller wants to wait: `Prefer: wait=N` in seconds; not at all without it. Other preferences
/// are ignored.
///
/// # Errors
/// What stands behind `wait`, if that is no number of seconds.
pub fn preferred_wait(headers: &HeaderMap) -> Result<Duration, String> {
    let preferences = headers.get_all("prefer").iter();
    let preferences = preferences.flat_map(|value| value.to_str().unwrap_or_default().split([',', ';']));
    let mut waits = preferences.filter_map(|one| one.trim().strip_prefix("wait"));
    let Some(wait) = waits.next() else { return Ok(Duration::ZERO) };
    let seconds = wait.trim().strip_prefix('=').map(|text| text.trim().trim_matches('"'));
    let seconds = seconds.and_then(|text| text.parse::<u32>().ok());
    seconds.map(|seconds| Duration::from_secs(seconds.into())).ok_or_else(|| wait.to_owned())
}
