//! What differs between processor architectures. Other architectures do not compile.

/// The kernel's name of this architecture; calls of any other one kill the process.
#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xC000_00B7;

/// From this number on, calls belong to the x32 ABI, which would evade every rule.
#[cfg(target_arch = "x86_64")]
pub(super) const FOREIGN_NUMBERS: Option<u32> = Some(0x4000_0000);
#[cfg(target_arch = "aarch64")]
pub(super) const FOREIGN_NUMBERS: Option<u32> = None;

/// Denied calls that only this architecture has or names.
#[cfg(target_arch = "x86_64")]
pub const OWN_DENIED: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
pub const OWN_DENIED: &[i64] = &[294];

/// Calls that set a file's mode, with the positions of the mode and, if they can create a file, of the flags.
#[cfg(target_arch = "x86_64")]
pub const SETS_MODE: &[(i64, u32, Option<u32>)] = &[
    (libc::SYS_chmod, 1, None),
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (FCHMODAT2, 2, None),
    (libc::SYS_creat, 1, None),
    (libc::SYS_mknod, 1, None),
    (libc::SYS_mknodat, 2, None),
    (libc::SYS_open, 2, Some(1)),
    (libc::SYS_openat, 3, Some(2)),
];
#[cfg(target_arch = "aarch64")]
pub const SETS_MODE: &[(i64, u32, Option<u32>)] = &[
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (FCHMODAT2, 2, None),
    (libc::SYS_mknodat, 2, None),
    (libc::SYS_openat, 3, Some(2)),
];

/// The same number everywhere; `libc` does not name it on all architectures.
const FCHMODAT2: i64 = 452;

/// Calls that only this architecture has and that start a process.
#[cfg(target_arch = "x86_64")]
pub(super) const FORKS: &[i64] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(target_arch = "aarch64")]
pub(super) const FORKS: &[i64] = &[];

/// Calls that change a file's owner or times and that only this architecture has.
#[cfg(target_arch = "x86_64")]
pub(super) const FILE_ATTRIBUTES: &[i64] =
    &[libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(target_arch = "aarch64")]
pub(super) const FILE_ATTRIBUTES: &[i64] = &[];
