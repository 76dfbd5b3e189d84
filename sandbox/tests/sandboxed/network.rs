//! Commands that may reach public addresses alone, in a network of their own: this machine has a public and a
//! private address, and so has a second one, which is also the name server.

use std::process::{Command, Stdio};

use crate::fixture::{Fixture, Scenario};

/// What each server says to a client.
const FAR: &str = "FAR";

/// Sets up both machines in new namespaces, and runs the rest of its arguments on the near one.
const TWO_MACHINES: &str = r#"
    set -e
    ip link set lo up
    ip link add near type veth peer name far
    unshare -n python3 -u -c "$1" far > "$3/far.log" 2>&1 & far=$!
    until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
    ip link set far netns $far
    nsenter -t $far -n ip link set lo up
    nsenter -t $far -n ip address add 93.184.216.34/24 dev far
    nsenter -t $far -n ip address add 10.9.9.9/24 dev far
    nsenter -t $far -n ip address add 2606:2800:220:1::34/64 dev far nodad
    nsenter -t $far -n ip link set far up
    ip address add 93.184.216.1/24 dev near
    ip address add 10.9.9.1/24 dev near
    ip address add 2606:2800:220:1::1/64 dev near nodad
    ip link set near up
    python3 -u -c "$1" near > "$3/near.log" 2>&1 & near=$!
    trap 'kill $far $near' EXIT
    until grep -q ready "$3/far.log" && grep -q ready "$3/near.log"; do :; done
    echo nameserver 10.9.9.9 > "$3/resolv.conf"
    mount --bind "$3/resolv.conf" /etc/resolv.conf
    shift 3
    "$@"
"#;

/// A server on port 80 of all addresses, and on the far machine a name server that knows one address. It
/// answers over TCP, and over UDP as well, which only a command with the whole network can ask.
const SERVER: &str = r#"
import socket, sys, threading, time
def listen(family, address, port, answer):
    for attempt in range(1000):
        try:
            server = socket.create_server((address, port), family=family)
            break
        except OSError:
            time.sleep(0.01)
    def serve():
        while True:
            client, _ = server.accept()
            threading.Thread(target=answer, args=(client,)).start()
    threading.Thread(target=serve).start()
def greet(client):
    client.sendall(sys.argv[1].upper().encode() + b"\n")
    client.close()
def reply(query):
    end = query.index(b"\0", 12) + 5
    is_a = query[end - 4:end - 2] == b"\0\1"
    head = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0" + query[12:end]
    return head + (b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x5d\xb8\xd8\x22" if is_a else b"")
def name(client):
    while True:
        length = client.recv(2)
        if len(length) < 2:
            return client.close()
        answer = reply(client.recv(int.from_bytes(length, "big")))
        client.sendall(len(answer).to_bytes(2, "big") + answer)
def datagrams(server):
    while True:
        query, client = server.recvfrom(512)
        server.sendto(reply(query), client)
listen(socket.AF_INET, "0.0.0.0", 80, greet)
listen(socket.AF_INET6, "::", 80, greet)
if sys.argv[1] == "far":
    listen(socket.AF_INET, "0.0.0.0", 53, name)
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while True:
        try:
            # The address may not be there yet.
            server.bind(("10.9.9.9", 53))
            break
        except OSError:
            time.sleep(0.01)
    threading.Thread(target=datagrams, args=(server,)).start()
print("ready")
threading.Event().wait()
"#;

fn run(option: &str, script: &str) -> String {
    let fixture = Fixture::new(Scenario::all()[0]);
    let inner = fixture.command(&[option], &["/bin/bash", "-c", script]);
    let mut command = Command::new("unshare");
    command.args(["-rnm", "/bin/bash", "-c", TWO_MACHINES, "two-machines", SERVER, "-"]);
    command.arg(fixture.path("scratch")).arg(inner.get_program()).args(inner.get_args());
    command.stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let (_, printed) = text.split_once("output\n").unwrap_or_else(|| panic!("{text} {errors}"));
    printed.to_owned()
}

/// Reads what the server at this address says, or prints `refused`.
fn connect_to(address: &str) -> String {
    format!("(exec 3<>/dev/tcp/{address} && cat <&3) 2>/dev/null || echo refused")
}

#[test]
fn only_public_addresses_of_other_machines_are_reached() {
    let cases = [
        ("93.184.216.34/80", FAR, true),
        ("2606:2800:220:1::34/80", FAR, true),
        ("example.test/80", FAR, true),
        ("10.9.9.9/80", FAR, false),
        ("::ffff:10.9.9.9/80", FAR, false),
        ("127.0.0.1/80", "NEAR", false),
        ("::1/80", "NEAR", false),
        ("::ffff:127.0.0.1/80", "NEAR", false),
        // The machine's own public addresses lead to its own services.
        ("93.184.216.1/80", "NEAR", false),
        ("2606:2800:220:1::1/80", "NEAR", false),
        ("10.9.9.1/80", "NEAR", false),
        ("0.0.0.0/80", "NEAR", false),
    ];
    let script: String = cases.iter().map(|(address, ..)| connect_to(address) + "\n").collect();
    let (all, public) = (run("--network", &script), run("--public-network", &script));
    assert_eq!(all.lines().count(), cases.len(), "{all}");
    assert_eq!(public.lines().count(), cases.len(), "{public}");
    for (((address, greeting, is_public), all), public) in cases.iter().zip(all.lines()).zip(public.lines()) {
        assert_eq!(all, *greeting, "{address} proves nothing");
        assert_eq!(public, if *is_public { greeting } else { "refused" }, "{address}");
    }
}

#[test]
fn no_other_way_leads_to_the_network() {
    let attempts = [
        (
            "datagrams",
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('10.9.9.9', 53))",
        ),
        ("fast open", "s = socket.socket(); s.sendto(b'x', 0x20000000, ('127.0.0.1', 80))"),
        (
            "listening",
            "s = socket.socket(); s.listen(); socket.create_connection(('127.0.0.1', s.getsockname()[1]))",
        ),
        ("binding", "s = socket.socket(); s.bind(('127.0.0.1', 0))"),
        ("multipath TCP", "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)"),
    ];
    let script: String = attempts
        .iter()
        .map(|(name, code)| {
            format!(
                "/usr/bin/python3 -c \"import socket; {code}\" 2>/dev/null && echo '{name} done' || echo no\n"
            )
        })
        .collect();
    let (all, public) = (run("--network", &script), run("--public-network", &script));
    for (index, (name, _)) in attempts.iter().enumerate() {
        assert_eq!(
            all.lines().nth(index),
            Some(format!("{name} done").as_str()),
            "{name} proves nothing: {all}"
        );
    }
    assert_eq!(public, "no\n".repeat(attempts.len()));
}

