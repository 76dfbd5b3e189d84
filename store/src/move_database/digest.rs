//! What a table has in it, in a number and a hash that are the same on both engines.

use std::fmt::Write as _;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::tables::Table;
use crate::sql::Value;

/// A table that was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MovedTable {
    pub name: String,
    pub rows: u64,
    /// Of all rows in the order of their key.
    pub sha256: String,
}

/// A hash that grows with each row.
pub(super) struct Digest {
    name: String,
    rows: u64,
    hash: Sha256,
}

impl Digest {
    pub(super) fn new(table: &Table) -> Self {
        let mut hash = Sha256::new();
        for column in &table.columns {
            add(&mut hash, b'n', column.name.as_bytes());
        }
        Self { name: table.name.clone(), rows: 0, hash }
    }

    pub(super) fn row(&mut self, values: &[Value]) {
        self.rows += 1;
        for value in values {
            match value {
                Value::Null => add(&mut self.hash, b'0', &[]),
                Value::Integer(number) => add(&mut self.hash, b'i', &number.to_be_bytes()),
                Value::Real(number) => add(&mut self.hash, b'r', &number.to_bits().to_be_bytes()),
                Value::Text(text) => add(&mut self.hash, b't', text.as_bytes()),
                Value::Blob(bytes) => add(&mut self.hash, b'b', bytes),
            }
        }
    }

    pub(super) fn end(self) -> MovedTable {
        let mut sha256 = String::with_capacity(64);
        for byte in self.hash.finalize() {
            let _ = write!(sha256, "{byte:02x}");
        }
        MovedTable { name: self.name, rows: self.rows, sha256 }
    }
}

/// Kind, length and bytes: no two rows have the same sequence of these.
fn add(hash: &mut Sha256, kind: u8, bytes: &[u8]) {
    hash.update([kind]);
    hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash.update(bytes);
}
