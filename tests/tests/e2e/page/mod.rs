//! The page at the control port, in a real browser and by HTTP.

mod attacks;
mod flows;
mod outputs;
mod shown;
mod sizes;
mod talk;

use harness::browser::Browser;
use harness::http::{Answer, Request};
use harness::{System, TestDir};

/// A browser in which somebody is signed in, at a system whose page it shows.
struct Visit {
    // The browser goes away before the system that it follows.
    browser: Browser,
    system: System,
    _profile: TestDir,
}

impl Visit {
    fn begin(system: System) -> Self {
        let profile = TestDir::new();
        let mut browser = Browser::start(profile.path());
        browser.open(&system.page_link());
        browser.wait_for_text("Messages get answered");
        Self { browser, system, _profile: profile }
    }

    fn address(&self) -> String {
        self.system.tokens().control_url
    }

    fn go(&mut self, path: &str) {
        let address = format!("{}{path}", self.address());
        self.browser.open(&address);
        self.browser
            .wait_until("document.readyState === 'complete' && document.querySelector('h1') !== null");
    }

    /// Nothing that a page must not do has happened.
    fn assert_clean(&self) {
        self.browser.assert_clean(&format!("{}/", self.address()));
    }
}

/// Opens a path of the page with this cookie.
fn get(system: &System, path: &str, cookie: &str) -> Answer {
    system.ask_openly(Request::get(path).header("Cookie", cookie))
}

/// A form that our own page sends.
fn form(system: &System, path: &str, fields: &str, cookie: &str) -> Request {
    Request::post(path, fields)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Origin", &system.tokens().control_url)
        .header("Sec-Fetch-Site", "same-origin")
        .header("Cookie", cookie)
}

/// A page, which must be there.
pub(crate) fn page(system: &System, path: &str, cookie: &str) -> String {
    let answer = get(system, path, cookie);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.text()
}
