//! Logs go to stderr, as lines for people or as JSON (`AUTONOUS_LOG_FORMAT`), filtered by `RUST_LOG`.
//!
//! [`crate::log_queue`] writes them, so that no work ever waits for a log. A panic is a record like others.
//!
//! A log line quotes names and texts of others. What would steer a terminal or hide text is escaped, and only
//! a record of our own begins at the first column.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::time::Duration;

use protocol::visible;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, reload};

use crate::log_queue::{self, LogSink};

/// How long a panic that ends the program waits for the log.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Libraries that tell more than ours do of the same; a filter that names one overrides this.
const LIBRARIES: &str = "rmcp=warn";

/// How a program logs.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// Which records are written.
    pub filter: Filter,
    /// How they look.
    pub format: Format,
}

/// Which records are written.
#[derive(Debug, Clone)]
pub struct Filter(String);

impl Filter {
    /// A filter such as `info` or `tool_server=debug`; none if the text is something else.
    pub fn new(text: &str) -> Option<Self> {
        text.parse::<EnvFilter>().ok().map(|_| Self(text.to_owned()))
    }

    fn of_records(&self) -> EnvFilter {
        EnvFilter::new(format!("{LIBRARIES},{}", self.0))
    }
}

/// How records look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines for people.
    Human,
    /// A JSON object each.
    Json,
}

/// Sets the filter of the running log.
type SetFilter = Box<dyn Fn(&Filter) + Send + Sync>;

static SET_FILTER: OnceLock<SetFilter> = OnceLock::new();

/// From now on, what this filter names is written.
pub fn set_filter(filter: &Filter) {
    if let Some(set) = SET_FILTER.get() {
        set(filter);
    }
}

/// Starts logging to the queue. Call it once, before the first thread that logs.
pub fn start(settings: &LogSettings) {
    start_to(settings, || LogSink);
}

/// Starts logging to another writer, such as one that redacts on the way to the queue.
pub fn start_to<W>(settings: &LogSettings, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(settings.filter.of_records());
    let _ = SET_FILTER.set(Box::new(move |filter| drop(handle.reload(filter.of_records()))));
    // Otherwise a record that cannot be written is reported to stderr, and a panic follows if that fails.
    let lines = tracing_subscriber::fmt::layer().log_internal_errors(false);
    let has_colours = io::stderr().is_terminal();
    let registry = tracing_subscriber::registry().with(filter);
    match settings.format {
        Format::Human if has_colours => {
            let writer = Visible { inner: writer, shown: with_colours };
            registry.with(lines.with_writer(writer).with_ansi(true)).init();
        }
        Format::Human => {
            let writer = Visible { inner: writer, shown: in_lines };
            registry.with(lines.with_writer(writer).with_ansi(false)).init();
        }
        Format::Json => {
            registry.with(lines.with_writer(Visible { inner: writer, shown: as_json }).json()).init();
        }
    }
    panic::set_hook(Box::new(log_panic));
}

/// The hook of the standard library writes to stderr itself, and so blocks a thread for ever when nothing
/// reads that.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let backtrace = Backtrace::capture();
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    match backtrace.status() {
        BacktraceStatus::Captured => tracing::error!(thread = name, "{panic}\n{backtrace}"),
        _ => tracing::error!(thread = name, "{panic}"),
    }
    if name == "main" {
        log_queue::flush(LAST_WORDS);
    }
}

/// Makes each record visible on its way to another writer. Each is written at once.
struct Visible<W> {
    inner: W,
    shown: fn(&str) -> String,
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for Visible<W> {
    type Writer = Visible<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Visible { inner: self.inner.make_writer(), shown: self.shown }
    }
}

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.inner.write_all((self.shown)(&String::from_utf8_lossy(record)).as_bytes())?;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn as_json(record: &str) -> String {
    visible::json(record).into_owned()
}

/// Further lines of a record are indented.
fn in_lines(record: &str) -> String {
    let line = record.strip_suffix('\n');
    let shown = visible::escaped(line.unwrap_or(record)).replace('\n', "\n    ");
    if line.is_some() { shown + "\n" } else { shown }
}

/// The colours are the logger's own: it escapes what others write.
fn with_colours(record: &str) -> String {
    let mut parts = record.split("\x1b[");
    let mut shown = in_lines(parts.next().unwrap_or_default());
    for part in parts {
        let text = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        let is_colour = text.starts_with('m');
        shown.push_str(if is_colour { "\x1b[" } else { "\\u{1b}[" });
        shown.push_str(&in_lines(part));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(shown: fn(&str) -> String, record: &str) -> String {
        let mut sink = Vec::new();
        Visible { inner: &mut sink, shown }.write_all(record.as_bytes()).unwrap();
        String::from_utf8(sink).unwrap()
    }

    #[test]
    fn nothing_in_a_log_steers_a_terminal_or_poses_as_a_record() {
        let forged = "INFO path=a\u{1b}[2J\u{202e}\nINFO all is well\n";
        assert_eq!(shown(in_lines, forged), "INFO path=a\\u{1b}[2J\\u{202e}\n    INFO all is well\n");
        let coloured = "\u{1b}[32mINFO\u{1b}[0m a\u{1b}[2Jb\u{202e}\n";
        assert_eq!(shown(with_colours, coloured), "\u{1b}[32mINFO\u{1b}[0m a\\u{1b}[2Jb\\u{202e}\n");
        assert_eq!(shown(as_json, "{\"path\":\"a\u{202e}\"}\n"), "{\"path\":\"a\\u202e\"}\n");
    }
}
