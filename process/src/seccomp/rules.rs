//! The rules: what may be tested, what may follow, and the calls that every filter denies.

/// The newest call that these rules know (`file_setattr`, Linux 6.17).
pub(super) const NEWEST_KNOWN: u32 = 469;

/// `open_tree_attr`, which `libc` does not name yet.
const OPEN_TREE_ATTR: i64 = 467;

/// A test of one argument. It looks at the low 32 bits, as the kernel does for these arguments.
#[derive(Debug, Clone, Copy)]
pub enum Test {
    /// It is this value.
    Is(u32),
    /// Masked by the first, it is the second.
    Masked(u32, u32),
    /// It has none of these bits.
    Without(u32),
    /// It has one of these bits.
    WithAny(u32),
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is made.
    Allow,
    /// It fails with this error number.
    Errno(i32),
    /// A process that the filter notifies answers it.
    Ask,
}

/// The rule for one call: the first case whose tests all pass decides, else `otherwise`.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The call.
    pub number: i64,
    /// Tests of arguments by position, with the verdict if all pass.
    pub cases: Vec<(Vec<(u32, Test)>, Verdict)>,
    /// The verdict if no case applies.
    pub otherwise: Verdict,
}

/// Not permitted.
pub const DENY: Verdict = Verdict::Errno(libc::EPERM);
/// As a kernel without this call answers.
pub const ABSENT: Verdict = Verdict::Errno(libc::ENOSYS);

/// Access to the kernel, to other processes and to the machine that neither a command nor our own
/// programs need.
pub const KERNEL_AND_OTHERS: &[i64] = &[
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

/// Tracing, and memory and messages that are shared by name: what only a namespace keeps from other processes
/// of the same user.
pub const OTHERS_BY_NAME: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_mrelease,
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

/// Denies these calls whatever their arguments are.
pub fn deny(numbers: &[i64]) -> Vec<Rule> {
    always(numbers, DENY)
}

/// One verdict on these calls, whatever their arguments are.
pub fn always(numbers: &[i64], verdict: Verdict) -> Vec<Rule> {
    numbers.iter().map(|number| Rule { number: *number, cases: Vec::new(), otherwise: verdict }).collect()
}

/// Allows a call only if all tests of one of these cases pass.
pub fn only(number: i64, allowed: Vec<Vec<(u32, Test)>>) -> Rule {
    let cases = allowed.into_iter().map(|tests| (tests, Verdict::Allow)).collect();
    Rule { number, cases, otherwise: DENY }
}

/// Lets a process change limits and scheduling of itself alone.
pub fn only_on_self() -> impl Iterator<Item = Rule> {
    ONLY_ON_SELF.iter().map(|(number, tests)| only(*number, vec![tests.to_vec()]))
}

/// `TIOCSTI`, `TIOCLINUX` and `TIOCSETD`, which type into a terminal or change its kind.
pub const TERMINAL_INPUT: [u32; 3] = [0x5412, 0x541C, 0x5423];

/// The type in the argument `type` of `socket`; the higher bits are flags.
const SOCKET_KIND: u32 = 0xF;

/// Pairs that stay connected to each other; a datagram socket could send to any path.
pub fn connected_pairs() -> Rule {
    let kinds = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET]
        .map(|kind| vec![(1, Test::Masked(SOCKET_KIND, kind.cast_unsigned()))]);
    only(libc::SYS_socketpair, kinds.into())
}

/// Calls that send, with the position of their flags.
const SENDING: [(i64, u32); 3] = [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];

/// Denies TCP Fast Open, which connects while it sends.
pub fn without_fast_open() -> impl Iterator<Item = Rule> {
    let fast_open = libc::MSG_FASTOPEN.cast_unsigned();
    SENDING.into_iter().map(move |(number, flags)| Rule {
        number,
        cases: vec![(vec![(flags, Test::WithAny(fast_open))], DENY)],
        otherwise: Verdict::Allow,
    })
}

/// A socket of this family and kind, with a protocol that is either the default or this one.
pub fn sockets(family: i32, kind: i32, protocol: i32) -> [Vec<(u32, Test)>; 2] {
    [0, protocol].map(|protocol| {
        vec![
            (0, Test::Is(family.cast_unsigned())),
            (1, Test::Masked(SOCKET_KIND, kind.cast_unsigned())),
            (2, Test::Is(protocol.cast_unsigned())),
        ]
    })
}
