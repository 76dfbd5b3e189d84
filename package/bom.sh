#!/bin/sh
# Writes the list of the crates in the three programs, with versions and licences, as CycloneDX.
#
#   package/bom.sh TRIPLE VERSION FILE
#
# cargo-cyclonedx lists them; where it is missing, this installs it into target/tools from crates.io, which takes
# some minutes.
set -eu
cd "$(dirname "$0")/.."
triple=$1 version=$2 file=$3
. package/tool.sh
cargo_tool cargo-cyclonedx 0.5.9 || {
    echo 'cargo-cyclonedx cannot be installed here. SBOM=no packages without the list.' >&2
    exit 1
}

# It writes beside each manifest, so it gets a copy of what the build reads.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM
git ls-files -z --cached --others --exclude-standard -- '*Cargo.toml' Cargo.lock '*.rs' | tar --null --files-from=- --create | tar -C "$copy" -x
"${CARGO:-cargo}" cyclonedx --quiet --manifest-path "$copy/Cargo.toml" --format json --spec-version 1.5 --target "$triple" \
    --no-build-deps --override-filename bom
python3 package/bom.py "$version" "$copy" >"$file"
