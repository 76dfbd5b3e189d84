//! The rules for our own programs once they have started: what none of them does, and what a program does
//! only if its powers include it.
//!
//! They start no process and execute nothing; only what was started before can.

use super::machine;
use super::rules::{
    ABSENT, DENY, KERNEL_AND_OTHERS, OTHERS_BY_NAME, Rule, TERMINAL_INPUT, Test, Verdict, always,
    connected_pairs, deny, only, only_on_self, sockets, without_fast_open,
};

/// Programs, and signals to other processes.
const PROCESSES: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_pidfd_send_signal,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
];

/// Calls that change a file's owner or attributes, which Landlock does not look at. `machine::SETS_MODE` has
/// those that change its mode.
const FILE_ATTRIBUTES: &[i64] = &[
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// The calls that connect a socket or make it accept connections; open connections stay open.
const CONNECTIONS: &[i64] = &[libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen];

/// What makes a process of its own: namespaces, which only a filter keeps from a process that may fork.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Which processes it may signal, and what it may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// It starts threads, and signals only itself, by this process ID.
    Alone(u32),
    /// It forks, and signals no process: its children have other process IDs.
    Forks,
}

/// The rules for this process. `connections`: it opens connections to the network. `files`: it changes files.
pub(crate) fn rules(family: Family, connections: bool, files: bool) -> Vec<Rule> {
    let mut rules = deny(KERNEL_AND_OTHERS);
    rules.extend(deny(machine::OWN_DENIED));
    rules.extend(deny(OTHERS_BY_NAME));
    rules.extend(deny(PROCESSES));
    // Its flags are in memory, which a filter cannot read. The C library falls back to `clone`.
    rules.extend(always(&[libc::SYS_clone3], ABSENT));
    match family {
        Family::Alone(own_pid) => {
            rules.extend(deny(machine::FORKS));
            let thread = Test::WithAny(libc::CLONE_THREAD.cast_unsigned());
            rules.push(only(libc::SYS_clone, vec![vec![(0, thread)]]));
            for signal in [libc::SYS_kill, libc::SYS_tgkill] {
                rules.push(only(signal, vec![vec![(0, Test::Is(own_pid))]]));
            }
        }
        Family::Forks => {
            let fork = Test::Without(NAMESPACES.cast_unsigned());
            rules.push(only(libc::SYS_clone, vec![vec![(0, fork)]]));
            rules.extend(deny(&[libc::SYS_kill, libc::SYS_tgkill]));
        }
    }
    rules.extend(only_on_self());
    rules.push(Rule {
        number: libc::SYS_ioctl,
        cases: TERMINAL_INPUT.iter().map(|request| (vec![(1, Test::Is(*request))], DENY)).collect(),
        otherwise: Verdict::Allow,
    });
    rules.push(connected_pairs());
    if connections {
        rules.push(only(libc::SYS_socket, internet()));
        rules.extend(deny(&[libc::SYS_listen]));
    } else {
        rules.extend(deny(CONNECTIONS));
        rules.extend(without_fast_open());
    }
    if !files {
        rules.extend(deny(FILE_ATTRIBUTES));
        rules.extend(deny(machine::FILE_ATTRIBUTES));
        let modes = machine::SETS_MODE.iter().filter(|(_, _, opens)| opens.is_none());
        rules.extend(modes.flat_map(|(number, _, _)| deny(&[*number])));
    }
    rules
}

/// TCP and UDP, and netlink's route protocol, which the C library's resolver asks for the own addresses.
/// Unix sockets are not among them: the resolver then asks the servers of `/etc/resolv.conf` itself.
fn internet() -> Vec<Vec<(u32, Test)>> {
    let mut allowed = vec![vec![(0, Test::Is(libc::AF_NETLINK.cast_unsigned())), (2, Test::Is(0))]];
    for family in [libc::AF_INET, libc::AF_INET6] {
        allowed.extend(sockets(family, libc::SOCK_STREAM, libc::IPPROTO_TCP));
        allowed.extend(sockets(family, libc::SOCK_DGRAM, libc::IPPROTO_UDP));
    }
    allowed
}

#[cfg(test)]
mod tests {
    use libc::{SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO};

    use super::*;
    use crate::seccomp::{assemble, verdict_on};

    const OWN: u32 = 4711;

