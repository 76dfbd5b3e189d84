//! Attacks, one line each: what is tried, how one sees that it worked, and who can do it at all.

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::place::{Place, Setting};

/// How one sees that an attack worked.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    /// The command prints this.
    Prints(&'static str),
    /// The content of the file outside changed, or it is gone.
    ChangesFile,
    /// Its mode, times, owner or attributes changed.
    ChangesMetadata,
    /// This file came to be, relative to the outside.
    Makes(&'static str),
    /// The bystander, a process of the same user, is gone.
    EndsBystander,
    /// The bystander's priority or bounds changed.
    ChangesBystander,
    /// Something arrived at the server's sockets.
    Arrives,
}

/// Who can do it without the sandbox.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Anyone,
    OnlyRoot,
}

struct Attack {
    script: &'static str,
    sign: Sign,
    who: Who,
    /// Whether tier B states that it cannot stop this.
    lost_in_tier_b: bool,
}

const fn attack(script: &'static str, sign: Sign) -> Attack {
    Attack { script, sign, who: Who::Anyone, lost_in_tier_b: false }
}

const fn lost_in_tier_b(attack: Attack) -> Attack {
    Attack { lost_in_tier_b: true, ..attack }
}

const fn only_root(attack: Attack) -> Attack {
    Attack { who: Who::OnlyRoot, ..attack }
}

use Sign::{Arrives, ChangesBystander, ChangesFile, ChangesMetadata, EndsBystander, Makes, Prints};

