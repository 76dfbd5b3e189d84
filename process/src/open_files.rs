//! How many files this process may have open: connections count, too.
//!
//! The usual soft limit of 1024 is for programs that use `select`. Ours do not, so they take what the hard
//! limit allows.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than the programs need; some hard limits are a billion.
const ENOUGH: u64 = 65_536;

/// Raises the soft limit to the hard one, or to as much as is of use.
pub fn raise_limit() -> io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })?)
}

/// The limit in force.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_and_the_hard_one_is_kept() {
        let before = getrlimit(Resource::Nofile);
        let low = Rlimit { current: Some(64), maximum: before.maximum };
        setrlimit(Resource::Nofile, low).unwrap();
        raise_limit().unwrap();
        assert_eq!(limit(), before.maximum.unwrap_or(ENOUGH).min(ENOUGH));
        assert_eq!(getrlimit(Resource::Nofile).maximum, before.maximum);
        setrlimit(Resource::Nofile, before).unwrap();
    }
}
