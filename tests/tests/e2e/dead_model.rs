//! A model's server at whose address nothing listens: who waits reads that soon, and the answer comes once it
//! has started.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use harness::fake_telegram::Sent;
use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, ModelReply, System, free_address, wait};
use rustix::net;

use crate::assert_says;

/// How long somebody who waits may read nothing of it.
const SOON: Duration = Duration::from_secs(5);

/// How long a connection takes on this machine at the most.
const FULL: Duration = Duration::from_millis(500);

fn unreachable(address: SocketAddr) -> String {
    format!("The model at http://{address}/v1 cannot be reached (connection refused)")
}

/// The progress that says this, once there is some.
fn progress_that_says(telegram: &FakeTelegram, expected: &str) -> Sent {
    wait::until("the chat reads what is wrong", || {
        telegram.progress().into_iter().find(|sent| sent.text.contains(expected))
    })
}

fn builder(address: SocketAddr) -> harness::SystemBuilder {
    let variables = FakeModel::variables_for(address);
    variables.iter().fold(System::builder(), |builder, (name, value)| builder.variable(name, value))
}

#[test]
fn a_chat_reads_address_and_cause_within_seconds_and_the_answer_once_the_model_has_started() {
    let (telegram, address) = (FakeTelegram::start(), free_address());
    let _system = builder(address).telegram(&telegram, "4711").start();
    let asked = Instant::now();
    telegram.push(ADA.text("hello"));
    let told = progress_that_says(&telegram, &format!("{}. Trying again.", unreachable(address)));
    assert!(told.at - asked < SOON, "after {:?}", told.at - asked);
    assert!(told.text.starts_with("Waiting for the model · "), "{}", told.text);
    let _model = FakeModel::answering_at(address, vec![ModelReply::Text("Hello Ada.".to_owned())]);
    assert_eq!(telegram.wait_for_sent(1)[0].text, "Hello Ada.");
    wait::until_true("the message is gone", || telegram.visible_progress(ADA.id).is_empty());
}

/// A server whose queue of connections is full: the kernel drops what asks for another one, as a firewall
/// does.
fn dropping() -> (OwnedFd, Vec<TcpStream>, SocketAddr) {
    let listener = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
    net::bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    net::listen(&listener, 0).unwrap();
    let address = SocketAddr::try_from(net::getsockname(&listener).unwrap()).unwrap();
    let waiting = std::iter::from_fn(|| TcpStream::connect_timeout(&address, FULL).ok());
    let waiting = waiting.take(8).collect::<Vec<_>>();
    assert!(waiting.len() < 8, "the queue is never full");
    (listener, waiting, address)
}

#[test]
fn a_chat_reads_within_seconds_that_a_server_drops_its_packets() {
    let (telegram, (_listener, _waiting, address)) = (FakeTelegram::start(), dropping());
    let _system = builder(address).telegram(&telegram, "4711").start();
    let asked = Instant::now();
    telegram.push(ADA.text("hello"));
    let expected = format!("The model at http://{address}/v1 cannot be reached (no answer). Trying again.");
    let told = progress_that_says(&telegram, &expected);
    // Measured: 4.6 s. Before it was named so soon, it took 12.
    assert!(told.at - asked < 2 * SOON, "after {:?}", told.at - asked);
}

/// The supervisor's own pause between two attempts begins where the worker leaves the model alone.
#[test]
fn a_chat_reads_it_between_two_attempts_too() {
    let (telegram, address) = (FakeTelegram::start(), free_address());
    let system = builder(address)
        .telegram(&telegram, "4711")
        .variable("AUTONOUS_CONTROL_MAX_RETRIES", "0")
        .variable("AUTONOUS_TASK_RETRY_BASE_MS", "60000")
        .start();
    telegram.push(ADA.text("hello"));
    let told = progress_that_says(&telegram, &unreachable(address));
    assert_eq!(system.database().task_states()[0], "queued");
    let stop = told.buttons().into_iter().next().unwrap().1;
    telegram.press(ADA, ADA.id, told.number, &stop);
    wait::until_true("it is cancelled", || system.database().task_states()[0] == "cancelled");
    wait::until_true("the message is gone", || telegram.visible_progress(ADA.id).is_empty());
}

#[test]
fn a_message_from_a_shell_reads_it_while_it_waits() {
    let address = free_address();
    let system = builder(address).start();
    let waited = system.run_command(&["chat", "hello", "--wait", "4"]);
    let stderr = String::from_utf8_lossy(&waited.stderr);
    let told = format!("{}. Trying again.", unreachable(address));
    assert_eq!(stderr.matches(&told).count(), 1, "{stderr}");
}

#[test]
fn the_last_reply_names_address_and_cause_and_so_does_one_during_a_pause() {
    let address = free_address();
    let system = builder(address)
        .variable("AUTONOUS_CONTROL_MAX_RETRIES", "2")
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1")
        .variable("AUTONOUS_TASK_RETRY_SECONDS", "0")
        .workers(1)
        .start();
    let reply = system.reply(&system.say("hello"));
    assert_says(&reply, &[&unreachable(address)]);
    let failed = system.run_command(&["chat", "again"]);
    assert_says(&String::from_utf8_lossy(&failed.stdout), &[&unreachable(address), "5 times in a row"]);
    assert!(!failed.status.success());
}
