//! Certificates and public keys: what everybody may see although its name is that of a key.
//!
//! `*.pem` is denied because keys are called so. Many files of this name hold certificates alone, such as the
//! `cacert.pem` of a Python environment, without which nothing in it connects.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{FileType, fstat};

use super::child::open_child_file;
use super::names::ends_with_any_case;

/// The endings of names under which certificates lie, in lower case.
const ENDINGS: [&[u8]; 4] = [b".pem", b".crt", b".cer", b".cert"];

/// All that such a file may hold between `-----BEGIN` and `-----`.
const PUBLIC: [&str; 9] = [
    "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE", "CERTIFICATE REQUEST",
    "NEW CERTIFICATE REQUEST", "X509 CRL", "PUBLIC KEY", "RSA PUBLIC KEY", "DH PARAMETERS",
];

/// The largest such file: all certificates that a system trusts take a quarter of this.
const MAX_BYTES: u64 = 1 << 20;

/// Whether a file of this name may hold certificates.
pub fn may_be_certificate(name: &[u8]) -> bool {
    ENDINGS.iter().any(|ending| ends_with_any_case(name, ending))
}

/// Whether an entry of an open directory is a regular file that holds nothing else. A link is not followed.
pub fn is_public_at(directory: BorrowedFd<'_>, name: &OsStr) -> bool {
    open_child_file(directory, Path::new(name)).is_ok_and(is_public)
}

/// Whether an open file holds nothing else. It is read from its beginning, and its position does not change.
pub(crate) fn is_public(file: impl AsFd) -> bool {
    let is_small_file = fstat(&file).is_ok_and(|stat| {
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && size <= MAX_BYTES
    });
    let Ok(handle) = file.as_fd().try_clone_to_owned() else { return false };
    let mut content = Vec::new();
    let mut from = Positioned { file: handle.into(), at: 0 };
    is_small_file
        && (&mut from).take(MAX_BYTES + 1).read_to_end(&mut content).is_ok()
        && content.len() as u64 <= MAX_BYTES
        && std::str::from_utf8(&content).is_ok_and(holds_public_blocks_alone)
}

/// A file that is read at places of its own, since its position belongs to others.
struct Positioned {
    file: File,
    at: u64,
}

impl std::io::Read for &mut Positioned {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = std::os::unix::fs::FileExt::read_at(&self.file, buffer, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

/// Outside of its blocks a file may say what they are, in short lines, which hold no key.
fn holds_public_blocks_alone(text: &str) -> bool {
    let mut open: Option<&str> = None;
    let mut blocks = 0;
    for line in text.lines().map(str::trim) {
        let marked = |edge: &str| line.strip_prefix(edge)?.strip_suffix("-----");
        match (open, marked("-----BEGIN "), marked("-----END ")) {
            (None, Some(label), _) if PUBLIC.contains(&label) => open = Some(label),
            (Some(label), None, Some(end)) if end == label => {
                open = None;
                blocks += 1;
            }
            (Some(_), None, None) if line.bytes().all(is_base64) => {}
            (None, None, None) if is_remark(line) => {}
            _ => return false,
        }
    }
    blocks > 0 && open.is_none()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The longest run without a space that a remark may have: a fingerprint has colons.
const MAX_RUN: usize = 39;

/// The longest number: a serial number has up to 160 bits (RFC 5280, section 4.1.2.2), and the bundles of
/// Python's environments write it in decimal.
const MAX_DIGITS: usize = 49;

/// A line of words, or the fingerprint or serial number that tools write above a certificate. A key has
/// longer runs.
fn is_remark(line: &str) -> bool {
    let upper = line.to_ascii_uppercase();
    let is_long = |run: &str| {
        let is_number = run.bytes().all(|byte| byte.is_ascii_digit());
        run.len() > if is_number { MAX_DIGITS } else { MAX_RUN }
    };
    !upper.contains("PRIVATE")
        && !upper.contains("-----")
        && !line
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '+' && letter != '/')
            .any(is_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "-----BEGIN CERTIFICATE-----\nMIIBvjCCAWWgAwIBAgIUQ+/=\n-----END CERTIFICATE-----\n";

    fn key(label: &str) -> String {
        format!("-----BEGIN {label}-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END {label}-----\n")
    }

    #[test]
    fn certificates_and_public_keys_are_told_from_keys() {
        let fingerprint = "# SHA256 Fingerprint: 73:c1:76:43:4f:1b:c6:d5:ad:f4:5b:0e:76:e7:27:28:7c:8d:e5:76";
        for text in [
            BLOCK.to_owned(),
            BLOCK.repeat(3),
            format!("\n# Issuer: CN=Root CA O=Ünïcode\n{fingerprint}\nRoot CA\n=======\n{BLOCK}"),
            format!("# Serial: 218504919822255052842371958738296604628416471745\n{BLOCK}"),
            BLOCK.replace('\n', "\r\n"),
            key("PUBLIC KEY"),
            key("RSA PUBLIC KEY"),
        ] {
            assert!(holds_public_blocks_alone(&text), "{text}");
        }
        for text in [
            String::new(),
            "KEY=1".to_owned(),
            key("PRIVATE KEY"),
            key("RSA PRIVATE KEY"),
            key("ENCRYPTED PRIVATE KEY"),
            format!("{BLOCK}{}", key("EC PRIVATE KEY")),
            format!("{}{BLOCK}", key("OPENSSH PRIVATE KEY").to_lowercase()),
            format!("{BLOCK}MIIEvQIBADANBgkqhkiG9w0BAQEFAASCMIIEvQIBADANBgkqhkiG9w0B\n"),
            format!("# Serial: {}\n{BLOCK}", "9".repeat(50)),
            BLOCK.replace("-----END CERTIFICATE-----", "-----END PRIVATE KEY-----"),
            BLOCK.trim_end().trim_end_matches("-----END CERTIFICATE-----").to_owned(),
            format!("-----BEGIN CERTIFICATE-----\n{BLOCK}"),
            BLOCK.replace("MIIB", "password: MIIB"),
        ] {
            assert!(!holds_public_blocks_alone(&text), "{text}");
        }
    }

    #[test]
    fn only_a_small_regular_file_counts_and_no_link() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("a.pem"), BLOCK).unwrap();
        std::fs::write(path("big.pem"), BLOCK.repeat(20_000)).unwrap();
        std::os::unix::fs::symlink("a.pem", path("link.pem")).unwrap();
        std::fs::create_dir(path("d.pem")).unwrap();
        let handle = File::open(directory.path()).unwrap();
        let is_public = |name: &str| is_public_at(handle.as_fd(), OsStr::new(name));
        assert!(is_public("a.pem") && is_public("a.pem"));
        for other in ["big.pem", "link.pem", "d.pem", "none.pem"] {
            assert!(!is_public(other), "{other}");
        }
        assert!(may_be_certificate(b"x.PEM") && may_be_certificate(b".crt") && !may_be_certificate(b".env"));
    }
}
