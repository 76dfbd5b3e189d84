//! A network and mounts of the test's own: the test runs itself again in new namespaces, with public
//! addresses on the loopback interface and a name server in `/etc/resolv.conf`.

use std::path::Path;
use std::process::{Command, Stdio};

use harness::small_disk::run_again;
use store::fixture::SERVER;

use super::name_server;

/// Said to the test that runs inside.
const INSIDE: &str = "E2E_INSIDE_A_NETWORK";

/// An address that is public everywhere else.
pub(super) const PUBLIC: &str = "93.184.216.34";

/// One of somebody's own network.
pub(super) const PRIVATE: &str = "10.9.9.9";

/// Runs the body of the test whose thread this is in a network of its own.
pub(super) fn in_a_network_of_its_own(test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        set_up();
        return test();
    }
    let mut command = Command::new("unshare");
    if !rustix::process::getuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    // No server outside is reached from there.
    command.args(["--mount", "--net", "--"]).env_remove(SERVER).stdin(Stdio::null());
    let thread = std::thread::current();
    run_again(&mut command, thread.name().expect("a test's thread has its name"), INSIDE);
}

fn set_up() {
    run("ip", &["link", "set", "lo", "up"]);
    for address in [PUBLIC, PRIVATE] {
        run("ip", &["address", "add", &format!("{address}/32"), "dev", "lo"]);
    }
    let settings = std::env::temp_dir().join(format!("resolv-{}", std::process::id()));
    std::fs::write(&settings, "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n").unwrap();
    let at = Path::new("/etc/resolv.conf").canonicalize().expect("the machine has a resolver");
    run("mount", &["--bind", settings.to_str().unwrap(), at.to_str().unwrap()]);
    std::fs::remove_file(settings).unwrap();
    name_server::start();
}

fn run(program: &str, arguments: &[&str]) {
    let output =
        Command::new(program).args(arguments).output().unwrap_or_else(|_| panic!("{program} is missing"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