    fn check(connections: bool, files: bool, call: i64, arguments: [u32; 4], expected: u32) {
        let filter = assemble(&rules(Family::Alone(OWN), connections, files)).unwrap();
        let [first, second, third, fourth] = arguments;
        let got = verdict_on(&filter, call, [first, second, third, fourth, 0, 0]);
        assert_eq!(got, expected, "connections {connections}, files {files}: {call} {arguments:?}");
    }

    #[test]
    fn a_program_starts_threads_and_signals_itself_and_nothing_else() {
        const EPERM: u32 = SECCOMP_RET_ERRNO | 1;
        const THREAD: u32 = 0x003D_0F00;
        for (connections, files) in [(false, true), (true, false), (true, true)] {
            for (call, arguments, expected) in [
                (libc::SYS_clone, [THREAD, 0, 0, 0], SECCOMP_RET_ALLOW),
                (libc::SYS_clone, [17, 0, 0, 0], EPERM),
                (libc::SYS_clone3, [0; 4], SECCOMP_RET_ERRNO | 38),
                (libc::SYS_execve, [0; 4], EPERM),
                (libc::SYS_tgkill, [OWN, 1, 6, 0], SECCOMP_RET_ALLOW),
                (libc::SYS_kill, [OWN + 1, 9, 0, 0], EPERM),
                (libc::SYS_kill, [0, 9, 0, 0], EPERM),
                (libc::SYS_prlimit64, [0, 7, 0, 0], SECCOMP_RET_ALLOW),
                (libc::SYS_prlimit64, [1, 7, 0, 0], EPERM),
                (libc::SYS_ptrace, [0; 4], EPERM),
                (libc::SYS_io_uring_setup, [0; 4], EPERM),
                (libc::SYS_openat2, [0; 4], SECCOMP_RET_ALLOW),
                (libc::SYS_socketpair, [1, 1, 0, 0], SECCOMP_RET_ALLOW),
                (libc::SYS_socketpair, [1, 2, 0, 0], EPERM),
                (libc::SYS_socket, [1, 1, 0, 0], EPERM),
                (libc::SYS_socket, [2, 1, 262, 0], EPERM),
                (libc::SYS_socket, [2, 3, 1, 0], EPERM),
                (libc::SYS_listen, [3, 1, 0, 0], EPERM),
                (libc::SYS_accept4, [3, 0, 0, 0], SECCOMP_RET_ALLOW),
            ] {
                check(connections, files, call, arguments, expected);
            }
        }
    }

    #[test]
    fn whoever_forks_makes_no_namespace_and_signals_nobody() {
        let filter = assemble(&rules(Family::Forks, true, false)).unwrap();
        let refused = SECCOMP_RET_ERRNO | 1;
        for (call, first, expected) in [
            (libc::SYS_clone, 17, SECCOMP_RET_ALLOW),
            (libc::SYS_clone, libc::CLONE_NEWUSER.cast_unsigned() | 17, refused),
            (libc::SYS_kill, OWN, refused),
            (libc::SYS_tgkill, OWN, refused),
            (libc::SYS_execve, 0, refused),
        ] {
            assert_eq!(verdict_on(&filter, call, [first, 0, 0, 0, 0, 0]), expected, "{call} {first}");
        }
    }

    #[test]
    fn powers_decide_about_connections_and_file_attributes() {
        const EPERM: u32 = SECCOMP_RET_ERRNO | 1;
        let fast_open = libc::MSG_FASTOPEN.cast_unsigned();
        for (call, arguments) in [
            (libc::SYS_socket, [2, 1 | 0o2_000_000, 6, 0]),
            (libc::SYS_socket, [10, 2, 0, 0]),
            (libc::SYS_socket, [16, 3, 0, 0]),
            (libc::SYS_connect, [3, 0, 0, 0]),
            (libc::SYS_sendto, [3, 0, 0, fast_open]),
        ] {
            check(true, true, call, arguments, SECCOMP_RET_ALLOW);
            check(false, true, call, arguments, EPERM);
        }
        for call in [libc::SYS_fchmodat, libc::SYS_fchmod, libc::SYS_fchown, libc::SYS_utimensat] {
            check(true, true, call, [0; 4], SECCOMP_RET_ALLOW);
            check(true, false, call, [0; 4], EPERM);
        }
        check(true, false, libc::SYS_openat, [0; 4], SECCOMP_RET_ALLOW);
        check(false, true, libc::SYS_sendto, [3, 0, 0, 0], SECCOMP_RET_ALLOW);
    }
}
