//! The parameters of a statement, as `params!`, an array, or an iterator gives them.

use rusqlite::ToSql;

/// Values for the parameters of a statement, in order.
pub trait Params {
    /// Calls `then` with them.
    fn with<R>(&self, then: impl FnOnce(&[&dyn ToSql]) -> R) -> R;
}

impl Params for &[&dyn ToSql] {
    fn with<R>(&self, then: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
        then(self)
    }
}

/// An empty array, whose type nothing else says.
impl Params for [&(dyn ToSql + Send + Sync); 0] {
    fn with<R>(&self, then: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
        then(&[])
    }
}

macro_rules! arrays {
    ($($length:literal)*) => {
        $(
            impl<T: ToSql> Params for [T; $length] {
                fn with<R>(&self, then: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
                    then(&self.each_ref().map(|value| value as &dyn ToSql))
                }
            }
        )*
    };
}

arrays!(1 2 3 4 5 6);

/// See [`params_from_iter`].
#[derive(Debug)]
pub struct FromIter<T>(Vec<T>);

/// As many parameters as an iterator has.
pub fn params_from_iter<T: ToSql>(values: impl IntoIterator<Item = T>) -> FromIter<T> {
    FromIter(values.into_iter().collect())
}

impl<T: ToSql> Params for FromIter<T> {
    fn with<R>(&self, then: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
        then(&self.0.iter().map(|value| value as &dyn ToSql).collect::<Vec<_>>())
    }
}
