//! What differs between the processors that Autonous runs on. Another one does not compile.

/// How the kernel names this processor's own calls; calls of any other kind end the process.
#[cfg(target_arch = "x86_64")]
pub const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
pub const ARCHITECTURE: u32 = 0xC000_00B7;

/// From this number on, calls are those of the x32 variant, under which every rule could be passed by.
#[cfg(target_arch = "x86_64")]
pub const FOREIGN_NUMBERS: Option<u32> = Some(0x4000_0000);
#[cfg(target_arch = "aarch64")]
pub const FOREIGN_NUMBERS: Option<u32> = None;

/// Calls that only this processor has, or has under a name of its own.
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
