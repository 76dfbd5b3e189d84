//! The launcher's own process.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use process::{fd_passing, shutdown};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::task::JoinSet;

use super::super::child::{KILL, Report, TERMINATE};
use super::super::spawn::{Program, command};
use super::ASKED;

/// How long a child may run on without its supervisor: more than its lifeline takes.
const GRACE: Duration = Duration::from_secs(4);

/// Starts what the supervisor asks for, over the socket at stdin, until the supervisor and all children have
/// ended.
pub fn serve() -> anyhow::Result<()> {
    let _ = rustix::thread::set_name(c"launcher");
    // A launcher that was stopped continues when the supervisor ends, and then ends what it has started.
    let _ = set_parent_process_death_signal(Some(Signal::CONT));
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let programs = programs(&socket)?;
    socket.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work(&programs, socket))?)
}

fn programs(mut socket: &UnixStream) -> io::Result<Vec<Arc<Program>>> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut described = vec![0; usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?];
    socket.read_exact(&mut described)?;
    let programs: Vec<Program> = serde_json::from_slice(&described)?;
    Ok(programs.into_iter().map(Arc::new).collect())
}

async fn work(programs: &[Arc<Program>], socket: UnixStream) -> io::Result<()> {
    let socket = tokio::net::UnixStream::from_std(socket)?;
    // A signal to the whole group of processes reaches the supervisor, too, which ends its children in order.
    let mut requests = shutdown::Requests::catch(shutdown::Hangup::Ends)?;
    let outlasts = tokio::spawn(async move {
        loop {
            requests.next().await;
        }
    });
    let mut children = JoinSet::new();
    while let Some((number, descriptors)) = request(&socket).await? {
        if number == ASKED {
            // The supervisor asks again if there is no room for the answer.
            let _ = socket.try_write(&[ASKED]);
        } else if let Some(program) = programs.get(usize::from(number)) {
            children.spawn(look_after(Arc::clone(program), descriptors));
        }
        while children.try_join_next().is_some() {}
    }
    while children.join_next().await.is_some() {}
    outlasts.abort();
    Ok(())
}

async fn request(socket: &tokio::net::UnixStream) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
    let receive = || fd_passing::receive(socket).map_err(io::Error::from);
    socket.async_io(Interest::READABLE, receive).await
}

/// Starts a child, signals it as asked, and reports its end. An error means that the supervisor is gone.
async fn look_after(program: Arc<Program>, descriptors: Vec<OwnedFd>) -> io::Result<()> {
    let mut descriptors = descriptors.into_iter();
    let (Some(control), Some(stdin)) = (descriptors.next(), descriptors.next()) else { return Ok(()) };
    let control = UnixStream::from(control);
    control.set_nonblocking(true)?;
    let (mut asked, mut reports) = tokio::net::UnixStream::from_std(control)?.into_split();
    let stdout = if program.reads_stdout { descriptors.next().map(Stdio::from) } else { None };
    let streams = [Stdio::from(stdin), stdout.unwrap_or_else(Stdio::null), Stdio::inherit()];
    let command = command(&program, streams, descriptors.collect());
    let started = command
        .map_err(io::Error::other)
        .and_then(|command| tokio::process::Command::from(command).kill_on_drop(true).spawn());
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error());
            return report(&mut reports, &Report::Failed { errno }).await;
        }
    };
    let pid = child.id().unwrap_or_default();
    let _ = report(&mut reports, &Report::Started { pid }).await;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            byte = asked.read_u8() => match byte {
                Ok(TERMINATE) => signal(&child, Signal::TERM),
                Ok(KILL) => signal(&child, Signal::KILL),
                Ok(_) => {}
                Err(_) => break last_wait(&mut child).await?,
            },
        }
    };
    report(&mut reports, &Report::Ended { status: status.into_raw() }).await
}

/// The supervisor is gone: the child ends by its lifeline, else here.
async fn last_wait(child: &mut tokio::process::Child) -> io::Result<std::process::ExitStatus> {
    if let Ok(ended) = tokio::time::timeout(GRACE, child.wait()).await {
        return ended;
    }
    child.kill().await?;
    child.wait().await
}

/// A child that was not waited for keeps its number, so the signal reaches no other process.
fn signal(child: &tokio::process::Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

async fn report(reports: &mut (impl tokio::io::AsyncWrite + Unpin), report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    reports.write_all(&line).await
}
