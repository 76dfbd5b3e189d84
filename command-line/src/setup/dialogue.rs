//! Questions to a person at a terminal, or to a program that writes lines.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use process::Secret;
use protocol::visible;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::check::{Finding, Verdict};

/// Who is asked.
pub(super) struct Dialogue {
    /// Whether questions are asked at all.
    asks: bool,
}

impl Dialogue {
    pub(super) fn new(asks: bool) -> Self {
        Self { asks }
    }

    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    /// Prints a line.
    pub(super) fn say(&self, text: &str) {
        let _ = writeln!(io::stdout(), "{}", visible::escaped(text));
    }

    /// Prints what a test found.
    pub(super) fn found(&self, finding: &Finding) {
        let mark = match finding.verdict {
            Verdict::Ok => "ok  ",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        self.say(&format!("  {mark}  {}: {}", finding.name, finding.what));
        if let Some(remedy) = &finding.remedy {
            self.say(&format!("        → {remedy}"));
        }
    }

    /// The answer to a question; the default where the answer is empty or nothing is asked.
    pub(super) fn ask(&self, question: &str, default: &str) -> io::Result<String> {
        let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        let answer = self.line(&format!("{question}{shown}: "))?;
        Ok(answer.filter(|answer| !answer.is_empty()).unwrap_or_else(|| default.to_owned()))
    }

    /// Whether the answer is yes.
    pub(super) fn confirm(&self, question: &str, default: bool) -> io::Result<bool> {
        let word = if default { "Y/n" } else { "y/N" };
        loop {
            let answer = self.line(&format!("{question} [{word}]: "))?.unwrap_or_default();
            match answer.to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.say("Type y or n."),
            }
        }
    }

    /// The number of one of these lines, from 0.
    pub(super) fn choose(&self, question: &str, lines: &[&str], default: usize) -> io::Result<usize> {
        for (number, line) in lines.iter().enumerate() {
            self.say(&format!("  {}  {line}", number + 1));
        }
        loop {
            let answer = self.ask(question, &(default + 1).to_string())?;
            match answer.parse::<usize>() {
                Ok(number) if (1..=lines.len()).contains(&number) => return Ok(number - 1),
                Ok(_) | Err(_) => self.say(&format!("Type a number from 1 to {}.", lines.len())),
            }
        }
    }

    /// A secret, which the terminal does not show; none if the answer is empty.
    pub(super) fn ask_secret(&self, question: &str) -> io::Result<Option<Secret>> {
        let stdin = io::stdin();
        let shown = if stdin.is_terminal() { tcgetattr(&stdin).ok() } else { None };
        if let Some(shown) = &shown {
            let mut hidden = shown.clone();
            hidden.local_modes.remove(LocalModes::ECHO);
            tcsetattr(&stdin, OptionalActions::Now, &hidden)?;
        }
        let answer = self.line(&format!("{question} (not shown): "));
        if let Some(shown) = &shown {
            tcsetattr(&stdin, OptionalActions::Now, shown)?;
            self.say("");
        }
        Ok(answer?.filter(|answer| !answer.is_empty()).map(|answer| Secret::from(answer.as_str())))
    }

    /// A line; none where nothing is asked. Without an end to the questions, the end of stdin is an error.
    fn line(&self, prompt: &str) -> io::Result<Option<String>> {
        if !self.asks {
            return Ok(None);
        }
        let mut stdout = io::stdout();
        write!(stdout, "{prompt}")?;
        stdout.flush()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            self.say("");
            let what = "stdin has ended before all was answered, so nothing was written; --yes asks nothing";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(Some(line.trim().to_owned()))
    }
}
