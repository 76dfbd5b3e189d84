//! The system call filter of commands: `denied` has the rules, and `process` turns them into a program.

mod denied;

use std::io;

use libc::sock_filter;
use process::seccomp::assemble;

use crate::settings::{Network, Tier};

/// `counts_all`: whether the kernel counts all memory of a command.
pub(crate) fn filter(tier: Tier, network: Network, counts_all: bool) -> io::Result<Vec<sock_filter>> {
    let mut rules = denied::rules(tier, network);
    if !counts_all {
        rules.extend(denied::uncounted_memory());
    }
    assemble(&rules)
}

#[cfg(test)]
mod tests {
    use libc::{SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_USER_NOTIF};
    use process::seccomp::verdict_on;

    use super::*;

    const EPERM: u32 = SECCOMP_RET_ERRNO | 1;
    const ENOSYS: u32 = SECCOMP_RET_ERRNO | 38;

    fn check(tier: Tier, call: i64, arguments: [u32; 3], expected: u32) {
        check_with(Network::Off, tier, call, arguments, expected);
    }

    fn check_with(network: Network, tier: Tier, call: i64, arguments: [u32; 3], expected: u32) {
        let filter = filter(tier, network, false).unwrap();
        let [first, second, third] = arguments;
        let got = verdict_on(&filter, call, [first, second, third, 0, 0, 0]);
        assert_eq!(got, expected, "{tier}: call {call} with {arguments:?}");
    }

    #[test]
    fn the_filter_decides_by_call_and_arguments() {
        const ALLOW: u32 = SECCOMP_RET_ALLOW;
        for tier in [Tier::A, Tier::B] {
            for call in [libc::SYS_read, libc::SYS_execve, libc::SYS_openat, libc::SYS_futex, libc::SYS_wait4]
            {
                check(tier, call, [0; 3], ALLOW);
            }
            for call in [libc::SYS_io_uring_setup, libc::SYS_bpf, libc::SYS_mount, libc::SYS_unshare] {
                check(tier, call, [0; 3], EPERM);
            }
            check(tier, libc::SYS_clone3, [0; 3], ENOSYS);
            check(tier, libc::SYS_vmsplice, [0; 3], EPERM);
            check(tier, libc::SYS_memfd_create, [0; 3], ENOSYS);
            let counted = filter(tier, Network::Off, true).unwrap();
            assert_eq!(verdict_on(&counted, libc::SYS_memfd_create, [0; 6]), ALLOW);
            check(tier, 5000, [0; 3], ENOSYS);
        }
        check(Tier::A, libc::SYS_clone, [17, 0, 0], ALLOW);
        for namespace in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWCGROUP, libc::CLONE_NEWPID] {
            check(Tier::A, libc::SYS_clone, [namespace.cast_unsigned() | 17, 0, 0], EPERM);
        }
        for (socket, expected) in [
            ([1, 2, 0], ALLOW),
            ([2, 1, 6], SECCOMP_RET_USER_NOTIF),
            ([16, 3, 0], SECCOMP_RET_USER_NOTIF),
            ([16, 3, 9], EPERM),
            ([17, 3, 0], EPERM),
            ([38, 5, 0], EPERM),
        ] {
            check(Tier::A, libc::SYS_socket, socket, expected);
            check(Tier::B, libc::SYS_socket, socket, EPERM);
        }
        for (tier, call, arguments, expected) in [
            (Tier::B, libc::SYS_socketpair, [1, 1 | 0o2_000_000, 0], ALLOW),
            (Tier::B, libc::SYS_socketpair, [1, 2, 0], EPERM),
            (Tier::A, libc::SYS_ioctl, [0, 0x5412, 0], EPERM),
            (Tier::A, libc::SYS_ioctl, [0, 0x5401, 0], ALLOW),
            (Tier::A, libc::SYS_prlimit64, [1, 0, 0], EPERM),
            (Tier::B, libc::SYS_sched_setaffinity, [7, 0, 0], EPERM),
            (Tier::A, libc::SYS_fchmod, [3, 0o755, 0], ALLOW),
            (Tier::A, libc::SYS_fchmod, [3, 0o4755, 0], EPERM),
            (Tier::A, libc::SYS_fchmodat, [3, 0, 0o2755], EPERM),
        ] {
            check(tier, call, arguments, expected);
        }
    }

    #[test]
    fn a_command_with_public_addresses_asks_before_it_connects_or_listens() {
        let check = |call, arguments, expected| {
            check_with(Network::Public, Tier::A, call, arguments, expected);
        };
        for call in [libc::SYS_bind, libc::SYS_connect, libc::SYS_listen] {
            check(call, [0; 3], SECCOMP_RET_USER_NOTIF);
            check_with(Network::Off, Tier::A, call, [0; 3], SECCOMP_RET_ALLOW);
            check_with(Network::All, Tier::A, call, [0; 3], SECCOMP_RET_ALLOW);
        }
        check(libc::SYS_socket, [2, 1 | 0o2_000_000, 6], SECCOMP_RET_ALLOW);
        check(libc::SYS_setsockopt, [3, 1, 16], EPERM);
        check(libc::SYS_setsockopt, [3, 1, 2], SECCOMP_RET_ALLOW);
        check(libc::SYS_socket, [1, 2, 0], SECCOMP_RET_ALLOW);
        for socket in [[2, 2, 0], [10, 2, 17], [2, 1, 262], [2, 1, 132], [2, 5, 0], [2, 3, 1]] {
            check(libc::SYS_socket, socket, EPERM);
        }
        check(libc::SYS_sendmsg, [3, 0, libc::MSG_FASTOPEN.cast_unsigned()], EPERM);
        check_with(Network::Public, Tier::B, libc::SYS_socket, [2, 1, 0], EPERM);
    }
}
