//! How much space the disk of a directory has left, and how much is little.

use std::path::Path;

/// Below this, nothing works reliably.
pub const LEAST_FREE_MB: u64 = 64;

/// Below this, commands are soon stopped (`AUTONOUS_TOOL_MIN_FREE_MB` is 512 by default).
pub const FEW_FREE_MB: u64 = 1024;

pub fn free_mb(directory: &Path) -> rustix::io::Result<u64> {
    let space = rustix::fs::statvfs(directory)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize) >> 20)
}
