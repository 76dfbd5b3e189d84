#!/bin/sh
# Runs all tests as an ordinary user, with what `make test` has built. An ordinary user just runs them.
# TESTS is nextest's expression for running some of them alone.
#
# Root becomes `nobody` in a mount namespace in which that user reaches the project and the compiler, also where
# both lie in root's home.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

if [ "$(id -u)" != 0 ]; then
    if $cargo nextest --version >/dev/null 2>&1; then
        exec $cargo nextest run --locked --workspace --no-fail-fast
    fi
    exec $cargo test --locked --workspace
fi

if [ "${1:-}" != inside ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # The list of test programs, since Cargo itself has to write where it builds.
    $cargo test --locked --workspace --no-run 2>&1 | sed -n 's/^ *Executable .* (\(.*\))$/\1/p' >"$work/programs"
    [ -s "$work/programs" ] || { echo 'No test program was built.' >&2 && exit 1; }
    if nextest=$($cargo nextest --version >/dev/null 2>&1 && command -v cargo-nextest); then
        cp "$nextest" "$work/cargo-nextest"
        $cargo metadata --locked --format-version 1 >"$work/metadata.json"
        $cargo nextest list --locked --workspace --list-type binaries-only --message-format json >"$work/binaries.json"
    fi
    chmod 755 "$work"
    unshare --mount "$0" inside "$work" "$(rustc --print sysroot)"
    exit
fi

work=$2
sysroot=$3
user=65534
mount --make-rprivate /
# The compiler, the sources of the dependencies (which some tests read), and a home.
mkdir -p "$work/rust" "$work/home" "$work/cargo/registry"
mount --bind "$sysroot" "$work/rust"
mount --bind "${CARGO_HOME:-$HOME/.cargo}/registry" "$work/cargo/registry"
chown $user "$work/home"
# What this user cannot enter on the way to the project is replaced by an empty directory with the project.
here=$(pwd -P)
if ! setpriv --reuid=$user --regid=$user --clear-groups test -r "$here/Cargo.toml"; then
    closed=
    path=
    for name in $(echo "$here" | tr / ' '); do
        path=$path/$name
        if ! setpriv --reuid=$user --regid=$user --clear-groups test -x "$path"; then closed=$path && break; fi
    done
    mkdir "$work/project"
    mount --bind "$here" "$work/project"
    mount -t tmpfs -o mode=755 none "$closed"
    mkdir -p "$here"
    mount --bind "$work/project" "$here"
    cd "$here"
fi

export HOME="$work/home" CARGO_HOME="$work/cargo" CARGO="$work/rust/bin/cargo" PATH="$work/rust/bin:/usr/local/bin:/usr/bin:/bin"
as_user() { setpriv --reuid=$user --regid=$user --clear-groups "$@"; }
if [ -x "$work/cargo-nextest" ]; then
    # The corpus runs as an ordinary user in any case.
    as_user "$work/cargo-nextest" nextest run --no-fail-fast --test-threads $(($(nproc) * 2)) \
        -E "(${TESTS:-all()}) and not test(/^corpus::every_case/)" --cargo-metadata "$work/metadata.json" --binaries-metadata "$work/binaries.json"
    exit
fi
failed=0
while read -r program; do as_user "./$program" --quiet || failed=1; done <"$work/programs"
exit $failed