const SECRET: Sign = Prints("OUTSIDE-SECRET");
const CANARY: Sign = Prints("server-secret-4711");

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
    attack("mkfifo {OUTSIDE}/pipe", Makes("pipe")),
    attack("cp /bin/true suid; chmod 4755 suid; stat -c %a suid", Prints("4755")),
    attack("cp /bin/true sgid; chmod g+s sgid; stat -c %a sgid", Prints("2755")),
    attack(
        "python3 -c \"import os; os.umask(0); os.open('suid', os.O_CREAT | os.O_WRONLY, 0o4755)\"; stat -c %a suid",
        Prints("4755"),
    ),
    attack("echo PWNED >> ~/.bashrc", Makes(".bashrc")),
    attack("mkdir -p ~/.config/autostart && echo x > ~/.config/autostart/x.desktop", Makes(".config")),
    lost_in_tier_b(attack("chmod 777 {OUTSIDE}/secret.txt", ChangesMetadata)),
    lost_in_tier_b(attack("touch -d 2000-01-01 {OUTSIDE}/secret.txt", ChangesMetadata)),
    lost_in_tier_b(attack("stat -c %s {OUTSIDE}/secret.txt", Prints("15"))),
    lost_in_tier_b(attack(
        "python3 -c \"import os; os.setxattr('{OUTSIDE}/secret.txt', 'user.x', b'1'); print('ATTRIBUTE')\"",
        Prints("ATTRIBUTE"),
    )),
    lost_in_tier_b(attack(
        "python3 -c \"import ctypes; l = ctypes.CDLL(None); print('WATCH', l.inotify_add_watch(l.inotify_init1(0), b'{OUTSIDE}', 0xfff))\"",
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
    attack("kill -9 {BYSTANDER}", EndsBystander),
    attack("renice -n 19 -p {BYSTANDER}", ChangesBystander),
    attack("prlimit --pid {BYSTANDER} --nofile=10:10", ChangesBystander),
    attack("taskset -p 1 {BYSTANDER} && echo MOVED", Prints("MOVED")),
    attack(
        "python3 -c \"import ctypes; l = ctypes.CDLL(None); print('ATTACHED', l.ptrace(16, {BYSTANDER}, 0, 0))\"",
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
        "python3 -c \"import socket; s = socket.socket(); s.sendto(b'x', 0x20000000, ('127.0.0.1', {PORT}))\"",
        Arrives,
    ),
    attack("python3 -c \"import socket; socket.socket(1, 1).connect('{OUTSIDE}/stream')\"", Arrives),
    attack("python3 -c \"import socket; socket.socket(1, 2).sendto(b'x', '{OUTSIDE}/datagram')\"", Arrives),
    attack("python3 -c \"import socket; socket.socket(1, 1).connect('\\\\0held-{PORT}')\"", Arrives),
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
        "python3 -c \"import ctypes; print('RING', ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(256)) > 2)\"",
        Prints("RING True"),
    ),
    attack(
        "python3 -c \"import ctypes; print('KEY', ctypes.CDLL(None).syscall(248, b'user', b'held', b'x', 1, -3) > 0)\"",
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
fn files_outside_the_roots_are_out_of_reach() {
    check(FILES);
}

#[test]
fn processes_outside_are_out_of_reach() {
    check(PROCESSES);
}

#[test]
fn no_packet_leaves_a_command() {
    check(NETWORK);
}

#[test]
fn the_ways_into_the_kernel_are_closed() {
    check(KERNEL);
}

fn check(attacks: &[Attack]) {
    let mut wrong = Vec::new();
    for setting in Setting::all() {
        for attack in attacks {
            if attack.who == Who::OnlyRoot && !setting.is_root() {
                continue;
            }
            if !works(attack, setting, false) {
                wrong.push(format!("{setting:?}: does not work even unheld: {}", attack.script));
            }
            let stated = attack.lost_in_tier_b && setting.tier_b();
            if works(attack, setting, true) != stated {
                wrong.push(format!("{setting:?}: expected success {stated}: {}", attack.script));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tries an attack in a fresh place and says whether its sign was seen.
fn works(attack: &Attack, setting: Setting, hold: bool) -> bool {
    let place = Place::new(setting);
    let mut bystander = Bystander::new(&place);
    let sockets = Sockets::listen(&place);
    let metadata = || fs::metadata(place.secret()).ok().map(|file| (file.mode(), file.mtime(), file.uid()));
    let before = (fs::read(place.secret()).ok(), metadata(), bystander.state());
    let script = attack
        .script
        .replace("{OUTSIDE}", &place.outside().display().to_string())
        .replace("{PORT}", &sockets.port.to_string())
        .replace("{BYSTANDER}", &bystander.0.id().to_string());
    let output = if hold {
        let held = place.held(&script);
        assert!(held.ran(), "{script}: {held:?}");
        held.output
    } else {
        String::from_utf8_lossy(&place.plain(&script).stdout).into_owned()
    };
    match attack.sign {
        Prints(text) => output.contains(text),
        ChangesFile => fs::read(place.secret()).ok() != before.0,
        ChangesMetadata => metadata() != before.1,
        Makes(name) => place.outside().join(name).exists(),
        EndsBystander => bystander.is_gone(),
        ChangesBystander => bystander.state() != before.2,
        Arrives => sockets.something_arrived(),
    }
}

/// A process of the same user, with the server's secret in its environment.
struct Bystander(Child);

impl Bystander {
    fn new(place: &Place) -> Self {
        let mut command = Command::new("/bin/sleep");
        command.arg("4321").env("CANARY", "server-secret-4711").stdout(Stdio::null());
        place.as_its_user(&mut command);
        Self(command.spawn().unwrap())
    }

    /// Priority and bounds.
    fn state(&self) -> Option<(String, String)> {
        let read = |name| fs::read_to_string(format!("/proc/{}/{name}", self.0.id())).ok();
        let priority = read("stat")?.split(' ').nth(18)?.to_owned();
        Some((priority, read("limits")?))
    }

    /// A signal that was sent may still be on its way.
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

/// What the server listens on.
struct Sockets {
    port: u16,
    tcp: TcpListener,
    udp: UdpSocket,
    stream: UnixListener,
    datagram: UnixDatagram,
    abstract_stream: UnixListener,
}

impl Sockets {
    fn listen(place: &Place) -> Self {
        use std::os::linux::net::SocketAddrExt as _;
        let (tcp, udp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()) {
                break (tcp, udp);
            }
        };
        let port = tcp.local_addr().unwrap().port();
        let name = std::os::unix::net::SocketAddr::from_abstract_name(format!("held-{port}")).unwrap();
        let sockets = Self {
            port,
            tcp,
            udp,
            stream: UnixListener::bind(place.outside().join("stream")).unwrap(),
            datagram: UnixDatagram::bind(place.outside().join("datagram")).unwrap(),
            abstract_stream: UnixListener::bind_addr(&name).unwrap(),
        };
        for name in ["stream", "datagram"] {
            place.give(&place.outside().join(name));
        }
        sockets
    }

    /// What a command sent before it ended is here by now.
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
fn what_a_command_was_not_given_is_not_open() {
    for setting in Setting::all() {
        let place = Place::new(setting);
        let mut kept_open = fs::File::open(place.secret()).unwrap();
        let held = place.held("ls -l /proc/self/fd | grep -c '[0-9] -> '");
        // stdin, stdout, stderr, and the directory that `ls` reads.
        assert_eq!(held.output, "4\n", "{setting:?}: {held:?}");
        kept_open.read_exact(&mut [0; 1]).unwrap();
    }
}
