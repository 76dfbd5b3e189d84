//! Values on their way to a PostgreSQL server and back.

use std::error::Error as Cause;

use bytes::BytesMut;
use postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};
use rusqlite::types::{ToSqlOutput, Value};

use super::{Error, Result};

/// A value for a parameter.
#[derive(Debug)]
pub(super) struct Given(Value);

impl Given {
    pub(super) fn new(value: &dyn rusqlite::ToSql) -> Result<Self> {
        let value = match value.to_sql()? {
            ToSqlOutput::Owned(value) => value,
            ToSqlOutput::Borrowed(value) => {
                Value::try_from(value).map_err(|error| Error::unreadable(0, error))?
            }
            _ => return Err(Error::NoColumn(0)),
        };
        Ok(Self(match value {
            // A server's text has no zero bytes.
            Value::Text(text) if text.contains('\0') => Value::Text(text.replace('\0', "\u{fffd}")),
            value => value,
        }))
    }

    /// The type that the statement is prepared with; the server finds that of a null by its place.
    pub(super) fn server_type(&self) -> Type {
        match self.0 {
            Value::Null => Type::UNKNOWN,
            Value::Integer(_) => Type::INT8,
            Value::Real(_) => Type::FLOAT8,
            Value::Text(_) => Type::TEXT,
            Value::Blob(_) => Type::BYTEA,
        }
    }
}

impl ToSql for Given {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn Cause + Sync + Send>> {
        match &self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Blob(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The statement was prepared with the types of its values.
        true
    }

    to_sql_checked!();
}

/// A value of a column.
pub(super) struct Taken(pub(super) Value);

impl<'a> FromSql<'a> for Taken {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Self, Box<dyn Cause + Sync + Send>> {
        let kind = match kind.kind() {
            Kind::Domain(inner) => inner,
            _ => kind,
        };
        Ok(Self(match *kind {
            Type::BOOL => Value::Integer(i64::from(bool::from_sql(kind, raw)?)),
            Type::INT2 => Value::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::FLOAT8 => Value::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => Value::Integer(whole_number(raw).ok_or("a sum beyond 64 bits")?),
            Type::BYTEA => Value::Blob(raw.to_vec()),
            _ => Value::Text(std::str::from_utf8(raw)?.to_owned()),
        }))
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, Box<dyn Cause + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A sum, which the server sends as a decimal: four counts of 16 bits, then digits to the base 10,000.
/// What stands behind the point is left away.
fn whole_number(raw: &[u8]) -> Option<i64> {
    let mut halves = raw.chunks_exact(2).filter_map(|two| Some(i16::from_be_bytes(two.try_into().ok()?)));
    let (digits, weight, sign) = (halves.next()?, halves.next()?, halves.next()?);
    let _scale = halves.next()?;
    let mut number: i64 = 0;
    for place in 0..=weight {
        let digit = if place < digits { halves.next()? } else { 0 };
        number = number.checked_mul(10_000)?.checked_add(digit.into())?;
    }
    // 0x4000 is the sign of a negative number.
    Some(if sign == 0x4000 { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::whole_number;

    fn numeric(parts: &[i16]) -> Option<i64> {
        let raw: Vec<u8> = parts.iter().flat_map(|part| part.to_be_bytes()).collect();
        whole_number(&raw)
    }

    #[test]
    fn a_sum_is_a_whole_number() {
        // digits, weight, sign, scale, then the digits.
        assert_eq!(numeric(&[0, 0, 0, 0]), Some(0));
        assert_eq!(numeric(&[1, 0, 0, 0, 42]), Some(42));
        assert_eq!(numeric(&[2, 1, 0x4000, 0, 1, 5]), Some(-10_005));
        assert_eq!(numeric(&[1, 1, 0, 0, 3]), Some(30_000), "trailing zeros are not sent");
        assert_eq!(numeric(&[2, 0, 0, 1, 7, 5000]), Some(7), "what is behind the point");
        assert_eq!(numeric(&[5, 4, 0, 0, 9999, 9999, 9999, 9999, 9999]), None, "too large");
        assert_eq!(numeric(&[1]), None);
    }
}
