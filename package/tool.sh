#!/bin/sh
# For other scripts to read with `.`: finds a tool of cargo, or installs it into target/tools from crates.io, which
# takes some minutes.

# cargo_tool NAME VERSION; fails where it can be neither found nor installed. Begin it in the project's directory.
cargo_tool() {
    tools=$PWD/target/tools
    command -v "$1" >/dev/null || PATH=$tools/bin:$PATH
    export PATH
    command -v "$1" >/dev/null && return
    echo "Installing $1 $2 into target/tools."
    "${CARGO:-cargo}" install --quiet --locked --root "$tools" --target-dir "$tools/build" --version "$2" "$1"
}
