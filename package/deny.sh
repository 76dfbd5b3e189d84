#!/bin/sh
# Checks the crates by deny.toml: licences, where they come from, and whether they are in the advisory database.
#
#   package/deny.sh [CHECK]...    advisories, bans, licenses, sources; all of them without a name
#
# Where cargo-deny is missing, this installs it into target/tools from crates.io, which takes some minutes. The
# advisories need a clone of https://github.com/rustsec/advisory-db.
set -eu
cd "$(dirname "$0")/.."
release=0.20.2
tools=$PWD/target/tools
if ! command -v cargo-deny >/dev/null; then
    PATH=$tools/bin:$PATH
    export PATH
fi
if ! command -v cargo-deny >/dev/null; then
    echo "Installing cargo-deny $release into target/tools."
    "${CARGO:-cargo}" install --quiet --locked --root "$tools" --target-dir "$tools/build" --version "$release" cargo-deny
fi
exec "${CARGO:-cargo}" deny --locked check "$@"
