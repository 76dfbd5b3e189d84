//! The cost of redaction: 50 kB of ordinary text and of hard text, compared with a search for one byte.
//!
//! Run it with `cargo run --release -p redaction --example redaction_cost [file]`; it measures a file too and
//! counts what would be redacted in it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use redaction::{PLACEHOLDER, Redactor};

const BYTES: usize = 50_000;
const ROUNDS: usize = 200;

fn main() -> std::io::Result<()> {
    let since = Instant::now();
    let redactor = Redactor::new(["a-token-of-64-characters", "another-secret", "1234567:bot"]);
    black_box(redactor.redact("warm up: the scanner is made by the first text"));
    println!("start: {:?}", since.elapsed());
    let source = include_str!("../src/scanner.rs");
    report("source code", &redactor, &filled(source));
    report(
        "prose",
        &redactor,
        &filled("The secretary changed the password policy; a tokenizer emits tokens.\n"),
    );
    report("environment", &redactor, &filled("export DB_PASSWORD=FAKEx1y2z3\nAPI_URL=https://x.invalid\n"));
    for hard in
        ["eyJ-", "sk-", "password='", "-----BEGIN PRIVATE KEY-----\n", "cookie: ", "token=", "\\", "://a:"]
    {
        report(&format!("repeated {hard:?}"), &redactor, &filled(hard));
    }
    for path in std::env::args().skip(1) {
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        println!("{path}: {} replaced", redactor.redact(&text).matches(PLACEHOLDER).count());
        report(&path, &redactor, &text);
    }
    Ok(())
}

fn filled(piece: &str) -> String {
    piece.chars().cycle().take(BYTES).collect()
}

fn report(name: &str, redactor: &Redactor, text: &str) {
    let redaction = median(|| redactor.redact(black_box(text)));
    let search = median(|| black_box(text.as_bytes()).contains(&0));
    let ratio = redaction.as_secs_f64() / search.as_secs_f64().max(f64::EPSILON);
    println!("{name}: {} bytes in {redaction:?}, {ratio:.0} times a search for one byte", text.len());
}

fn median<T>(mut measured: impl FnMut() -> T) -> Duration {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let since = Instant::now();
        black_box(measured());
        times.push(since.elapsed());
    }
    times.sort_unstable();
    times[ROUNDS / 2]
}