#[test]
fn no_name_of_the_machine_is_taken() {
    let script = "/usr/bin/python3 - <<'PYTHON'
import os, socket
def attempt(name, act):
    try:
        act()
        print(name, 'done')
    except OSError as error:
        print(name, error.errno)
unix = lambda kind: socket.socket(socket.AF_UNIX, kind)
stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
attempt('stream', lambda: unix(stream).bind('\\0taken'))
attempt('datagram', lambda: unix(datagram).bind('\\0taken'))
attempt('made up', lambda: unix(stream).bind(''))
attempt('by sending', lambda: unix(datagram).setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1))
attempt('unbound', lambda: unix(stream).listen())
os.umask(0o027)
server = unix(stream)
attempt('path', lambda: (server.bind('here.sock'), server.listen()))
print(oct(os.stat('here.sock').st_mode & 0o777))
attempt('interfaces', lambda: socket.if_nameindex() and socket.getaddrinfo('127.0.0.1', 80))
PYTHON";
    let (all, public) = (run("--network", script), run("--public-network", script));
    let path = "path done\n0o750\ninterfaces done\n";
    let taken = "stream done\ndatagram done\nmade up done\nby sending done\nunbound 22\n";
    assert_eq!(all, format!("{taken}{path}"));
    let refused = "stream 13\ndatagram 13\nmade up 13\nby sending 1\nunbound 13\n";
    assert_eq!(public, format!("{refused}{path}"));
}

#[test]
fn an_address_that_changes_while_it_is_judged_gains_nothing() {
    let script = r#"
import ctypes, socket, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
good = struct.pack("=H", 2) + struct.pack("!H4s8x", 80, socket.inet_aton("93.184.216.34"))
evil = struct.pack("=H", 2) + struct.pack("!H4s8x", 80, socket.inet_aton("127.0.0.1"))
buffer = ctypes.create_string_buffer(good, 16)
stop = False
def flip():
    while not stop:
        ctypes.memmove(buffer, evil, 16)
        ctypes.memmove(buffer, good, 16)
threading.Thread(target=flip).start()
near = far = refused = 0
for attempt in range(300):
    s = socket.socket()
    if libc.connect(s.fileno(), buffer, 16) == 0:
        if s.recv(16).startswith(b"NEAR"):
            near += 1
        else:
            far += 1
    else:
        refused += 1
    s.close()
stop = True
print("near", near, "far", far > 0, "refused", refused > 0)
"#;
    let script = format!("/usr/bin/python3 - <<'PYTHON'\n{script}PYTHON\n");
    assert_eq!(run("--public-network", &script), "near 0 far True refused True\n");
}

#[test]
fn a_slow_connection_holds_up_no_other_and_unix_sockets_work() {
    let nowhere = "93.184.216.99/80";
    let script = format!(
        "({} && echo) & {} ; wait\n{}",
        connect_to(nowhere).replace("refused", "late"),
        connect_to("93.184.216.34/80"),
        "/usr/bin/python3 - <<'PYTHON'
import os, socket
for path in ['here.sock', os.getcwd() + '/there.sock']:
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    server.accept()[0].sendall(b'unix')
    print(client.recv(4).decode())
PYTHON"
    );
    let printed = run("--public-network", &script);
    let lines: Vec<&str> = printed.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, [FAR, "late", "unix", "unix"]);
}
