//! What a command prints on: how wide it is, and whether it shows colours.

use super::Paint;

/// The width of an output that is no terminal, and of a terminal that does not say.
pub(crate) const COLUMNS: usize = 80;

/// On a narrower terminal, lines wrap.
const NARROWEST: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    pub columns: usize,
    pub paint: Paint,
}

impl Screen {
    /// An output that is no terminal.
    pub(crate) const PLAIN: Self = Self { columns: COLUMNS, paint: Paint(false) };

    /// A terminal with this many columns; 0 if it does not say.
    pub(crate) fn of_terminal(columns: u16, paint: Paint) -> Self {
        let columns = if columns == 0 { COLUMNS } else { usize::from(columns).max(NARROWEST) };
        Self { columns, paint }
    }
}
