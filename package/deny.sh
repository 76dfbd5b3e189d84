#!/bin/sh
# Checks the crates by deny.toml: licences, where they come from, and whether they are in the advisory database.
#
#   package/deny.sh [CHECK]...    advisories, bans, licenses, sources; all of them without a name
#
# Where cargo-deny is missing, this installs it into target/tools from crates.io, which takes some minutes. The
# advisories need a clone of https://github.com/RustSec/advisory-db, which cargo-deny fetches. Where that cannot be
# reached, the clone of last time serves for 90 days; without any, the other three are checked, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."
. package/tool.sh
cargo_tool cargo-deny 0.20.2 || {
    echo 'cargo-deny cannot be installed here: it comes from crates.io.' >&2
    exit 1
}
deny() {
    "${CARGO:-cargo}" deny --locked "$@"
}
if [ $# -gt 0 ]; then
    deny check --hide-inclusion-graph "$@"
    exit
fi

deny check --hide-inclusion-graph bans licenses sources
if fetched=$(deny fetch db 2>&1); then
    deny check --disable-fetch advisories
elif [ -n "$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/*/.git 2>/dev/null)" ]; then
    echo 'The advisory database cannot be fetched now: this is its clone of last time.' >&2
    deny check --disable-fetch advisories
else
    echo "$fetched" >&2
    echo 'Not checked: advisories. Their database cannot be fetched here, and no clone of it is there from before.' >&2
    echo 'bans, licenses and sources hold. Run this again where github.com can be reached.' >&2
    exit 1
fi
