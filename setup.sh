#!/bin/sh
# Installs what building, running or testing needs and this machine lacks; silent when nothing is missing.
#
#   ./setup.sh run     a C compiler and bash
#   ./setup.sh test    also the programs that the tests run
#
# It installs packages as root or by sudo without a password. Otherwise it prints one line to type and fails.
# It never installs Rust, because the packages of most systems are too old; the line to type names rustup.
set -eu
case $0 in
    */*) project=${0%/*} ;;
    *) project=. ;;
esac

case ${1:-} in
    run) programs='make cc bash' ;;
    test) programs='make cc bash git curl python3 perl rg fd chromium ip less initdb' ;;
    *)
        echo 'usage: setup.sh run|test' >&2
        exit 2
        ;;
esac

has() {
    case $1 in
        fd) set -- fdfind fd ;;
        chromium) set -- chromium chromium-browser google-chrome ;;
        # Debian keeps the programs of each version apart.
        initdb) set -- initdb /usr/lib/postgresql/*/bin/initdb ;;
    esac
    for name; do
        if command -v "$name" >/dev/null 2>&1; then return 0; fi
    done
    return 1
}

missing() {
    for program in $programs; do
        has "$program" || printf ' %s' "$program"
    done
}

# The package that holds a program. Only Ubuntu has no package `chromium`.
package() {
    case $manager:$1 in
        apt-get:cc) echo build-essential ;;
        apk:cc) echo build-base ;;
        *:cc) echo gcc ;;
        *:rg) echo ripgrep ;;
        apt-get:fd | dnf:fd) echo fd-find ;;
        pacman:python3) echo python ;;
        dnf:ip) echo iproute ;;
        *:ip) echo iproute2 ;;
        dnf:initdb) echo postgresql-server ;;
        *:initdb) echo postgresql ;;
        apt-get:chromium)
            if grep -qs '^ID=ubuntu' /etc/os-release; then echo chromium-browser; else echo chromium; fi
            ;;
        *) echo "$1" ;;
    esac
}

fail() {
    printf '%s Type:\n    %s\n' "$1" "$2" >&2
    exit 1
}

# The oldest compiler that builds this, as Cargo.toml says.
wanted_rust() {
    while IFS='= "' read -r key _ value _; do
        if [ "$key" = rust-version ]; then echo "$value"; fi
    done <"$project/Cargo.toml"
}

# Says which compiler is here, if it is older than the one that is wanted.
old_rust() {
    has rustc || return 0
    # shellcheck disable=SC2046 # words
    set -- $(rustc --version 2>/dev/null)
    case ${2:-} in
        *.*.*) ;;
        *) return 0 ;;
    esac
    wanted=$(wanted_rust)
    minor=${2#*.}
    # Major and minor version as one number.
    found=$((${2%%.*} * 10000 + ${minor%%.*}))
    if [ "$found" -lt $((${wanted%%.*} * 10000 + ${wanted#*.})) ]; then echo "$2"; fi
}

rust=
why_rust='Missing: Rust.'
old=$(old_rust)
if [ -n "$old" ]; then why_rust="Rust $old is too old: this needs $(wanted_rust) or newer."; fi
if has cargo && [ -z "$old" ]; then
    :
elif [ -x "${HOME:-}/.cargo/bin/cargo" ]; then
    # rustup installed it after this shell started.
    rust='. "$HOME/.cargo/env"'
else
    rust="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"\$HOME/.cargo/env\""
    programs="$programs curl"
fi

needed=$(missing)
if [ -n "$needed" ]; then
    manager=
    for candidate in apt-get dnf pacman apk; do
        if has "$candidate"; then manager=$candidate && break; fi
    done
    case $manager in
        apt-get) install='apt-get install -y --no-install-recommends' ;;
        dnf) install='dnf install -y' ;;
        pacman) install='pacman -Sy --needed --noconfirm' ;;
        apk) install='apk add' ;;
        *)
            echo "Missing:$needed. Install these; this system has no apt-get, dnf, pacman or apk." >&2
            exit 1
            ;;
    esac
    for program in $needed; do install="$install $(package "$program")"; done

    sudo=
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            update=
            if [ "$manager" = apt-get ]; then update='sudo apt-get update && '; fi
            fail "Missing:$needed." "${update}sudo $install${rust:+ && $rust}"
        fi
        sudo='sudo -n'
    fi
    echo "Installing what is missing:${sudo:+ $sudo} $install"
    quietly() {
        # `env` because sudo may refuse to pass variables.
        output=$($sudo env DEBIAN_FRONTEND=noninteractive "$@" 2>&1 </dev/null) || {
            printf '%s\n' "$output" >&2
            fail 'The installation failed.' "${sudo:+sudo }$install"
        }
    }
    if [ "$manager" = apt-get ]; then quietly apt-get update; fi
    # shellcheck disable=SC2086 # a command and its arguments
    quietly $install
    needed=$(missing)
    if [ -n "$needed" ]; then
        echo "Still missing after the installation:$needed. Install these programs by hand." >&2
        exit 1
    fi
fi

if [ -n "$rust" ]; then fail "$why_rust" "$rust"; fi
