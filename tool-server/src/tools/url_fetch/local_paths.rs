//! Files of this machine that a request names where a credential goes along: some services read such a name
//! as "send me that file", and models have been talked into it.

use std::path::{Path, PathBuf};

use protocol::{ErrorCode, ToolError};
use serde_json::Value;

/// Refuses a body that names a file of this machine, which may lie in one of the roots.
pub(super) fn refuse(body: &str, roots: &[PathBuf]) -> Result<(), ToolError> {
    const TOP: [&str; 14] = [
        "/etc/", "/home/", "/root/", "/proc/", "/var/", "/tmp/", "/usr/", "/opt/", "/mnt/", "/srv/", "/run/",
        "/sys/", "/dev/", "/data/",
    ];
    let is_local = |text: &str| {
        let text = text.trim().trim_start_matches('@').trim_start_matches("file://");
        TOP.iter().any(|top| text.starts_with(top))
            || roots.iter().any(|root| Path::new(text).starts_with(root))
    };
    let found = match serde_json::from_str::<Value>(body) {
        Ok(value) => first_text(&value, &is_local),
        Err(_) => body.split(['\n', '&', '=', ' ']).find(|text| is_local(text)).map(str::to_owned),
    };
    match found {
        None => Ok(()),
        Some(path) => {
            let message = format!(
                "`body` names a file of this machine ({path}), which does not go with `auth_profile`."
            );
            Err(ToolError::new(ErrorCode::UrlBlocked, message)
                .with_hint("Put the content itself into `body`."))
        }
    }
}

fn first_text(value: &Value, is_it: &dyn Fn(&str) -> bool) -> Option<String> {
    match value {
        Value::String(text) => is_it(text).then(|| text.clone()),
        Value::Array(values) => values.iter().find_map(|value| first_text(value, is_it)),
        Value::Object(fields) => fields.values().find_map(|value| first_text(value, is_it)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
