//! The list: which calls are denied, and which only with certain arguments.

use crate::settings::Tier;

use super::machine;

/// The last call that this list was written with (`file_setattr`, Linux 6.17).
pub const NEWEST_KNOWN: u32 = 469;

/// `open_tree_attr`, which is newer than the library's names.
const OPEN_TREE_ATTR: i64 = 467;

/// What is asked of one argument; only its low 32 bits count, as for the kernel's own use of these.
#[derive(Debug, Clone, Copy)]
pub enum Test {
    /// The argument is this.
    Is(u32),
    /// The argument's bits in the mask are this.
    Masked(u32, u32),
    /// None of these bits is set.
    Without(u32),
    /// At least one of these bits is set.
    WithAny(u32),
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on to the kernel.
    Allow,
    /// It answers with this error.
    Errno(i32),
}

/// One call. The first case whose tests all hold decides, else `otherwise`.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The call's number.
    pub number: i64,
    /// Tests of arguments by their position, and what follows.
    pub cases: Vec<(Vec<(u32, Test)>, Verdict)>,
    /// What happens in all other cases.
    pub otherwise: Verdict,
}

const DENY: Verdict = Verdict::Errno(libc::EPERM);
const ABSENT: Verdict = Verdict::Errno(libc::ENOSYS);

/// Ways into the kernel, to other processes and to the machine that no honest command needs.
const ALWAYS: &[i64] = &[
    // Rings and programs that work past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    // Keys of the user, which outlive the command.
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

/// What the namespaces of tier A keep apart and tier B has to deny.
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

/// Calls that change how processes are scheduled or bounded, with the arguments that mean oneself.
const OF_ONESELF: &[(i64, &[(u32, Test)])] = &[
    (libc::SYS_prlimit64, &[(0, Test::Is(0))]),
    (libc::SYS_sched_setaffinity, &[(0, Test::Is(0))]),
    (libc::SYS_sched_setattr, &[(0, Test::Is(0))]),
    (libc::SYS_sched_setparam, &[(0, Test::Is(0))]),
    (libc::SYS_sched_setscheduler, &[(0, Test::Is(0))]),
    (libc::SYS_setpriority, &[(0, Test::Is(0)), (1, Test::Is(0))]),
    (libc::SYS_ioprio_set, &[(0, Test::Is(1)), (1, Test::Is(0))]),
];

/// All rules of a tier.
pub fn rules(tier: Tier, network: bool) -> Vec<Rule> {
    let deny = |numbers: &[i64]| -> Vec<Rule> {
        numbers.iter().map(|number| Rule { number: *number, cases: Vec::new(), otherwise: DENY }).collect()
    };
    let mut rules = deny(ALWAYS);
    rules.extend(deny(machine::OWN_DENIED));
    // Their flags lie in memory, where a filter cannot look: programs then use `clone` and `openat`.
    for number in [libc::SYS_clone3, libc::SYS_openat2] {
        rules.push(Rule { number, cases: Vec::new(), otherwise: ABSENT });
    }
    rules.push(only(libc::SYS_clone, vec![vec![(0, Test::Without(NAMESPACES))]]));
    rules.push(Rule {
        number: libc::SYS_ioctl,
        cases: TERMINAL_INPUT.iter().map(|request| (vec![(1, Test::Is(*request))], DENY)).collect(),
        otherwise: Verdict::Allow,
    });
    rules.extend(privileged_files());
    match tier {
        Tier::A => {
            rules.push(only(libc::SYS_socket, sockets_of_tier_a()));
            rules.push(only(libc::SYS_prlimit64, vec![vec![(0, Test::Is(0))]]));
        }
        Tier::B => {
            rules.extend(deny(WITHOUT_NAMESPACES));
            rules.extend(OF_ONESELF.iter().map(|(number, tests)| only(*number, vec![tests.to_vec()])));
            rules.push(only(libc::SYS_socket, if network { internet() } else { Vec::new() }));
            rules.push(only(libc::SYS_socketpair, connected_pairs()));
        }
    }
    rules
}

/// Namespaces, one bit each; the rest of `clone`'s flags make threads and processes.
const NAMESPACES: u32 = 0x7E02_0000;

/// `TIOCSTI`, `TIOCLINUX` and `TIOCSETD`, which type into a terminal or change what it is.
const TERMINAL_INPUT: [u32; 3] = [0x5412, 0x541C, 0x5423];

/// The argument `type` of `socket` carries flags above these bits.
const SOCKET_KIND: u32 = 0xF;

/// Files that run as their owner. A command may make them here, but they would work outside too, and then
/// lend the server's user to everybody.
fn privileged_files() -> Vec<Rule> {
    let making = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();
    let changes = machine::CHANGES_MODE.iter().map(|(number, mode)| (*number, vec![*mode]));
    let creates = machine::CREATES.iter().map(|(number, flags, mode)| (*number, vec![*flags, *mode]));
    let tests = |positions: &[u32]| match positions {
        [flags, mode] => vec![(*flags, Test::WithAny(making)), (*mode, Test::WithAny(SET_ID))],
        positions => positions.iter().map(|mode| (*mode, Test::WithAny(SET_ID))).collect(),
    };
    changes
        .chain(creates)
        .map(|(number, positions)| Rule {
            number,
            cases: vec![(tests(&positions), DENY)],
            otherwise: Verdict::Allow,
        })
        .collect()
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

/// The network namespace holds nothing but loopback; `getifaddrs` asks over netlink's route protocol.
fn sockets_of_tier_a() -> Vec<Vec<(u32, Test)>> {
    let mut allowed = internet();
    allowed.push(vec![(0, Test::Is(libc::AF_UNIX.cast_unsigned()))]);
    allowed.push(vec![(0, Test::Is(libc::AF_NETLINK.cast_unsigned())), (2, Test::Is(0))]);
    allowed
}

/// Pairs that cannot be pointed elsewhere; a datagram socket could send to any path.
fn connected_pairs() -> Vec<Vec<(u32, Test)>> {
    [libc::SOCK_STREAM, libc::SOCK_SEQPACKET]
        .map(|kind| vec![(1, Test::Masked(SOCKET_KIND, kind.cast_unsigned()))])
        .into()
}
