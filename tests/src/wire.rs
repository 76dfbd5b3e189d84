//! A wire between a program and a server, which a test can break in the ways in which networks break.
//!
//! The kernel acknowledges what a program writes into a broken wire: a program that waits for an answer sees
//! nothing at all until the wire is mended or the connection ends.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::wait;

/// How long the server may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Nothing passes, and no connection ends.
    is_silent: bool,
    /// New connections are closed at once.
    is_cut: bool,
    is_over: bool,
    /// How much later everything arrives than it was sent.
    delay: Duration,
    /// On connections with a smaller number nothing passes.
    stranded_below: u64,
    next: u64,
    open: BTreeMap<u64, [TcpStream; 2]>,
}

impl Wire {
    /// A wire to a server, which may not be running yet.
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if accepting.lock().is_over {
                    return;
                }
                let shared = Arc::clone(&accepting);
                thread::spawn(move || shared.join(client, server));
            }
        });
        Self { address, shared }
    }

    /// Where programs connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on nothing passes and nothing ends, as if packets were lost.
    pub fn silence(&self) {
        self.shared.lock().is_silent = true;
    }

    /// Ends all connections, and accepts no others.
    pub fn cut(&self) {
        let mut state = self.shared.lock();
        state.is_cut = true;
        state.end_below(u64::MAX);
        self.shared.changed.notify_all();
    }

    /// Leaves the present connections open for the server only, as after a power cut; new ones pass.
    pub fn strand(&self) {
        let mut state = self.shared.lock();
        state.stranded_below = state.next;
    }

    /// Ends the stranded connections, as a server does after a while without a sign.
    pub fn end_stranded(&self) {
        let mut state = self.shared.lock();
        let below = state.stranded_below;
        state.end_below(below);
        self.shared.changed.notify_all();
    }

    /// Ends the present connections, as their timeouts do; new ones are as silent as these were.
    pub fn end_present(&self) {
        self.shared.lock().end_below(u64::MAX);
        self.shared.changed.notify_all();
    }

    /// Everything arrives so much later, in both directions.
    pub fn delay(&self, by: Duration) {
        self.shared.lock().delay = by;
    }

    /// Everything passes again, and what was held back comes late.
    pub fn mend(&self) {
        let mut state = self.shared.lock();
        (state.is_silent, state.is_cut) = (false, false);
        self.shared.changed.notify_all();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.cut();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn end_below(&mut self, number: u64) {
        let rest = self.open.split_off(&number);
        for stream in std::mem::replace(&mut self.open, rest).into_values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn is_held(&self, number: u64) -> bool {
        self.open.contains_key(&number) && (self.is_silent || number < self.stranded_below)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread of a wire panics")
    }

    /// Connects a client with the server, and passes on what both say.
    fn join(self: Arc<Self>, client: TcpStream, server: SocketAddr) -> Option<()> {
        if self.lock().is_cut {
            return None;
        }
        let server = TcpStream::connect_timeout(&server, PATIENCE).ok()?;
        for stream in [&client, &server] {
            stream.set_nodelay(true).ok()?;
        }
        let number = {
            let mut state = self.lock();
            if state.is_cut {
                return None;
            }
            let number = state.next;
            state.next += 1;
            state.open.insert(number, [client.try_clone().ok()?, server.try_clone().ok()?]);
            number
        };
        let back = [server.try_clone().ok()?, client.try_clone().ok()?];
        let shared = Arc::clone(&self);
        let answers = thread::spawn(move || shared.pass(number, back));
        self.pass(number, [client, server]);
        answers.join().ok()
    }

    /// Passes on what comes, until one of both ends the connection; then it ends for both.
    fn pass(&self, number: u64, [mut from, mut to]: [TcpStream; 2]) {
        let mut bytes = [0; 16 * 1024];
        while let Ok(length) = from.read(&mut bytes) {
            wait::out(self.lock().delay);
            let was_held = self.wait(number);
            if length == 0 || (was_held && has_left(&from)) || to.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        self.wait(number);
        let mut state = self.lock();
        for stream in state.open.remove(&number).into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Waits while nothing passes on a connection. Returns whether it had to.
    fn wait(&self, number: u64) -> bool {
        let mut state = self.lock();
        let was_held = state.is_held(number);
        while state.is_held(number) {
            state = self.changed.wait(state).expect("no thread of a wire panics");
        }
        was_held
    }
}

/// Whether who has sent something has ended the connection since.
fn has_left(stream: &TcpStream) -> bool {
    let _ = stream.set_nonblocking(true);
    let next = stream.peek(&mut [0]);
    let _ = stream.set_nonblocking(false);
    matches!(next, Ok(0)) || next.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers each byte with the same.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || {
                    let mut byte = [0];
                    while client.read_exact(&mut byte).is_ok() && client.write_all(&byte).is_ok() {}
                });
            }
        });
        address
    }

    fn client(wire: &Wire) -> TcpStream {
        let stream = TcpStream::connect(wire.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        stream
    }

    fn answer(stream: &mut TcpStream, byte: u8) -> Option<u8> {
        let mut answer = [0];
        stream.write_all(&[byte]).ok()?;
        stream.read_exact(&mut answer).ok().map(|()| answer[0])
    }

    #[test]
    fn what_is_held_back_comes_late_and_what_is_cut_ends() {
        let wire = Wire::to(echo());
        let mut first = client(&wire);
        assert_eq!(answer(&mut first, 1), Some(1));
        wire.silence();
        assert_eq!(answer(&mut first, 2), None);
        wire.mend();
        let mut late = [0];
        wait::until_true("it comes", || first.read_exact(&mut late).is_ok());
        assert_eq!(late, [2]);
        wire.strand();
        assert_eq!(answer(&mut first, 3), None);
        assert_eq!(answer(&mut client(&wire), 4), Some(4));
        wire.end_stranded();
        wait::until_true("it has ended", || first.read(&mut late).is_ok_and(|length| length == 0));
        wire.cut();
        assert_eq!(answer(&mut client(&wire), 5), None);
        wire.mend();
        assert_eq!(answer(&mut client(&wire), 6), Some(6));
    }
}
