//! A Prometheus that scrapes what a case starts, with the project's rules.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness::{Request, TestDir, free_address, wait};

/// How long an alert may take to fire.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is scraped: the name of its job, its address and its token.
pub(crate) struct Target {
    pub(crate) job: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

pub(crate) struct Prometheus {
    child: Child,
    address: SocketAddr,
    dir: TestDir,
}

impl Prometheus {
    /// Scrapes these targets and judges the rules four times a second. An alert fires without its pause.
    pub(crate) fn start(program: &Path, rules: &str, targets: &[Target]) -> Self {
        let dir = TestDir::new();
        let rules: String = rules
            .lines()
            .filter(|line| !line.trim().starts_with("for:"))
            .map(|line| format!("{line}\n"))
            .collect();
        let jobs: String = targets.iter().map(job).collect();
        let config = format!(
            "global:\n  scrape_interval: 250ms\n  evaluation_interval: 250ms\n\
             rule_files: [alerts.yml]\nscrape_configs:\n{jobs}"
        );
        fs::write(dir.path().join("alerts.yml"), rules).expect("its directory is ours");
        fs::write(dir.path().join("prometheus.yml"), config).expect("its directory is ours");
        let address = free_address();
        let child = Command::new(program)
            .arg(format!("--config.file={}", dir.path().join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", dir.path().join("series").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(dir.path().join("prometheus.log")).expect("its directory is ours"))
            .spawn()
            .expect("Prometheus starts");
        let prometheus = Self { child, address, dir };
        wait::until_true("Prometheus is ready", || {
            Request::get("/-/ready").try_send(address).is_ok_and(|answer| answer.status == 200)
        });
        prometheus
    }

    /// The names of the alerts that fire.
    pub(crate) fn firing(&self) -> Vec<String> {
        let alerts = Request::get("/api/v1/alerts").send(self.address).json();
        let all = alerts["data"]["alerts"].as_array().cloned().unwrap_or_default();
        let firing = all.iter().filter(|alert| alert["state"] == "firing");
        firing.filter_map(|alert| Some(alert["labels"]["alertname"].as_str()?.to_owned())).collect()
    }

    /// Whether an alert fires within a minute.
    pub(crate) fn fires(&self, alert: &str) -> bool {
        wait::is_true_within(PATIENCE, || self.firing().iter().any(|firing| firing == alert))
    }

    /// The errors of its scrapes.
    pub(crate) fn scrape_errors(&self) -> Vec<String> {
        let targets = Request::get("/api/v1/targets").send(self.address).json();
        let all = targets["data"]["activeTargets"].as_array().cloned().unwrap_or_default();
        let errors = all.iter().filter_map(|target| target["lastError"].as_str());
        errors.filter(|error| !error.is_empty()).map(str::to_owned).collect()
    }

    /// Waits until each target was scraped, and the rules were judged after that.
    pub(crate) fn wait_for_scrapes(&self, count: usize) {
        wait::until_true("all targets were scraped", || {
            let found =
                Request::get("/api/v1/query?query=count_over_time(up%5B1h%5D)").send(self.address).json();
            let series = found["data"]["result"].as_array().cloned().unwrap_or_default();
            let scrapes =
                |one: &serde_json::Value| one["value"][1].as_str().and_then(|text| text.parse().ok());
            !series.is_empty()
                && series.iter().all(|one| scrapes(one).is_some_and(|scraped: usize| scraped >= count))
        });
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("prometheus.log")).unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn job(target: &Target) -> String {
    let Target { job, address, token } = target;
    format!(
        "  - job_name: {job}\n    authorization:\n      credentials: {token:?}\n    static_configs:\n\
         \x20     - targets: [\"{address}\"]\n"
    )
}
