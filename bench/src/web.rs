//! Pages and downloads by `url_fetch` from a server beside it, and HTML as Markdown.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use crate::http::Connection;
use crate::measure::Durations;
use crate::memory::descendants_of;
use crate::program::{Program, proportional_mib, until_ready};
use crate::table::Table;

const FETCHES: usize = 50;
const PAGE_BYTES: usize = 100_000;
const DOWNLOAD_BYTES: usize = 100_000_000;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let site = site()?;
    let place = tempfile::tempdir()?;
    let root = place.path().join("root");
    std::fs::create_dir(&root)?;
    let variables = [
        ("AUTONOUS_FETCH_ALLOWED_HOSTS", "127.0.0.1".to_owned()),
        ("AUTONOUS_FETCH_ALLOW_PRIVATE", "true".to_owned()),
    ];
    let (server, address) = Program::tool_server_with(&root, &place.path().join("data"), &variables)?;
    until_ready(address)?;
    page(table, site, address)?;
    download(table, site, address, server.pid())?;
    let html = html(1_000_000);
    let base = "http://127.0.0.1/".parse()?;
    let rendering = Durations::of(10, || anyhow::Ok(fetcher::render(&html, &base, true)))?;
    table.bound("1 MB of HTML as Markdown, p50", rendering.p50_ms(), 60.0, "ms");
    Ok(())
}

/// The call beside what curl says that it took itself, without its start.
fn page(table: &mut Table, site: SocketAddr, address: SocketAddr) -> anyhow::Result<()> {
    let url = format!("http://{site}/page");
    let mut call = Connection::post(address, "/tools/url_fetch", &json!({"url": url}).to_string())?;
    let (mut curl, mut fetch) = (Vec::new(), Vec::new());
    for round in 0..FETCHES + FETCHES / 10 {
        let took = Command::new("curl").args(["-s", "-o", "/dev/null", "-w", "%{time_total}", &url]).output();
        let took: f64 = String::from_utf8(took.context("curl is not installed")?.stdout)?.trim().parse()?;
        let began = std::time::Instant::now();
        call.call()?;
        if round >= FETCHES / 10 {
            fetch.push(began.elapsed());
            curl.push(Duration::from_secs_f64(took));
        }
    }
    let (curl, fetch) = (Durations::new(curl).p50_ms(), Durations::new(fetch).p50_ms());
    table.note("curl of a page of 100 kB, p50", format!("{curl:.2} ms"));
    table.note("url_fetch of it, p50", format!("{fetch:.2} ms"));
    table.bound("more than curl", fetch - curl, 6.0, "ms");
    Ok(())
}

/// How much more memory server and fetcher have together while a large file is stored.
fn download(table: &mut Table, site: SocketAddr, address: SocketAddr, server: u32) -> anyhow::Result<()> {
    let memory = || -> anyhow::Result<f64> {
        // A process that ends meanwhile has none.
        Ok(descendants_of(server)?.into_iter().filter_map(|pid| proportional_mib(pid).ok()).sum())
    };
    let before = memory()?;
    let is_done = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut most: f64 = 0.0;
            while !is_done.load(Ordering::Relaxed) {
                most = most.max(memory().unwrap_or_default());
                thread::sleep(Duration::from_millis(2));
            }
            most
        });
        let arguments =
            json!({"url": format!("http://{site}/large"), "download_path": "large", "timeout_seconds": 60});
        let done = Connection::post(address, "/tools/url_fetch", &arguments.to_string())
            .map_err(anyhow::Error::from)
            .and_then(|mut call| call.call());
        is_done.store(true, Ordering::Relaxed);
        let most = watching.join().ok().context("the watching thread panicked");
        done?;
        most
    })?;
    table.bound("100 MB stored, more memory at most", most - before, 16.0, "MiB");
    Ok(())
}

/// Paragraphs with links, a list and a table, over and over.
fn html(bytes: usize) -> String {
    let part = "<h2>News</h2><p>Some <b>words</b> of a <a href=\"/story\">story</a> that goes on for a line \
                or two, as stories do.</p><ul><li>one</li><li>two</li></ul>\
                <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>";
    format!("<html><body>{}</body></html>", part.repeat(bytes / part.len()))
}

/// A server for one request on each connection.
fn site() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let page = html(PAGE_BYTES);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A caller that goes away is its own affair.
            let _ = answer(stream, &page);
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream, page: &str) -> std::io::Result<()> {
    let mut lines = BufReader::new(&stream).lines();
    let asked = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let is_page = asked.contains("/page");
    let length = if is_page { page.len() } else { DOWNLOAD_BYTES };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let mut stream = &stream;
    stream.write_all(head.as_bytes())?;
    if is_page {
        return stream.write_all(page.as_bytes());
    }
    let part = vec![b'x'; 1 << 16];
    let mut left = length;
    while left > 0 {
        let next = left.min(part.len());
        stream.write_all(&part[..next])?;
        left -= next;
    }
    Ok(())
}
