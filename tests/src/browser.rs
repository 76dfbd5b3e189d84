//! A real browser, spoken to in its own DevTools protocol over two pipes.
//!
//! Pipes need no port, no driver program and no WebSocket: messages are JSON, each ended by a NUL byte.
//! The browser keeps its profile in a directory of the test and ends when this does.

use std::io::{BufRead, BufReader, PipeWriter, Write, pipe};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::wait;
use command_fds::{CommandFdExt, FdMapping};
use serde_json::{Value, json};

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Nothing but the page itself is to be loaded: no updates, no first-run pages, no experiments.
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1600",
];

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// How often a click is repeated that shows nothing.
const CLICKS: usize = 4;

/// How long a click may take to show something.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

pub struct Browser {
    child: Child,
    commands: PipeWriter,
    messages: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    /// The browser's reports so far: requests, answers, errors.
    pub events: Vec<Value>,
}

impl Browser {
    /// Starts a browser with a fresh profile in `profile`, with one empty page.
    pub fn start(profile: &Path) -> Self {
        let (their_commands, commands) = pipe().expect("a pipe can be made");
        let (answers, their_answers) = pipe().expect("a pipe can be made");
        let child = spawn(profile, their_commands.into(), their_answers.into());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the browser speaks JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self { child, commands, messages, session: None, last_id: 0, events: Vec::new() };
        browser.open_page();
        browser
    }

    fn open_page(&mut self) {
        let target = self.command("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.command("Target.attachToTarget", &attach);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Network", "Page", "Runtime", "Log", "DOM"] {
            self.command(&format!("{domain}.enable"), &json!({}));
        }
    }

    pub fn open(&mut self, url: &str) {
        let opened = self.command("Page.navigate", &json!({"url": url}));
        assert!(opened["errorText"].is_null(), "{url} does not open: {opened}");
    }

