#!/bin/bash
# Does on a fresh Debian, as an ordinary user with sudo or as root, what README.md says for a new machine, and prints
# how long it took and what it downloaded.
#
#   package/fresh.sh
#
# Needs root and debootstrap. It takes what is committed. Lines that `make` prints for people to type are typed. Where
# rustup cannot be reached, the Debian gets the compiler of this machine, and says so.
#
#   AS=root     does it as root
#   TESTS=yes   also runs `make test` there, with its output in target/package/fresh-test.log
#   KEEP=yes    keeps the root file system, in target/package/root-fresh
set -euo pipefail
cd "$(dirname "$0")/.."
target=$PWD/target/package
base=$target/root-minimal
root=$target/root-fresh
log=$target/fresh.log
user=ada
home=/home/$user
if [ "${AS:-}" = root ]; then
    user=root
    home=/root
fi
control=127.0.0.1:18700
tools=127.0.0.1:18701

if [ "${1:-}" = inside ]; then
    # In a mount and a PID namespace of its own. A chroot would not do: the kernel gives it no user namespace.
    mount --bind "$root" "$root"
    cd "$root"
    mount -t proc proc proc
    mount --rbind /dev dev
    # With the control groups, which root makes for commands.
    mount --rbind /sys sys
    mount -t tmpfs tmpfs run
    if [ -n "${TOOLCHAIN:-}" ]; then
        mkdir -p opt/rust
        mount --bind -o ro "$TOOLCHAIN" opt/rust
    fi
    mkdir -p .machine
    pivot_root . .machine
    umount -l /.machine
    # A shell starts what runs in its background without SIGINT, and a test sends it.
    exec setpriv --reuid "$user" --regid "$user" --init-groups env --default-signal -i HOME=$home USER=$user \
        PATH=/opt/rust/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 TESTS="${TESTS:-}" \
        AUTONOUS_CONTROL_LISTEN=$control AUTONOUS_TOOL_LISTEN=$tools bash $home/new-machine.sh
fi

package/root.sh "$base" sudo
rm -rf "$root"
cp -a "$base" "$root"
leave() {
    cp "$root$home/test.log" "$target/fresh-test.log" 2>/dev/null || true
    [ "${KEEP:-}" = yes ] || rm -rf "$root"
}
trap leave EXIT
before=$(du -sxm "$root" | cut -f 1)

cp /etc/resolv.conf "$root/etc/"
# Updates come from where this machine has its own.
sources=/etc/apt/sources.list.d/debian.sources
if [ -f "$sources" ] && grep -qs "^VERSION_CODENAME=${SUITE:-bookworm}$" /etc/os-release; then
    rm -f "$root/etc/apt/sources.list"
    cp "$sources" "$root$sources"
fi
[ $user = root ] || chroot "$root" useradd --create-home --shell /bin/bash "$user"
echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user"
echo "127.0.0.1 localhost $(hostname)" >>"$root/etc/hosts"
git clone --quiet --bare --depth 1 "file://$PWD" "$root$home/autonous.git"

export TOOLCHAIN=
if ! curl --silent --fail --max-time 15 https://sh.rustup.rs >/dev/null; then
    echo 'rustup cannot be reached: the fresh Debian gets the compiler of this machine, read-only.'
    TOOLCHAIN=$(rustc --print sysroot)
    mkdir -p "$root$home/.cargo"
    # Crates come from where this machine gets its own, which may be a proxy that it trusts.
    config=${CARGO_HOME:-$HOME/.cargo}/config.toml
    [ ! -f "$config" ] || cp "$config" "$root$home/.cargo/"
    mkdir -p "$root/etc/ssl/certs"
    cp /etc/ssl/certs/ca-certificates.crt "$root$home/.cargo/certificates.crt"
fi

cat >"$root$home/new-machine.sh" <<'END'
set -euo pipefail
cd
say() { printf '%4d s  %s\n' $((SECONDS)) "$1"; }
if [ -f .cargo/certificates.crt ]; then export CARGO_HTTP_CAINFO=$HOME/.cargo/certificates.crt; fi

{ sudo apt-get update && sudo apt-get install -y --no-install-recommends git make; } >apt.log 2>&1
say 'git and make are there'
git clone --quiet autonous.git autonous
cd autonous
say 'cloned'

# What it prints to be typed is typed, at most three times.
for attempt in 1 2 3; do
    make run >../run.log 2>&1 &
    running=$!
    until grep -qs 'Autonous is ready' ../run.log || ! kill -0 $running 2>/dev/null; do sleep 0.2; done
    if grep -q 'Autonous is ready' ../run.log; then break; fi
    line=$(sed -n '/ Type:$/{n;s/^ *//p}' ../run.log)
    [ -n "$line" ] || { tail -n 30 ../run.log && exit 1; }
    say "typed: $line"
    eval "$line" >>../typed.log 2>&1 || { tail -n 20 ../typed.log && exit 1; }
done
say '"Autonous is ready"'
target/debug/supervisor chat 'ls path=.'
say 'answered the first message'
# The first of them started the others, and stops them.
for name in /proc/[0-9]*/comm; do
    if grep -qsx supervisor "$name"; then kill -TERM "$(basename "$(dirname "$name")")" && break; fi
done
wait $running || true
if [ "$TESTS" = yes ]; then
    unset AUTONOUS_CONTROL_LISTEN AUTONOUS_TOOL_LISTEN
    # In a session of its own, as behind a login: its first process is not the parent of orphans.
    setsid --wait make test >../test.log 2>&1 || {
        grep -E '^(test .* FAILED|error: |error\[)' ../test.log || tail -n 60 ../test.log
        exit 1
    }
    say '`make test` passed'
fi
END
chroot "$root" chown -R "$user:$user" "$home"

unshare --mount --pid --fork --kill-child "$0" inside 2>&1 | tee "$log"
megabytes() { find "$@" -type f -printf '%s\n' 2>/dev/null | awk '{ sum += $1 } END { printf "%.0f MB", sum / 1000000 }'; }
echo "downloaded: packages $(megabytes "$root/var/cache/apt/archives"), crates $(megabytes "$root$home/.cargo/registry/cache")"
echo "disk: $(($(du -sxm "$root" | cut -f 1) - before)) MB more than the bare system, of which target/ $(megabytes "$root$home/autonous/target")"
