//! Drops all capabilities so that none can be regained or inherited, and confirms it.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, SecureComputingMode, capabilities,
    clear_ambient_capability_set, no_new_privs, secure_computing_mode, set_capabilities,
    set_capabilities_secure_bits,
};

use crate::syscalls;

/// Drops every capability, and the right to regain one by executing a program.
pub(super) fn drop_capabilities() -> std::io::Result<()> {
    let held = capabilities(None)?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        let mut capability = 0;
        while syscalls::drop_from_bounding_set(capability)? {
            capability += 1;
        }
        set_capabilities_secure_bits(
            CapabilitiesSecureBits::NO_ROOT
                | CapabilitiesSecureBits::NO_ROOT_LOCKED
                | CapabilitiesSecureBits::NO_SETUID_FIXUP
                | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
        )?;
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

/// Confirms that no capability is left, none can be regained, and the filter is in force.
pub(super) fn confirm() -> std::io::Result<()> {
    let held = capabilities(None)?;
    let bare = (held.effective | held.permitted | held.inheritable).is_empty();
    let filtered = matches!(secure_computing_mode()?, SecureComputingMode::Filter);
    if bare && filtered && no_new_privs()? { Ok(()) } else { Err(Errno::NOTRECOVERABLE.into()) }
}
