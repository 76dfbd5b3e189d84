//! The rules for commands: which calls are denied, and which ones only with certain arguments.

use process::seccomp::{
    ABSENT, DENY, KERNEL_AND_OTHERS, OTHERS_BY_NAME, Rule, TERMINAL_INPUT, Test, Verdict, always,
    connected_pairs, deny, machine, only, only_on_self, sockets, without_fast_open,
};

use crate::settings::{Network, Tier};

pub(super) fn rules(tier: Tier, network: Network) -> Vec<Rule> {
    let mut rules = deny(KERNEL_AND_OTHERS);
    rules.extend(deny(machine::OWN_DENIED));
    // Their flags are in memory, which a filter cannot read. Programs fall back to `clone` and `openat`.
    rules.extend(always(&[libc::SYS_clone3, libc::SYS_openat2], ABSENT));
    rules.push(only(libc::SYS_clone, vec![vec![(0, Test::Without(NAMESPACES))]]));
    // It keeps memory in pipes that no process maps any more.
    rules.extend(deny(&[libc::SYS_vmsplice]));
    let denied = TERMINAL_INPUT.iter().map(|request| (vec![(1, Test::Is(*request))], DENY));
    let unsupported = RESERVE_SPACE.iter().map(|request| (vec![(1, Test::Is(*request))], UNSUPPORTED));
    let cases = denied.chain(unsupported).collect();
    rules.push(Rule { number: libc::SYS_ioctl, cases, otherwise: Verdict::Allow });
    rules.push(Rule {
        number: libc::SYS_fallocate,
        cases: vec![(vec![(1, Test::WithAny(GIVES_SPACE_BACK))], Verdict::Allow)],
        otherwise: UNSUPPORTED,
    });
    rules.extend(set_id_files());
    match tier {
        Tier::A => {
            rules.push(match network {
                Network::Off | Network::Listed => sockets_without_network(),
                Network::Public | Network::All => only(libc::SYS_socket, sockets_of_tier_a(network)),
            });
            if network == Network::Public {
                rules.extend(without_fast_open());
                rules.extend(always(&[libc::SYS_bind, libc::SYS_connect, libc::SYS_listen], Verdict::Ask));
                rules.push(without_automatic_names());
            }
            rules.push(only(libc::SYS_prlimit64, vec![vec![(0, Test::Is(0))]]));
        }
        Tier::B => {
            rules.extend(deny(OTHERS_BY_NAME));
            rules.extend(only_on_self());
            rules.push(only(libc::SYS_socket, if network == Network::All { internet() } else { Vec::new() }));
            rules.push(connected_pairs());
        }
    }
    rules
}

/// Files in memory that are in no directory: in a message between sockets, none can be found. Programs have
/// another way, because old kernels lack this one.
pub(super) fn uncounted_memory() -> Vec<Rule> {
    always(&[libc::SYS_memfd_create, libc::SYS_memfd_secret], ABSENT)
}

/// A single call could take the whole disk before anybody sees it. The C library writes instead, which can
/// be limited and watched; other programs know file systems that cannot do it.
const UNSUPPORTED: Verdict = Verdict::Errno(libc::EOPNOTSUPP);

/// `FALLOC_FL_PUNCH_HOLE` and `FALLOC_FL_COLLAPSE_RANGE`.
const GIVES_SPACE_BACK: u32 = 0x02 | 0x08;

/// `FS_IOC_RESVSP`, `FS_IOC_RESVSP64` and `FS_IOC_ZERO_RANGE`: as `fallocate`, but a request to a file.
const RESERVE_SPACE: [u32; 3] = [0x4030_5828, 0x4030_582A, 0x4030_5839];

/// The flags of `clone` that create namespaces; its other flags create threads and processes.
const NAMESPACES: u32 = 0x7E02_0000;

/// Denies setuid and setgid files. They would work outside the sandbox too, and run as the server's user for
/// everybody.
fn set_id_files() -> impl Iterator<Item = Rule> {
    let creating = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();
    machine::SETS_MODE.iter().map(move |(number, mode, flags)| {
        let flags = flags.map(|flags| (flags, Test::WithAny(creating)));
        let tests = flags.into_iter().chain([(*mode, Test::WithAny(SET_ID))]).collect();
        Rule { number: *number, cases: vec![(tests, DENY)], otherwise: Verdict::Allow }
    })
}

/// `S_ISUID` and `S_ISGID`.
const SET_ID: u32 = 0o6000;

/// With these options a unix socket gets an abstract name by itself as soon as it sends.
fn without_automatic_names() -> Rule {
    let is_socket_level = (1, Test::Is(libc::SOL_SOCKET.cast_unsigned()));
    let options = [libc::SO_PASSCRED, libc::SO_PASSSEC, SO_PASSPIDFD];
    let cases = options.map(|option| (vec![is_socket_level, (2, Test::Is(option.cast_unsigned()))], DENY));
    Rule { number: libc::SYS_setsockopt, cases: cases.into(), otherwise: Verdict::Allow }
}

/// Which `libc` does not name everywhere.
const SO_PASSPIDFD: i32 = 76;

fn internet() -> Vec<Vec<(u32, Test)>> {
    [libc::AF_INET, libc::AF_INET6].map(|family| vec![(0, Test::Is(family.cast_unsigned()))]).into()
}

/// Without a network, all but unix sockets are asked about: they leave something in the network namespace, so
/// no other command may have it.
fn sockets_without_network() -> Rule {
    let unix = (vec![(0, Test::Is(libc::AF_UNIX.cast_unsigned()))], Verdict::Allow);
    let others = internet().into_iter().chain([netlink()]).map(|tests| (tests, Verdict::Ask));
    Rule { number: libc::SYS_socket, cases: [unix].into_iter().chain(others).collect(), otherwise: DENY }
}

/// Netlink's route protocol, which `getifaddrs` uses.
fn netlink() -> Vec<(u32, Test)> {
    vec![(0, Test::Is(libc::AF_NETLINK.cast_unsigned())), (2, Test::Is(0))]
}

/// For public addresses, TCP alone: it can be connected only by a call that asks, while other protocols send
/// to any address.
fn sockets_of_tier_a(network: Network) -> Vec<Vec<(u32, Test)>> {
    let mut allowed = match network {
        Network::Off | Network::Listed | Network::All => internet(),
        Network::Public => [libc::AF_INET, libc::AF_INET6]
            .into_iter()
            .flat_map(|family| sockets(family, libc::SOCK_STREAM, libc::IPPROTO_TCP))
            .collect(),
    };
    allowed.push(vec![(0, Test::Is(libc::AF_UNIX.cast_unsigned()))]);
    allowed.push(netlink());
    allowed
}
