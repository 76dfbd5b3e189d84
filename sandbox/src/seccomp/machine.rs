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
pub(super) const OWN_DENIED: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
pub(super) const OWN_DENIED: &[i64] = &[294];

/// Calls that set a file's mode, with the position of the mode argument.
#[cfg(target_arch = "x86_64")]
pub(super) const CHANGES_MODE: &[(i64, u32)] = &[
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_creat, 1),
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];
#[cfg(target_arch = "aarch64")]
pub(super) const CHANGES_MODE: &[(i64, u32)] =
    &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)];

/// Calls that create a file with a mode if their flags say so, with the positions of flags and mode.
#[cfg(target_arch = "x86_64")]
pub(super) const CREATES: &[(i64, u32, u32)] = &[(libc::SYS_open, 1, 2), (libc::SYS_openat, 2, 3)];
#[cfg(target_arch = "aarch64")]
pub(super) const CREATES: &[(i64, u32, u32)] = &[(libc::SYS_openat, 2, 3)];

/// The same number everywhere; `libc` does not name it on all architectures.
const FCHMODAT2: i64 = 452;
