//! A program of somebody else's, on a free port of this machine, for as long as it is needed.

use std::env;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::program::Launch;
use harness::{Program, TestDir, wait};

/// Far longer than an interpreter takes to start on a busy machine.
const START_WITHIN: Duration = Duration::from_secs(60);

/// A running server.
pub(crate) struct Foreign {
    pub(crate) address: SocketAddr,
    _program: Program,
    // Dropped last: a program that fails still shows the log that lies in it.
    _dir: TestDir,
}

impl Foreign {
    /// Starts `program` with the arguments that `arguments` makes of a place for files and a port.
    pub(crate) fn start(program: &str, arguments: impl FnOnce(&Path, u16) -> Vec<String>) -> Self {
        let dir = TestDir::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        drop(listener);
        let launch = Launch {
            binary: absolute(program),
            arguments: arguments(dir.path(), address.port()),
            variables: vec![("PATH".to_owned(), env::var("PATH").unwrap_or_default())],
            unprivileged: false,
        };
        let program = Program::start(&dir, &launch);
        let answers = wait::within(START_WITHIN, || TcpStream::connect(address).ok());
        assert!(answers.is_some(), "{} does not answer:\n{}", launch.binary.display(), program.log_tail());
        Self { address, _program: program, _dir: dir }
    }
}

/// A program that is named by a relative path starts in a directory of its own all the same.
fn absolute(program: &str) -> PathBuf {
    std::path::absolute(program).expect("the current directory exists")
}
