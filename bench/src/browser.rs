//! The page: when a browser first shows something of it beside a long history, and what browsers cost that
//! follow a busy task: the supervisor's processor time with them and without.

use std::io::Read as _;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::Context as _;
use harness::browser::Browser;
use harness::http::{Request, address_of};
use harness::leftovers::processes_of;
use harness::long_history::{LONG, fill};
use harness::{System, TestDir, wait};

use crate::measure::Durations;
use crate::model::FakeModel;
use crate::table::Table;

/// What the browser has noted of its first paint that shows something.
const PAINT: &str = "performance.getEntriesByName('first-contentful-paint')[0]";

const WATCHERS: usize = 50;

/// A turn with one call is four events, so these are 20 events a second.
const TURN: Duration = Duration::from_millis(200);

const MEASURED: Duration = Duration::from_secs(20);

/// The kernel counts processor time in hundredths of a second (`USER_HZ`).
const TICKS_A_SECOND: f64 = 100.0;

/// How often each page is opened, beside once that is not counted.
const VISITS: usize = 9;

pub(crate) fn first_paint(table: &mut Table) -> anyhow::Result<()> {
    let system = System::start();
    fill(&system, 10_000, 5_000);
    let profile = TestDir::new();
    let mut browser = Browser::start(profile.path());
    browser.open(&system.page_link());
    let url = system.tokens().control_url;
    for path in ["/", "/tasks", &format!("/tasks/{LONG}"), &format!("/tasks/{LONG}?page=1"), "/usage?days=90"]
    {
        let mut paints = Vec::new();
        for visit in 0..=VISITS {
            browser.open(&format!("{url}{path}"));
            browser.wait_until(&format!("document.readyState === 'complete' && {PAINT} !== undefined"));
            let paint = browser.evaluate(&format!("{PAINT}.startTime"));
            if visit > 0 {
                paints.push(Duration::from_secs_f64(paint.as_f64().context("a time")? / 1e3));
            }
        }
        let what = path.replace(LONG, "LONG");
        table.within(&format!("first paint of {what}, p50"), Durations::new(paints).p50(), 200.0);
    }
    Ok(())
}

pub(crate) fn watchers(table: &mut Table) -> anyhow::Result<()> {
    let model = FakeModel::start(TURN, 10_000)?;
    let [(provider, openai), (url, address)] = model.variables();
    let system = System::builder()
        .variable(provider, &openai)
        .variable(url, &address)
        .variable("AUTONOUS_CONTROL_MAX_TURNS", "10000")
        .variable("AUTONOUS_MODEL_CONTEXT_TOKENS", "10000000")
        .start();
    let cookie = system.signed_in();
    let task = system.say("look around");
    wait::until_true("the task calls tools", || {
        system.database().count("select count(*) from events where type = 'tool_call.completed'") > 0
    });
    let family = processes_of(system.dir());
    let supervisor = family.iter().find(|process| process.is("supervisor")).context("no supervisor")?.pid;
    let alone = cores_taken(supervisor)?;
    table.note("the supervisor beside 20 events a second", format!("{:.1} % of a core", alone * 100.0));
    for (name, view) in [("/", "/live/now".to_owned()), ("the task", format!("/live/tasks/{task}?page=0"))] {
        let mut streams = Vec::new();
        for _ in 0..WATCHERS {
            let request = Request::get(&view).header("Cookie", &cookie);
            streams.push(request.send_without_the_last(0, address_of(&system.tokens().control_url)));
        }
        let readers = streams.iter().map(read_in_a_thread).collect::<Result<Vec<_>, _>>()?;
        let watched = cores_taken(supervisor)?;
        streams.iter().try_for_each(|stream| stream.shutdown(Shutdown::Both))?;
        let received: usize = readers.into_iter().map(|reader| reader.join().unwrap_or(0)).sum();
        anyhow::ensure!(received > WATCHERS * 10_000, "{WATCHERS} watchers of {name} got {received} bytes");
        let cost = (watched - alone) * 100.0;
        table.bound(&format!("{WATCHERS} watchers of {name} more"), cost, 5.0, "% of a core");
    }
    Ok(())
}

/// How many bytes come until the stream ends.
fn read_in_a_thread(stream: &TcpStream) -> anyhow::Result<thread::JoinHandle<usize>> {
    let mut stream = stream.try_clone()?;
    Ok(thread::spawn(move || {
        let (mut buffer, mut received) = (vec![0; 1 << 16], 0);
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            received += count;
        }
        received
    }))
}

/// The share of a core that a process takes, measured for a while.
fn cores_taken(pid: u32) -> anyhow::Result<f64> {
    let (began, before) = (Instant::now(), ticks(pid)?);
    thread::sleep(MEASURED);
    Ok((ticks(pid)? - before) / TICKS_A_SECOND / began.elapsed().as_secs_f64())
}

/// The processor time of a process, from its `stat`: fields 14 and 15, of which the second has no spaces.
fn ticks(pid: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    Ok(fields.map(str::parse::<f64>).sum::<Result<f64, _>>()?)
}
