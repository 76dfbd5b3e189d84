//! Commands leave a reserve of space and inodes, whatever they call, and can free a full disk.

use std::fs;
use std::path::Path;

use harness::small_disk::{SmallDisk, in_own_namespace};
use harness::{ToolServer, program};
use protocol::{Envelope, ErrorCode};
use rustix::fs::statvfs;
use serde_json::json;

const MIB: u64 = 1 << 20;
const DISK_BYTES: u64 = 64 * MIB;
const RESERVE_MIB: u64 = 16;

/// Of these, a part is the reserve.
const INODES: u64 = 100_000;

fn server_on(disk: impl FnOnce(&Path) -> SmallDisk) -> (SmallDisk, ToolServer) {
    let builder = ToolServer::builder().variable("AUTONOUS_TOOL_MIN_FREE_MB", &RESERVE_MIB.to_string());
    let disk = disk(&builder.dir().root());
    (disk, builder.start())
}

fn bash(server: &ToolServer, cmd: &str) -> Envelope {
    server.call("bash", &json!({"cmd": cmd, "timeout_seconds": 20}))
}

fn free_bytes(root: &Path) -> u64 {
    let disk = statvfs(root).unwrap();
    disk.f_bavail * disk.f_frsize
}

fn is_told(envelope: &Envelope) -> bool {
    envelope.meta.notices.iter().any(|notice| notice.contains("nearly full"))
}

/// The command may delete and not write, and the answer says so.
fn assert_frees_only(server: &ToolServer, full: &str) {
    for write in ["echo x > new", "printf x >> seed", "cp seed new", "dd if=/dev/zero of=seed conv=notrunc"] {
        let refused = bash(server, write);
        assert!(!refused.ok, "{write}: {}", refused.stdout);
        assert!(is_told(&refused), "{write}: {:?}", refused.meta);
    }
    assert_eq!(fs::read_to_string(server.root().join("seed")).unwrap(), "seed");
    let freed = bash(server, &format!("find . -name '{full}*' -delete && echo freed"));
    assert!(freed.ok && freed.stdout == "freed\n", "{} {}", freed.stdout, freed.stderr);
    assert!(is_told(&freed), "{:?}", freed.meta);
    let written = bash(server, "echo x > new && cat new");
    assert!(written.ok && written.meta.notices.is_empty(), "{} {:?}", written.stderr, written.meta.notices);
}

#[test]
fn no_single_call_takes_the_reserve_of_space_and_a_full_disk_can_be_freed() {
    let name = "reserve::no_single_call_takes_the_reserve_of_space_and_a_full_disk_can_be_freed";
    in_own_namespace(name, || {
        let (_disk, server) = server_on(|root| SmallDisk::mount(root, DISK_BYTES));
        let root = server.root();
        fs::write(root.join("seed"), "seed").unwrap();
        let reserve = "import fcntl, struct; f = open('taken', 'wb'); \
                   fcntl.ioctl(f, 0x4030582a, struct.pack('hhqqiI4i', 0, 0, 0, 62 << 20, *[0] * 6))";
        for taking in ["fallocate -l 62M taken".to_owned(), format!("python3 -c \"{reserve}\"")] {
            // The attack works without the sandbox.
            let outside =
                std::process::Command::new("bash").args(["-c", &taking]).current_dir(&root).output();
            program::stdout_of(&outside.unwrap());
            assert!(free_bytes(&root) < RESERVE_MIB * MIB, "{taking}");
            fs::remove_file(root.join("taken")).unwrap();
            let refused = bash(&server, &taking);
            assert_eq!(refused.error_code(), Some(ErrorCode::ExitNonzero), "{taking}: {}", refused.stderr);
            assert!(free_bytes(&root) >= RESERVE_MIB * MIB, "{taking}");
        }
        let honest = bash(&server, "fallocate --posix -l 2M honest && stat -c %s honest");
        assert_eq!(honest.stdout, "2097152\n", "{}", honest.stderr);

        fs::write(root.join("full"), vec![b'x'; usize::try_from(50 * MIB).unwrap()]).unwrap();
        assert_frees_only(&server, "full");
    });
}

#[test]
fn no_command_takes_the_reserve_of_inodes_and_they_can_be_freed() {
    in_own_namespace("reserve::no_command_takes_the_reserve_of_inodes_and_they_can_be_freed", || {
        let (_disk, server) = server_on(|root| SmallDisk::mount_with_inodes(root, DISK_BYTES, INODES));
        fs::write(server.root().join("seed"), "seed").unwrap();
        let taken = bash(&server, &format!("for i in {{1..{INODES}}}; do : > full$i; done; sleep 20"));
        assert_eq!(taken.error_code(), Some(ErrorCode::IoError), "{}", taken.stderr);
        assert!(statvfs(server.root()).unwrap().f_favail > 0, "the reserve is gone");
        assert_frees_only(&server, "full");
    });
}
