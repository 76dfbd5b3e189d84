//! A tool server that stands still under load: it is replaced, and waiting callers are answered.

use std::time::{Duration, Instant};

use harness::signals;
use harness::system::direct_ls;
use harness::{System, wait};
use rustix::process::Signal;

use crate::report::Report;

const LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn run(report: &mut Report) {
    let system = System::builder().workers(4).start();
    for _ in 0..50 {
        ["c", "d"].into_iter().for_each(|chat| drop(system.say_in(chat, &direct_ls("."))));
    }
    let server = system.child("tool-server").pid;
    signals::send(server, Signal::STOP);
    let begun = Instant::now();
    let asked = ["a", "b"].map(|chat| system.say_in(chat, &direct_ls(".")));
    let replaced = wait::within(LIMIT, || {
        let new = system.children().into_iter().find(|child| child.is("tool-server"))?;
        (new.pid != server).then(|| begun.elapsed())
    });
    report.time("The tool server stands still: replaced after", replaced.unwrap_or(Duration::MAX), LIMIT);
    for (task, chat) in asked.iter().zip(["A", "B"]) {
        let done = format!("select count(*) from inbox where id = '{task}' and state = 'done'");
        wait::is_true_within(LIMIT, || system.database().count(&done) == 1);
        report.time(&format!("… {chat} answered after"), begun.elapsed(), LIMIT);
    }
}
