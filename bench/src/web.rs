//! Pages and downloads by `url_fetch` from a server beside it, and HTML as Markdown.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::Router;
use axum::response::Html;
use axum::routing::get;
use harness::ToolServer;
use harness::leftovers::processes_of;
use serde_json::json;

use crate::measure::Durations;
use crate::program::{call, proportional_mib};
use crate::table::Table;

const FETCHES: usize = 50;
const PAGE_BYTES: usize = 100_000;
const DOWNLOAD_BYTES: usize = 100_000_000;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let site = listener.local_addr()?;
    let routes = Router::new()
        .route("/page", get(async || Html(html(PAGE_BYTES))))
        .route("/large", get(async || vec![b'x'; DOWNLOAD_BYTES]));
    runtime.spawn(async move { axum::serve(listener, routes).await });
    let server = ToolServer::builder().variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "127.0.0.1");
    let server = server.variable("AUTONOUS_FETCH_ALLOW_PRIVATE", "true").start();
    page(table, site, &server)?;
    download(table, site, &server)?;
    let html = html(1_000_000);
    let base = "http://127.0.0.1/".parse()?;
    let rendering = Durations::of(10, || Ok(fetcher::render(&html, &base, true)))?;
    table.within("1 MB of HTML as Markdown, p50", rendering.p50(), 60.0);
    Ok(())
}

/// The call beside what curl says that it took itself, without its start.
fn page(table: &mut Table, site: SocketAddr, server: &ToolServer) -> anyhow::Result<()> {
    let url = format!("http://{site}/page");
    let mut fetching = call(server, "url_fetch", &json!({"url": url}).to_string())?;
    let (mut curl, mut fetch) = (Vec::new(), Vec::new());
    for round in 0..FETCHES + FETCHES / 10 {
        let took = Command::new("curl").args(["-s", "-o", "/dev/null", "-w", "%{time_total}", &url]).output();
        let took: f64 = String::from_utf8(took.context("curl is not installed")?.stdout)?.trim().parse()?;
        let began = Instant::now();
        fetching.call()?;
        if round >= FETCHES / 10 {
            fetch.push(began.elapsed());
            curl.push(Duration::from_secs_f64(took));
        }
    }
    let (curl, fetch) = (Durations::new(curl).p50(), Durations::new(fetch).p50());
    table.time("curl of a page of 100 kB, p50", curl);
    table.time("url_fetch of it, p50", fetch);
    table.within("more than curl", fetch.saturating_sub(curl), 6.0);
    Ok(())
}

/// How much more memory server and fetcher have together while a large file is stored.
fn download(table: &mut Table, site: SocketAddr, server: &ToolServer) -> anyhow::Result<()> {
    // A process that ends meanwhile has none.
    let memory = || -> f64 {
        processes_of(server.dir()).iter().filter_map(|process| proportional_mib(process.pid).ok()).sum()
    };
    let before = memory();
    let is_done = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut most: f64 = 0.0;
            while !is_done.load(Ordering::Relaxed) {
                most = most.max(memory());
                thread::sleep(Duration::from_millis(2));
            }
            most
        });
        let url = format!("http://{site}/large");
        let arguments = json!({"url": url, "download_path": "large", "timeout_seconds": 60}).to_string();
        let done = call(server, "url_fetch", &arguments).map_err(anyhow::Error::from);
        let done = done.and_then(|mut call| call.call());
        is_done.store(true, Ordering::Relaxed);
        let most = watching.join().ok().context("the watching thread panicked");
        done.and(most)
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
