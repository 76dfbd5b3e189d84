#!/bin/sh
# Checks the crates by deny.toml: licences, where they come from, and whether they are in the advisory database.
#
#   package/deny.sh [CHECK]...    advisories, bans, licenses, sources; all of them without a name
#
# Where cargo-deny is missing, this installs it into target/tools from crates.io, which takes some minutes. The
# advisories need a clone of https://github.com/rustsec/advisory-db.
set -eu
cd "$(dirname "$0")/.."
. package/tool.sh
cargo_tool cargo-deny 0.20.2
exec "${CARGO:-cargo}" deny --locked check "$@"
