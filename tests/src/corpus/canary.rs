//! What a server of the corpus has that its commands must not see or change.

use std::path::PathBuf;

use crate::TestDir;

/// A variable of the server that no command may see. Redaction does not treat it as a secret, so only the
/// sandbox hides it.
pub const CANARY_NAME: &str = "SERVER_CANARY";

/// Its value; a search for `secret` finds it.
pub const CANARY: &str = "FAKE-canary-that-is-no-secret-to-redaction";

/// The directory of the probe programs: outside the roots, read-only for commands.
pub(super) fn probes_in(dir: &TestDir) -> PathBuf {
    dir.path().join("probes")
}
