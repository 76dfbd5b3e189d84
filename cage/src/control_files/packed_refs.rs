//! The names in git's file of packed references, which git takes for paths.

/// Whether a line names a reference that git could take for a path out of its place.
fn is_forbidden(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"^") {
        return false;
    }
    let name = line.iter().position(|byte| *byte == b' ').map_or(&b""[..], |end| &line[end + 1..]);
    !name.starts_with(b"refs/")
        || name.split(|byte| *byte == b'/').any(|part| matches!(part, b"" | b"." | b".."))
}

/// The forbidden lines; empty if there are none.
pub(super) fn forbidden(bytes: &[u8]) -> Vec<u8> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| is_forbidden(line))
        .flatten()
        .copied()
        .collect()
}

/// The file without them, and without the lines about the objects that they name.
pub(super) fn harmless(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut is_kept = true;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        is_kept = if line.starts_with(b"^") { is_kept } else { !is_forbidden(line) };
        if is_kept {
            kept.extend_from_slice(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_cut_out() {
        let packed =
            b"# pack-refs with: peeled fully-peeled sorted \n1 refs/heads/a\n2 refs/tags/../../hooks/x\n^3\n\
            4 refs/tags/v1\n^5\n6 HEAD\n7 refs/heads/a..b\n";
        assert_eq!(forbidden(packed), b"2 refs/tags/../../hooks/x\n6 HEAD\n");
        let left = b"# pack-refs with: peeled fully-peeled sorted \n1 refs/heads/a\n4 refs/tags/v1\n^5\n\
            7 refs/heads/a..b\n";
        assert_eq!(harmless(packed), left);
        assert!(forbidden(left).is_empty());
    }
}
