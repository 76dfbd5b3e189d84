//! A name server for `.test`: some names have private addresses, one changes its mind.

use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);

const A: u16 = 1;
const AAAA: u16 = 28;

/// How often the address of `rebind.test` was asked for.
static REBOUND: AtomicUsize = AtomicUsize::new(0);

/// Starts it on the port that resolvers ask.
pub(super) fn start() {
    let socket = UdpSocket::bind("127.0.0.1:53").expect("the network is the test's own");
    thread::spawn(move || {
        let mut packet = [0; 512];
        while let Ok((length, asker)) = socket.recv_from(&mut packet) {
            if let Some(answer) = answer(&packet[..length]) {
                let _ = socket.send_to(&answer, asker);
            }
        }
    });
}

/// The answer to a question of one name.
fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let (mut name, mut at) = (Vec::new(), 12);
    loop {
        let length = usize::from(*question.get(at)?);
        if length == 0 {
            break;
        }
        name.push(String::from_utf8_lossy(question.get(at + 1..at + 1 + length)?).to_ascii_lowercase());
        at += 1 + length;
    }
    let kind = u16::from_be_bytes([*question.get(at + 1)?, *question.get(at + 2)?]);
    let found = addresses(&name.join("."), kind);
    let code = if found.is_some() { 0x80 } else { 0x83 };
    let found = found.unwrap_or_default();
    let mut answer = question[..2].to_vec();
    answer.extend([0x81, code, 0, 1, 0, u8::try_from(found.len()).ok()?, 0, 0, 0, 0]);
    answer.extend_from_slice(question.get(12..at + 5)?);
    for address in found {
        answer.extend([0xc0, 12]);
        answer.extend(kind.to_be_bytes());
        answer.extend([0, 1, 0, 0, 0, 0]);
        answer.extend(u16::try_from(address.len()).ok()?.to_be_bytes());
        answer.extend(address);
    }
    Some(answer)
}

/// The addresses of a name; none if there is no such name.
fn addresses(name: &str, kind: u16) -> Option<Vec<Vec<u8>>> {
    let v4 = |address: Ipv4Addr| if kind == A { vec![address.octets().to_vec()] } else { Vec::new() };
    let v6 = |address: &str| {
        let address: Ipv6Addr = address.parse().expect("an address");
        if kind == AAAA { vec![address.octets().to_vec()] } else { Vec::new() }
    };
    Some(match name {
        "page.test" | "other.test" | "example.test" => v4(PUBLIC),
        "private.test" => v4(Ipv4Addr::new(10, 9, 9, 9)),
        "loop.test" => v4(Ipv4Addr::LOCALHOST),
        "metadata.test" => v4(Ipv4Addr::new(169, 254, 169, 254)),
        "mapped.test" => v6("::ffff:127.0.0.1"),
        "mixed.test" => [v4(PUBLIC), v6("::1")].concat(),
        "rebind.test" if kind == A => {
            let is_first = REBOUND.fetch_add(1, Ordering::SeqCst) == 0;
            v4(if is_first { PUBLIC } else { Ipv4Addr::LOCALHOST })
        }
        "rebind.test" => Vec::new(),
        _ => return None,
    })
}
