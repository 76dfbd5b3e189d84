#!/bin/sh
# Makes a root file system of Debian stable in a directory, where it is not there yet. The tests copy it.
#
#   package/root.sh DIRECTORY [PACKAGE]...
#
# Needs root and debootstrap. SUITE names another release.
set -eu
directory=$1
shift
suite=${SUITE:-bookworm}
fail() {
    echo "$1" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || fail 'Making a root file system needs root: sudo make …'
command -v debootstrap >/dev/null || fail 'Making a root file system needs debootstrap: apt-get install debootstrap'
if [ -d "$directory" ]; then exit; fi

echo "Making $directory with debootstrap ($suite)."
made=$directory.made
rm -rf "$made"
mkdir -p "$(dirname "$directory")"
include=$(echo "$*" | tr ' ' ,)
debootstrap --variant=minbase ${include:+--include="$include"} "$suite" "$made" >"$directory.log" 2>&1 ||
    { tail -n 20 "$directory.log" >&2 && fail 'debootstrap failed.'; }
rm -rf "$made"/var/cache/apt/archives/*.deb
mv "$made" "$directory"
