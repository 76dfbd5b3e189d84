//! Colours, for terminals alone.

/// What a text means; each meaning has one colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// As it should be.
    Good,
    /// Worth a look.
    Doubtful,
    /// Somebody has to act.
    Bad,
    /// Under way.
    Busy,
    /// Less important than the rest.
    Faint,
    /// The head of something.
    Head,
}

/// Whether colours are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(pub bool);

impl Paint {
    /// The text in its colour, or as it is.
    pub fn paint(self, colour: Colour, text: &str) -> String {
        if self.0 && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code())
        } else {
            text.to_owned()
        }
    }
}

impl Colour {
    /// The parameter of the terminal's "select graphic rendition".
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Doubtful => "33",
            Self::Bad => "31",
            Self::Busy => "36",
            Self::Faint => "2",
            Self::Head => "1",
        }
    }
}
