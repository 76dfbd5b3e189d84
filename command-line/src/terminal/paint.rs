//! Colours, for terminals only.

use anstyle::{AnsiColor, Style};

/// What a text means; each meaning has one style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    /// As it should be.
    Good,
    /// Worth a look.
    Doubtful,
    /// Somebody has to act.
    Bad,
    Busy,
    /// Less important than the rest.
    Faint,
    Head,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint(pub bool);

impl Paint {
    pub(crate) fn paint(self, colour: Colour, text: &str) -> String {
        let style = if self.0 && !text.is_empty() { colour.style() } else { Style::new() };
        format!("{style}{text}{style:#}")
    }
}

impl Colour {
    const fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Doubtful => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Busy => AnsiColor::Cyan.on_default(),
            Self::Faint => Style::new().dimmed(),
            Self::Head => Style::new().bold(),
        }
    }
}
