//! Swagger UI in a real browser: opened with the token in the address, a tool is run by clicks alone.

use std::fs;

use harness::ToolServer;
use harness::browser::Browser;
use serde_json::Value;

const TOKEN: &str = "FAKE-token-for-the-browser";

/// The operation of `ls` on the page, by the id that Swagger UI gives it.
const LS: &str = "#operations-tools-ls";

/// A server, and its page on which `ls` was executed; the browser goes away first.
fn page_after_ls() -> (ToolServer, Browser) {
    let server = ToolServer::builder().token(TOKEN).start();
    fs::write(server.root().join("seen-in-the-browser.txt"), "x").expect("the root is writable");
    let mut browser = Browser::start(&server.dir().path().join("browser"));
    browser.open(&format!("http://{}/docs/#token={TOKEN}", server.address()));
    let (execute, answer) = (format!("{LS} button.execute"), format!("{LS} .live-responses-table"));
    browser.click_until(&format!("{LS} button.opblock-summary-control"), &execute);
    browser.click_until(&execute, &answer);
    browser.text(&format!("{LS} .live-responses-table .response-col_status"));
    (server, browser)
}

#[test]
fn swagger_ui_runs_ls_by_a_click_and_asks_nobody_else() {
    let (server, mut browser) = page_after_ls();
    let status = browser.text(&format!("{LS} .live-responses-table tbody .response-col_status"));
    assert!(status.starts_with("200"), "{status}");
    let answer = browser.text(&format!("{LS} .live-responses-table tbody .highlight-code code"));
    let envelope: Value = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    assert_eq!(envelope["stdout"], "seen-in-the-browser.txt\n");
    assert_eq!(envelope["ok"], true);

    let own = format!("http://{}/", server.address());
    let requests = browser.told("Network.requestWillBeSent");
    assert!(requests.len() > 3, "the page, its scripts, the document and the call: {requests:#?}");
    browser.assert_clean(&own);
}

#[test]
fn the_token_stays_out_of_the_address_bar_and_for_the_session_only() {
    let (_server, mut browser) = page_after_ls();
    let address = browser.evaluate("window.location.href");
    assert!(address.as_str().is_some_and(|address| address.ends_with("/docs/")), "{address}");
    assert_eq!(browser.evaluate("window.sessionStorage.getItem('autonous-token')"), TOKEN);
    assert_eq!(browser.evaluate("Object.keys(window.localStorage).length"), 0);
    assert_eq!(browser.evaluate("document.cookie"), "");
}
