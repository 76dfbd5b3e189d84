//! The few files of `/etc` that programs need: names, certificates, the linker's cache. No settings of
//! services, no keys, no accounts except the command's own.

use std::io::Write as _;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{getegid, geteuid};

use super::mounts;
use crate::command::HOME;
use crate::settings::Network;
use crate::step::{During as _, Step, StepError};

pub(super) const FILES: [&str; 17] = [
    "debian_version", "gai.conf", "host.conf", "inputrc", "ld.so.cache", "ld.so.conf", "locale.alias",
    "localtime", "lsb-release", "magic", "mime.types", "nsswitch.conf", "os-release", "protocols",
    "services", "ssl/openssl.cnf", "timezone",
];

/// Directories to mount read-only.
pub(super) const DIRECTORIES: [&str; 8] = [
    "alternatives", "crypto-policies", "java-17-openjdk", "java-21-openjdk", "perl",
    "pki/ca-trust/extracted", "pki/tls/certs", "ssl/certs",
];

/// Commands that reach public addresses have TCP alone.
const NAMES_OVER_TCP: &[u8] = b"\noptions use-vc\n";

/// The parts of `/etc` for the new tree, read before the machine's tree is left.
pub(super) struct Etc {
    files: Vec<(&'static str, Vec<u8>)>,
    directories: Vec<(&'static str, OwnedFd)>,
}

impl Etc {
    /// Reads the files and copies the directories' mounts, as far as they exist on this machine.
    pub(super) fn read(network: Network) -> Result<Self, StepError> {
        let etc = Path::new("/etc");
        let resolver = (!network.is_their_own()).then_some("resolv.conf");
        let read_file = |name| Some((name, std::fs::read(etc.join(name)).ok()?));
        let mut files: Vec<_> = FILES.into_iter().chain(resolver).filter_map(read_file).collect();
        if let Some((_, settings)) = files.iter_mut().find(|(name, _)| *name == "resolv.conf")
            && network == Network::Public
        {
            settings.extend_from_slice(NAMES_OVER_TCP);
        }
        files.extend(account_files());
        let mut directories = Vec::new();
        for name in DIRECTORIES {
            if let Ok(place) = mounts::open(&etc.join(name)) {
                let copy = mounts::restricted_copy(place, mounts::READ_ONLY).during(Step::EtcView)?;
                directories.push((name, copy));
            }
        }
        Ok(Self { files, directories })
    }

    pub(super) fn show(&self, root: BorrowedFd<'_>) -> std::io::Result<()> {
        mounts::make_directories(root, Path::new("etc/ssl"))?;
        for (name, content) in &self.files {
            let path = Path::new("etc").join(name);
            mounts::create_file(root, &path, Mode::from_raw_mode(0o644))?.write_all(content)?;
        }
        for (name, copy) in &self.directories {
            let path = Path::new("etc").join(name);
            mounts::make_directories(root, &path)?;
            mounts::attach(copy, mounts::open_without_links(root, &path)?)?;
        }
        Ok(())
    }
}

/// Files that name one user, whose home is the private one.
fn account_files() -> [(&'static str, Vec<u8>); 4] {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let name = if user == 0 { "root" } else { "agent" };
    let nobody = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
    let nobody = if user == 65534 { "" } else { nobody };
    let passwd = format!("{name}:x:{user}:{group}:{name}:{HOME}:/bin/bash\n{nobody}");
    let groups = format!("{name}:x:{group}:\n{}", if group == 65534 { "" } else { "nogroup:x:65534:\n" });
    let hosts = "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n";
    [
        ("passwd", passwd.into_bytes()),
        ("group", groups.into_bytes()),
        ("hosts", hosts.as_bytes().to_vec()),
        ("hostname", b"sandbox\n".to_vec()),
    ]
}
