//! Many chats at once: how long each waits for its reply, with one worker and with four.
//!
//! The fake model in this process takes 200 ms for a turn, as a fast real one would, so the rest of the
//! measured time is one chat's wait for another. A task has two turns and one call.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::http::Connection as Http;
use crate::measure::Durations;
use crate::program::{Program, until_ready};
use crate::table::Table;

const TURN: Duration = Duration::from_millis(200);
const CHATS: [usize; 3] = [1, 16, 64];
const WORKERS: [usize; 2] = [1, 4];
/// How many messages wait in the one chat, while another has a single one.
const BACKLOG: usize = 1000;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let model = serve_model(&runtime)?;
    let mut rates = [[0.0; CHATS.len()]; WORKERS.len()];
    for (rates, workers) in rates.iter_mut().zip(WORKERS) {
        let system = System::start(model, workers)?;
        for (rate, chats) in rates.iter_mut().zip(CHATS) {
            let (waits, all) = system.replies(chats)?;
            *rate = f64::from(u32::try_from(chats)?) / all.as_secs_f64();
            let what = format!("{chats} chats, {workers} workers: time to a reply");
            let [p50, p99] = [50, 99].map(|percentile| waits.percentile_us(percentile) / 1e6);
            table.note(&what, format!("{p50:.2} s, p99 {p99:.2} s, {rate:.1}/s"));
        }
    }
    for (at, chats) in CHATS.into_iter().enumerate().skip(1) {
        let what = format!("replies a second in {chats} chats, 4 workers against 1");
        table.reach(&what, rates[1][at] / rates[0][at], 3.5, "times");
    }
    let system = System::start(model, 4)?;
    let backlog = system.reply_beside_backlog()?;
    table.bound(&format!("a reply beside {BACKLOG} messages of another chat"), backlog, 1000.0, "ms");
    Ok(())
}

struct System {
    _supervisor: Program,
    control: SocketAddr,
    token: String,
    _place: tempfile::TempDir,
}

impl System {
    fn start(model: SocketAddr, workers: usize) -> anyhow::Result<Self> {
        let place = tempfile::tempdir()?;
        let data = place.path().join("data");
        let variables = [
            ("AUTONOUS_WORKERS", workers.to_string()),
            ("AUTONOUS_MODEL_PROVIDER", "openai".to_owned()),
            ("AUTONOUS_MODEL_BASE_URL", format!("http://{model}/v1")),
        ];
        let (supervisor, control) = Program::system_with(&data, &variables)?;
        until_ready(control)?;
        let tokens: Value = serde_json::from_slice(&std::fs::read(data.join("tokens"))?)?;
        let token = tokens["control_token"].as_str().context("the supervisor has no token")?.to_owned();
        Ok(Self { _supervisor: supervisor, control, token, _place: place })
    }

    /// How long each of so many chats waits that write at once, and how long the last one.
    fn replies(&self, chats: usize) -> anyhow::Result<(Durations, Duration)> {
        let began = Instant::now();
        let waits = thread::scope(|scope| {
            let waiting: Vec<_> =
                (0..chats).map(|chat| scope.spawn(move || self.reply(&format!("chat-{chat}")))).collect();
            let waits = waiting.into_iter().map(|chat| chat.join().expect("a chat does not panic"));
            waits.collect::<anyhow::Result<Vec<Duration>>>()
        })?;
        Ok((Durations::new(waits), began.elapsed()))
    }

    fn reply_beside_backlog(&self) -> anyhow::Result<f64> {
        for _ in 0..BACKLOG {
            self.say("busy")?;
        }
        let waits = (0..3).map(|_| self.reply("other")).collect::<anyhow::Result<Vec<Duration>>>()?;
        Ok(Durations::new(waits).p50_ms())
    }

    fn reply(&self, chat: &str) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let task = self.say(chat)?;
        let path = format!("/messages/{task}?wait_seconds=120");
        let mut get = Http::open(self.control, "GET", &path, Some(&self.token), "")?;
        let answer: Value = serde_json::from_slice(get.exchange()?)?;
        anyhow::ensure!(answer["status"] == "done", "{answer}");
        Ok(began.elapsed())
    }

    fn say(&self, chat: &str) -> anyhow::Result<String> {
        let body = json!({"text": "look around", "chat": chat}).to_string();
        let mut post = Http::open(self.control, "POST", "/messages", Some(&self.token), &body)?;
        let answer: Value = serde_json::from_slice(post.exchange()?)?;
        Ok(answer["task_id"].as_str().context("the message has no task")?.to_owned())
    }
}

fn serve_model(runtime: &Runtime) -> anyhow::Result<SocketAddr> {
    let routes = Router::new().route("/v1/chat/completions", post(complete));
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    runtime.spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}

/// Lists the directory, then answers.
async fn complete(Json(question): Json<Value>) -> Json<Value> {
    tokio::time::sleep(TURN).await;
    let messages = question["messages"].as_array();
    let has_looked = messages.and_then(|all| all.last()).is_some_and(|last| last["role"] == "tool");
    let (message, finish_reason) = if has_looked {
        (json!({"role": "assistant", "content": "It is empty."}), "stop")
    } else {
        let function = json!({"name": "ls", "arguments": "{\"path\": \".\"}"});
        let call = json!({"id": "call_1", "type": "function", "function": function});
        (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
    };
    Json(json!({"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}))
}
