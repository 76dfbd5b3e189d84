//! Attacks, one line each: the attempt, how to see that it worked, and who can do it without the sandbox.

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, Scenario};

/// How to see that an attack worked.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    /// The command prints this.
    Prints(&'static str),
    /// The content of the file outside changed, or it is gone.
    ChangesFile,
    /// Its mode, times, owner or attributes changed.
    ChangesMetadata,
    /// This file was created in the directory outside.
    Creates(&'static str),
    KillsBystander,
    /// The bystander's priority or limits changed.
    ChangesBystander,
    Arrives,
}

use Effect::{Arrives, ChangesBystander, ChangesFile, ChangesMetadata, Creates, KillsBystander, Prints};

struct Attack {
    script: &'static str,
    effect: Effect,
    /// Whether only root can do it without the sandbox.
    only_root: bool,
    /// Whether tier B states that it cannot stop this.
    lost_in_tier_b: bool,
}

const fn attack(script: &'static str, effect: Effect) -> Attack {
    Attack { script, effect, only_root: false, lost_in_tier_b: false }
}

const fn lost_in_tier_b(attack: Attack) -> Attack {
    Attack { lost_in_tier_b: true, ..attack }
}

const fn only_root(attack: Attack) -> Attack {
    Attack { only_root: true, ..attack }
}

const SECRET: Effect = Prints("OUTSIDE-SECRET");
const CANARY: Effect = Prints("server-secret-4711");

const FILES: &[Attack] = &[
    attack("cat {OUTSIDE}/secret.txt", SECRET),
    attack("ls {OUTSIDE}", Prints("secret.txt")),
    attack("ln -s {OUTSIDE}/secret.txt l; cat l", SECRET),
    attack("ln {OUTSIDE}/secret.txt h; cat h", SECRET),
    attack("cat /proc/self/root{OUTSIDE}/secret.txt", SECRET),
    attack("cat /proc/self/cwd/../outside/secret.txt", SECRET),
    attack("cat /proc/{BYSTANDER}/root{OUTSIDE}/secret.txt", SECRET),
    attack("mv {OUTSIDE}/secret.txt stolen; cat stolen", SECRET),
    attack("cp -r {OUTSIDE} copy; cat copy/secret.txt", SECRET),
    attack("tar c {OUTSIDE} 2>/dev/null | tar xO", SECRET),
    attack("python3 -c \"print(open('{OUTSIDE}/secret.txt').read())\"", SECRET),
    attack("echo PWNED > {OUTSIDE}/secret.txt", ChangesFile),
    attack("exec 3<>{OUTSIDE}/secret.txt; echo PWNED >&3", ChangesFile),
    attack("truncate -s 0 {OUTSIDE}/secret.txt", ChangesFile),
    attack("r''m -rf {OUTSIDE}", ChangesFile),
    attack("x=rm; $x -rf {OUTSIDE}", ChangesFile),
    attack("bash <<< 'rm -rf {OUTSIDE}'", ChangesFile),
    attack("make -sf - <<< 'all:;rm -rf {OUTSIDE}'", ChangesFile),
    attack("dd if=/dev/zero of={OUTSIDE}/secret.txt bs=1 count=1 conv=notrunc", ChangesFile),
    attack("install -m 777 /usr/bin/true {OUTSIDE}/secret.txt", ChangesFile),
    attack("sed -i s/SECRET/PWNED/ {OUTSIDE}/secret.txt", ChangesFile),
    attack("cd {OUTSIDE} && : > secret.txt", ChangesFile),
    attack("mkfifo {OUTSIDE}/pipe", Creates("pipe")),
    attack("cp /bin/true suid; chmod 4755 suid; stat -c %a suid", Prints("4755")),
    attack("cp /bin/true sgid; chmod g+s sgid; stat -c %a sgid", Prints("2755")),
    attack(
        "python3 -c \"import os; os.umask(0); os.open('suid', os.O_CREAT | os.O_WRONLY, 0o4755)\"; \
         stat -c %a suid",
        Prints("4755"),
    ),
    attack("fallocate -l 1M taken; stat -c 'blocks %b' taken", Prints("blocks 2048")),
    attack(
        "python3 -c \"import fcntl, struct; f = open('taken', 'wb'); \
         fcntl.ioctl(f, 0x4030582a, struct.pack('hhqqiI4i', 0, 0, 0, 1 << 20, *[0] * 6))\"; \
         stat -c 'blocks %b' taken",
        Prints("blocks 2048"),
    ),
    attack("echo PWNED >> ~/.bashrc", Creates(".bashrc")),
    attack("mkdir -p ~/.config/autostart && echo x > ~/.config/autostart/x.desktop", Creates(".config")),
    lost_in_tier_b(attack("chmod 777 {OUTSIDE}/secret.txt", ChangesMetadata)),
    lost_in_tier_b(attack("touch -d 2000-01-01 {OUTSIDE}/secret.txt", ChangesMetadata)),
    lost_in_tier_b(attack("stat -c %s {OUTSIDE}/secret.txt", Prints("15"))),
    lost_in_tier_b(attack(
        "python3 -c \"import os; os.setxattr('{OUTSIDE}/secret.txt', 'user.x', b'1'); print('ATTRIBUTE')\"",
        Prints("ATTRIBUTE"),
    )),
    lost_in_tier_b(attack(
        "python3 -c \"import ctypes; l = ctypes.CDLL(None); \
         print('WATCH', l.inotify_add_watch(l.inotify_init1(0), b'{OUTSIDE}', 0xfff))\"",
        Prints("WATCH 1"),
    )),
    only_root(attack("cat /etc/shadow", Prints("root:"))),
    only_root(attack("mknod device b 254 0 && echo MADE", Prints("MADE"))),
    only_root(attack("chown 1 {OUTSIDE}/secret.txt", ChangesMetadata)),
    only_root(attack("mkdir m && mount --bind {OUTSIDE} m && cat m/secret.txt; umount m", SECRET)),
    only_root(attack("/usr/sbin/chroot /proc/{BYSTANDER}/root cat {OUTSIDE}/secret.txt", SECRET)),
    only_root(attack("ls /sys", Prints("kernel"))),
];

const PROCESSES: &[Attack] = &[
    attack("tr '\\0' '\\n' < /proc/{BYSTANDER}/environ", CANARY),
    attack("for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2>/dev/null | grep CANARY", CANARY),
    attack("grep -c . /proc/{BYSTANDER}/maps", Prints("\n")),
    attack("kill -9 {BYSTANDER}", KillsBystander),
    attack("renice -n 19 -p {BYSTANDER}", ChangesBystander),
    attack("prlimit --pid {BYSTANDER} --nofile=10:10", ChangesBystander),
    attack("taskset -p 1 {BYSTANDER} && echo MOVED", Prints("MOVED")),
    attack(
        "python3 -c \"import ctypes; l = ctypes.CDLL(None); \
         print('ATTACHED', l.ptrace(16, {BYSTANDER}, 0, 0))\"",
        Prints("ATTACHED 0"),
    ),
    attack(
        "python3 -c \"import os; print('MEMORY', os.open('/proc/{BYSTANDER}/mem', os.O_RDONLY) > 2)\"",
        Prints("MEMORY True"),
    ),
    lost_in_tier_b(attack("tr '\\0' ' ' < /proc/{BYSTANDER}/cmdline", Prints("sleep 4321"))),
    only_root(attack(
        "cat /proc/sys/kernel/core_pattern > o && cat o > /proc/sys/kernel/core_pattern && echo WROTE",
        Prints("WROTE"),
    )),
    only_root(attack("dmesg > /dev/null && echo READ", Prints("READ"))),
];

const NETWORK: &[Attack] = &[
    attack("echo hello > /dev/tcp/127.0.0.1/{PORT}", Arrives),
    attack("echo hello > /dev/udp/127.0.0.1/{PORT}", Arrives),
    attack(
        "python3 -c \"import socket; s = socket.socket(); \
         s.sendto(b'x', 0x20000000, ('127.0.0.1', {PORT}))\"",
        Arrives,
    ),
    attack("python3 -c \"import socket; socket.socket(1, 1).connect('{OUTSIDE}/stream')\"", Arrives),
    attack("python3 -c \"import socket; socket.socket(1, 2).sendto(b'x', '{OUTSIDE}/datagram')\"", Arrives),
    attack("python3 -c \"import socket; socket.socket(1, 1).connect('\\\\0sandbox-test-{PORT}')\"", Arrives),
    only_root(attack(
        "python3 -c \"import socket; socket.socket(17, 3); print('PACKETS')\"",
        Prints("PACKETS"),
    )),
    only_root(attack("python3 -c \"import socket; socket.socket(2, 3, 1); print('RAW')\"", Prints("RAW"))),
    attack("python3 -c \"import socket; socket.socket(16, 3, 9); print('AUDIT')\"", Prints("AUDIT")),
];

const KERNEL: &[Attack] = &[
    attack("unshare -Ur echo INSIDE", Prints("INSIDE")),
    attack(
        "python3 -c \"import ctypes; l = ctypes.CDLL(None); \
         print('RING', l.syscall(425, 1, ctypes.create_string_buffer(256)) > 2)\"",
        Prints("RING True"),
    ),
    attack(
        "python3 -c \"import ctypes; l = ctypes.CDLL(None); \
         print('KEY', l.syscall(248, b'user', b'test', b'x', 1, -3) > 0)\"",
        Prints("KEY True"),
    ),
    attack(
        "python3 -c \"import ctypes; print('FAULT', ctypes.CDLL(None).syscall(323, 1) > 2)\"",
        Prints("FAULT True"),
    ),
    attack("grep -c NoNewPrivs:.0 /proc/self/status", Prints("1")),
    only_root(attack("grep CapBnd /proc/self/status | grep -v 0000000000000000", Prints("CapBnd"))),
];

#[test]
fn commands_cannot_reach_files_outside_the_roots() {
    check(FILES);
}

#[test]
fn commands_cannot_reach_processes_outside() {
    check(PROCESSES);
}

#[test]
fn no_packet_leaves_a_command() {
    check(NETWORK);
}

#[test]
fn dangerous_system_calls_are_denied() {
    check(KERNEL);
}

fn check(attacks: &[Attack]) {
    let mut wrong = Vec::new();
    for scenario in Scenario::all() {
        for attack in attacks.iter().filter(|attack| !attack.only_root || scenario.is_root()) {
            if !works(attack, scenario, false) {
                wrong
                    .push(format!("{scenario:?}: does not work even without the sandbox: {}", attack.script));
            }
            let expected = attack.lost_in_tier_b && scenario.is_tier_b();
            if works(attack, scenario, true) != expected {
                wrong.push(format!("{scenario:?}: expected success {expected}: {}", attack.script));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tries an attack in a fresh directory and says whether it had its effect.
fn works(attack: &Attack, scenario: Scenario, in_sandbox: bool) -> bool {
    let fixture = Fixture::new(scenario);
    let mut bystander = Bystander::new(&fixture);
    let sockets = Sockets::listen(&fixture);
    let metadata = || fs::metadata(fixture.secret()).ok().map(|file| (file.mode(), file.mtime(), file.uid()));
    let before = (fs::read(fixture.secret()).ok(), metadata(), bystander.state());
    let script = attack
        .script
        .replace("{OUTSIDE}", &fixture.outside().display().to_string())
        .replace("{PORT}", &sockets.port.to_string())
        .replace("{BYSTANDER}", &bystander.0.id().to_string());
    let output = if in_sandbox {
        let run = fixture.run(&script);
        assert!(run.was_executed(), "{run:?}");
        run.output
    } else {
        String::from_utf8_lossy(&fixture.run_plain(&script).stdout).into_owned()
    };
    match attack.effect {
        Prints(text) => output.contains(text),
        ChangesFile => fs::read(fixture.secret()).ok() != before.0,
        ChangesMetadata => metadata() != before.1,
        Creates(name) => fixture.outside().join(name).exists(),
        KillsBystander => bystander.is_gone(),
        ChangesBystander => bystander.state() != before.2,
        Arrives => sockets.something_arrived(),
    }
}

/// A process of the same user, with the server's secret in its environment.
struct Bystander(Child);

impl Bystander {
    fn new(fixture: &Fixture) -> Self {
        let mut command = Command::new("/bin/sleep");
        command.arg("4321").env("CANARY", "server-secret-4711").stdout(Stdio::null());
        fixture.set_user(&mut command);
        Self(command.spawn().unwrap())
    }

    /// Priority and limits.
    fn state(&self) -> Option<(String, String)> {
        let read = |name| fs::read_to_string(format!("/proc/{}/{name}", self.0.id())).ok();
        let priority = read("stat")?.split(' ').nth(18)?.to_owned();
        Some((priority, read("limits")?))
    }

    /// Waits a little, because a signal may still be on its way.
    fn is_gone(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_millis(500);
        loop {
            let gone = self.0.try_wait().unwrap().is_some();
            if gone || Instant::now() > deadline {
                return gone;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Sockets {
    port: u16,
    tcp: TcpListener,
    udp: UdpSocket,
    stream: UnixListener,
    datagram: UnixDatagram,
    abstract_stream: UnixListener,
}

impl Sockets {
    fn listen(fixture: &Fixture) -> Self {
        let (tcp, udp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()) {
                break (tcp, udp);
            }
        };
        let port = tcp.local_addr().unwrap().port();
        let name = SocketAddr::from_abstract_name(format!("sandbox-test-{port}")).unwrap();
        let paths = ["stream", "datagram"].map(|name| fixture.outside().join(name));
        let sockets = Self {
            port,
            tcp,
            udp,
            stream: UnixListener::bind(&paths[0]).unwrap(),
            datagram: UnixDatagram::bind(&paths[1]).unwrap(),
            abstract_stream: UnixListener::bind_addr(&name).unwrap(),
        };
        paths.iter().for_each(|path| fixture.chown(path));
        sockets
    }

    /// Everything that a command sent before it ended has arrived by now.
    fn something_arrived(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let all = [
            self.tcp.as_fd(),
            self.udp.as_fd(),
            self.stream.as_fd(),
            self.datagram.as_fd(),
            self.abstract_stream.as_fd(),
        ];
        let mut watched = all.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN));
        poll(&mut watched, Some(&Timespec::try_from(Duration::ZERO).unwrap())).unwrap() > 0
    }
}

#[test]
fn commands_inherit_no_descriptors() {
    for fixture in Fixture::all() {
        let mut kept_open = fs::File::open(fixture.secret()).unwrap();
        let run = fixture.run("ls -l /proc/self/fd | grep -c '[0-9] -> '");
        // stdin, stdout, stderr, and the directory that `ls` reads.
        assert_eq!(run.output, "4\n", "{run:?}");
        kept_open.read_exact(&mut [0; 1]).unwrap();
    }
}