    /// Clicks with the mouse on what a CSS selector finds, once it is there, in sight and at rest.
    pub fn click(&mut self, selector: &str) {
        let script = format!(
            "(() => {{ const element = document.querySelector({selector:?}); if (!element) return null; \
             element.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const box = element.getBoundingClientRect(); \
             const at = {{x: box.x + box.width / 2, y: box.y + box.height / 2}}; \
             return element.contains(document.elementFromPoint(at.x, at.y)) ? at : null; }})()"
        );
        let mut before = Value::Null;
        let at = self.wait_for(&script, |found| {
            let rests = found["x"].is_number() && *found == before;
            before = found.clone();
            rests
        });
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": at["x"], "y": at["y"], "button": "left", "clickCount": 1});
            self.command("Input.dispatchMouseEvent", &event);
        }
    }

    /// Clicks until the click shows something: a page that is still being laid out can lose one.
    pub fn click_until(&mut self, selector: &str, shown: &str) {
        let is_shown = format!("document.querySelector({shown:?}) !== null");
        for _ in 0..CLICKS {
            self.click(selector);
            if wait::within(SHOWN_WITHIN, || self.evaluate(&is_shown).as_bool().filter(|shown| *shown))
                .is_some()
            {
                return;
            }
        }
        panic!("{CLICKS} clicks on {selector} never show {shown}:\n{:#?}", self.events);
    }

    /// The text of what a CSS selector finds, once it is there and not empty.
    pub fn text(&mut self, selector: &str) -> String {
        let script = format!("document.querySelector({selector:?})?.textContent");
        let text = self.wait_for(&script, |text| text.as_str().is_some_and(|text| !text.trim().is_empty()));
        text.as_str().unwrap_or_default().trim().to_owned()
    }

    /// Writes at the end of a field, as a person does.
    pub fn fill(&mut self, selector: &str, text: &str) {
        let focus = format!(
            "(() => {{ const field = document.querySelector({selector:?}); field?.focus(); \
             return document.activeElement === field && field !== null; }})()"
        );
        self.wait_for(&focus, |is_focused| *is_focused == json!(true));
        self.command("Input.insertText", &json!({"text": text}));
    }

    /// Presses a key that is no letter, such as `Enter` or `Tab`.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            other => panic!("{other} is not known here"),
        };
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let down =
            json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
        self.command("Input.dispatchKeyEvent", &down);
        self.command("Input.dispatchKeyEvent", &json!({"type": "keyUp", "key": key, "code": key}));
    }

    /// Chooses a file in a field for files.
    pub fn choose_file(&mut self, selector: &str, file: &Path) {
        let root = self.command("DOM.getDocument", &json!({}))["root"]["nodeId"].clone();
        let found = self.command("DOM.querySelector", &json!({"nodeId": root, "selector": selector}));
        let files = json!({"nodeId": found["nodeId"], "files": [file]});
        self.command("DOM.setFileInputFiles", &files);
    }

    /// Waits until the page shows this text.
    pub fn wait_for_text(&mut self, text: &str) {
        self.wait_until(&format!("document.body?.innerText.includes({text:?})"));
    }

    /// Waits until an expression is true.
    pub fn wait_until(&mut self, expression: &str) {
        self.wait_for(expression, |value| *value == json!(true));
    }

    /// Shows pages in this width, in dark colours or in light ones.
    pub fn look(&mut self, width: u32, is_dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if is_dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", &media);
    }

    /// A picture of the page as PNG in base64: of the whole of it, but at most so high.
    pub fn picture(&mut self, most_height: u32) -> String {
        let height = self.evaluate("document.documentElement.scrollHeight").as_u64().unwrap_or(0);
        let width = self.evaluate("window.innerWidth");
        let clip =
            json!({"x": 0, "y": 0, "width": width, "height": height.min(most_height.into()), "scale": 1});
        let asked = json!({"format": "png", "clip": clip, "captureBeyondViewport": true});
        let taken = self.command("Page.captureScreenshot", &asked);
        taken["data"].as_str().unwrap_or_default().to_owned()
    }

    /// From the next page on, no script runs.
    pub fn without_scripts(&mut self) {
        self.command("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    }

    /// The browser's reports of one kind, by what they are about.
    pub fn told(&self, method: &str) -> Vec<&Value> {
        let events = self.events.iter().filter(|event| event["method"] == method);
        events.map(|event| &event["params"]).collect()
    }

    /// Panics if a page asked another server than `own` for anything, an answer was an error, or a script or
    /// the browser reported one.
    pub fn assert_clean(&self, own: &str) {
        for request in self.told("Network.requestWillBeSent") {
            let url = request["request"]["url"].as_str().unwrap_or_default();
            assert!(url.starts_with(own) || url.starts_with("data:"), "the page asks {url}");
        }
        for response in self.told("Network.responseReceived") {
            let status = response["response"]["status"].as_u64();
            let url = &response["response"]["url"];
            assert!(status.is_some_and(|status| status < 400), "{url}: {status:?}");
        }
        // A page that is left no longer follows its events.
        let failed = self.told("Network.loadingFailed").into_iter().filter(|one| one["canceled"] != true);
        assert_eq!(failed.collect::<Vec<_>>(), Vec::<&Value>::new());
        let is_fault =
            |one: &&Value| ["warning", "error"].iter().any(|level| one["entry"]["level"] == *level);
        let logged = self.told("Log.entryAdded").into_iter().filter(is_fault);
        assert_eq!(logged.collect::<Vec<_>>(), Vec::<&Value>::new());
        for failure in ["Runtime.exceptionThrown", "Page.javascriptDialogOpening"] {
            assert_eq!(self.told(failure), Vec::<&Value>::new(), "{failure}");
        }
    }

    pub fn evaluate(&mut self, expression: &str) -> Value {
        self.try_evaluate(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// The same; an error where the page goes elsewhere meanwhile.
    fn try_evaluate(&mut self, expression: &str) -> Result<Value, Value> {
        let evaluated =
            self.try_command("Runtime.evaluate", &json!({"expression": expression, "returnByValue": true}))?;
        assert!(evaluated["exceptionDetails"].is_null(), "{expression}: {evaluated}");
        Ok(evaluated["result"]["value"].clone())
    }

    fn wait_for(&mut self, expression: &str, mut is_there: impl FnMut(&Value) -> bool) -> Value {
        let found = wait::within(wait::SOON, || self.try_evaluate(expression).ok().filter(&mut is_there));
        found.unwrap_or_else(|| panic!("the page never has {expression}:\n{:#?}", self.events))
    }

    fn command(&mut self, method: &str, parameters: &Value) -> Value {
        self.try_command(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Sends a command and waits for its answer; what the browser tells meanwhile is kept.
    fn try_command(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.commands, "{message}\0").expect("the browser takes commands");
        loop {
            let message = self
                .messages
                .recv_timeout(ANSWER_WITHIN)
                .unwrap_or_else(|error| panic!("the browser does not answer {method}: {error}"));
            if message["id"] == self.last_id {
                let error = &message["error"];
                return if error.is_null() { Ok(message["result"].clone()) } else { Err(error.clone()) };
            }
            self.events.push(message);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = write!(self.commands, "{}\0", json!({"id": 0, "method": "Browser.close"}));
        let child = &mut self.child;
        if wait::within(Duration::from_secs(10), || child.try_wait().ok().flatten()).is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts the program with its commands at descriptor 3 and its answers at 4.
fn spawn(profile: &Path, commands: OwnedFd, answers: OwnedFd) -> Child {
    let mappings =
        vec![FdMapping { parent_fd: commands, child_fd: 3 }, FdMapping { parent_fd: answers, child_fd: 4 }];
    let mut command = Command::new(program());
    command
        .args(FLAGS)
        .arg("--remote-debugging-pipe")
        .arg(format!("--user-data-dir={}", profile.display()))
        .env("HOME", profile)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.fd_mappings(mappings).expect("3 and 4 are two numbers");
    command.spawn().expect("the browser starts")
}

fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = NAMES.iter().find_map(|name| {
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
    });
    found.expect("this test needs a browser: type `make setup`")
}
