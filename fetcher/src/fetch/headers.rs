//! Which headers a caller may set.

use crate::judge::is_credential_name;
use crate::messages::FetchError;

/// Those that change the answer, and say nothing about the person who asks.
const ALLOWED: [&str; 7] = [
    "accept", "accept-language", "content-type", "user-agent", "if-none-match", "if-modified-since", "range",
];

/// What the names of headers begin with that tell a server another method, address, host or sender than the
/// request has.
const STEERING: [&str; 13] = [
    "x-forwarded", "x-real-ip", "x-original", "x-rewrite", "x-http-method", "x-method", "x-host", "x-remote",
    "x-client-ip", "x-cluster-client", "x-proxy", "x-accel", "x-true-client",
];

/// Refuses the first header that a caller must not set. `more` are names that the profile allows.
///
/// # Errors
/// Which header, and what may be set.
pub fn check(headers: &[(String, String)], more: &[String]) -> Result<(), FetchError> {
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        // Programs behind a gateway read `_` and `-` as one.
        let joined = lower.replace('_', "-");
        let is_extra = lower.starts_with("x-")
            && !is_credential_name(&lower)
            && !STEERING.iter().any(|refused| joined.starts_with(refused));
        let is_named = more.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        if !(ALLOWED.contains(&lower.as_str()) || is_extra || is_named) {
            let message = format!(
                "The header {name} cannot be set: allowed are Accept, Accept-Language, Content-Type, \
                 User-Agent, If-None-Match, If-Modified-Since, Range, and X-… that are no credentials. For \
                 credentials, use `auth_profile`."
            );
            return Err(FetchError::Invalid(message));
        }
        let is_valid = http::HeaderName::try_from(name.as_str()).is_ok()
            && http::HeaderValue::try_from(value.as_str()).is_ok()
            && value.len() <= 4096;
        if !is_valid {
            return Err(FetchError::Invalid(format!(
                "The header {name} has a value that no header can have."
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_say_who_asks_are_refused_by_name() {
        let check = |name: &str, more: &[String]| check(&[(name.to_owned(), "x".to_owned())], more);
        for good in ["Accept", "user-agent", "Range", "X-Requested-With", "X-Page"] {
            assert_eq!(check(good, &[]), Ok(()), "{good}");
        }
        let refused = "\
            Authorization Cookie Host Proxy-Authorization X-Forwarded-For X-HTTP-Method-Override \
            X-Method-Override X-Http_Method X-Original-URL X-Remote-User X-Api-Key X_Auth-Token \
            x-secret-thing Connection Transfer-Encoding Content-Length";
        for bad in refused.split_whitespace() {
            assert!(check(bad, &[]).unwrap_err().to_string().contains(bad), "{bad}");
        }
        assert_eq!(check("X-Api-Key", &["x-api-key".to_owned()]), Ok(()));
        assert!(super::check(&[("Accept".to_owned(), "a\r\nHost: b".to_owned())], &[]).is_err());
    }
}
