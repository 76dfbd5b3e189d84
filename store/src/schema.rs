//! The schema of the database, step by step.

use include_dir::{Dir, include_dir};

/// One directory for each version: `up.sql` for SQLite, `postgres.sql` for PostgreSQL, whose first one makes
/// all tables.
pub(crate) static MIGRATIONS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../migrations");

/// The schema version of this program: the number of migrations.
pub fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.dirs().count()).unwrap_or(i64::MAX)
}
