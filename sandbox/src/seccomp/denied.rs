//! The rules: which calls are denied, and which ones only with certain arguments.

use super::machine;
use crate::settings::Tier;

/// The newest call that these rules know (`file_setattr`, Linux 6.17).
pub(super) const NEWEST_KNOWN: u32 = 469;

/// `open_tree_attr`, which `libc` does not name yet.
const OPEN_TREE_ATTR: i64 = 467;

/// A test of one argument. It looks at the low 32 bits, as the kernel does for these arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    Is(u32),
    /// Masked by the first, it is the second.
    Masked(u32, u32),
    Without(u32),
    WithAny(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    Errno(i32),
}

/// The rule for one call: the first case whose tests all pass decides, else `otherwise`.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) number: i64,
    /// Tests of arguments by position, with the verdict if all pass.
    pub(super) cases: Vec<(Vec<(u32, Test)>, Verdict)>,
    pub(super) otherwise: Verdict,
}

const DENY: Verdict = Verdict::Errno(libc::EPERM);
const ABSENT: Verdict = Verdict::Errno(libc::ENOSYS);

/// Access to the kernel, to other processes and to the machine that no ordinary command needs.
const ALWAYS: &[i64] = &[
    // Rings and programs that evade this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    // Keyrings of the user, which outlive the command.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // The kernel and the machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    // Other processes' memory, descriptors and files by number.
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Calls that tier A isolates by its namespaces and tier B must deny.
const WITHOUT_NAMESPACES: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_process_mrelease,
];

/// Calls that change scheduling or limits of a process, with the arguments that mean the caller itself.
const ONLY_ON_SELF: &[(i64, &[(u32, Test)])] = &[
    (libc::SYS_prlimit64, &[(0, Test::Is(0))]),
    (libc::SYS_sched_setaffinity, &[(0, Test::Is(0))]),
    (libc::SYS_sched_setattr, &[(0, Test::Is(0))]),
    (libc::SYS_sched_setparam, &[(0, Test::Is(0))]),
    (libc::SYS_sched_setscheduler, &[(0, Test::Is(0))]),
    (libc::SYS_setpriority, &[(0, Test::Is(0)), (1, Test::Is(0))]),
    (libc::SYS_ioprio_set, &[(0, Test::Is(1)), (1, Test::Is(0))]),
];

pub(super) fn rules(tier: Tier, network: bool) -> Vec<Rule> {
    let deny = |numbers: &[i64]| -> Vec<Rule> {
        numbers.iter().map(|number| Rule { number: *number, cases: Vec::new(), otherwise: DENY }).collect()
    };
    let mut rules = deny(ALWAYS);
    rules.extend(deny(machine::OWN_DENIED));
    // Their flags are in memory, which a filter cannot read. Programs fall back to `clone` and `openat`.
    for number in [libc::SYS_clone3, libc::SYS_openat2] {
        rules.push(Rule { number, cases: Vec::new(), otherwise: ABSENT });
    }
    rules.push(only(libc::SYS_clone, vec![vec![(0, Test::Without(NAMESPACES))]]));
    rules.push(Rule {
        number: libc::SYS_ioctl,
        cases: TERMINAL_INPUT.iter().map(|request| (vec![(1, Test::Is(*request))], DENY)).collect(),
        otherwise: Verdict::Allow,
    });
    rules.extend(set_id_files());
    match tier {
        Tier::A => {
            rules.push(only(libc::SYS_socket, sockets_of_tier_a()));
            rules.push(only(libc::SYS_prlimit64, vec![vec![(0, Test::Is(0))]]));
        }
        Tier::B => {
            rules.extend(deny(WITHOUT_NAMESPACES));
            rules.extend(ONLY_ON_SELF.iter().map(|(number, tests)| only(*number, vec![tests.to_vec()])));
            rules.push(only(libc::SYS_socket, if network { internet() } else { Vec::new() }));
            rules.push(only(libc::SYS_socketpair, connected_pairs()));
        }
    }
    rules
}

/// The flags of `clone` that create namespaces; its other flags create threads and processes.
const NAMESPACES: u32 = 0x7E02_0000;

/// `TIOCSTI`, `TIOCLINUX` and `TIOCSETD`, which type into a terminal or change its kind.
const TERMINAL_INPUT: [u32; 3] = [0x5412, 0x541C, 0x5423];

/// The type in the argument `type` of `socket`; the higher bits are flags.
const SOCKET_KIND: u32 = 0xF;

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

fn only(number: i64, allowed: Vec<Vec<(u32, Test)>>) -> Rule {
    let cases = allowed.into_iter().map(|tests| (tests, Verdict::Allow)).collect();
    Rule { number, cases, otherwise: DENY }
}

fn internet() -> Vec<Vec<(u32, Test)>> {
    [libc::AF_INET, libc::AF_INET6].map(|family| vec![(0, Test::Is(family.cast_unsigned()))]).into()
}

/// The network namespace has only loopback; `getifaddrs` uses netlink's route protocol.
fn sockets_of_tier_a() -> Vec<Vec<(u32, Test)>> {
    let mut allowed = internet();
    allowed.push(vec![(0, Test::Is(libc::AF_UNIX.cast_unsigned()))]);
    allowed.push(vec![(0, Test::Is(libc::AF_NETLINK.cast_unsigned())), (2, Test::Is(0))]);
    allowed
}

/// Pairs that stay connected to each other; a datagram socket could send to any path.
fn connected_pairs() -> Vec<Vec<(u32, Test)>> {
    [libc::SOCK_STREAM, libc::SOCK_SEQPACKET]
        .map(|kind| vec![(1, Test::Masked(SOCKET_KIND, kind.cast_unsigned()))])
        .into()
}
