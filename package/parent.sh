#!/bin/sh
# Packages the programs of an earlier commit, so that `make test-package` can update them to those of today. Prints the
# path of the Debian package.
#
#   package/parent.sh [COMMIT]    without one: the last commit whose programs are not those of HEAD
#
# The commit is built in a clone below target/package/parent, which stays for the next time. The version is lower than
# today's and ends with the commit.
#
#   BUILT=DIR      packages the programs in this directory instead of building them
#   VERSION=1.2.3  what the version is to be lower than; otherwise that of Cargo.toml
set -eu
cd "$(dirname "$0")/.."
root=$PWD
clone=$root/target/package/parent
fail() {
    echo "$1" >&2
    exit 1
}

commit=${1:-}
if [ -z "$commit" ]; then
    # What a package is made of. Most of docs/ and all tests change no program.
    newest=$(git rev-list -1 HEAD -- '*.rs' '*Cargo.toml' Cargo.lock migrations package/autonous package/systemd \
        package/debian ':!tests' ':!bench')
    commit=$(git rev-parse --verify --quiet "$newest^") ||
        fail "$newest has no parent here (a shallow clone?): name a commit, or git fetch --unshallow."
fi
commit=$(git rev-parse --verify --quiet "$commit^{commit}") || fail "There is no commit ${1:-} here."
git cat-file -e "$commit:package/build.sh" 2>/dev/null || fail "$commit has no package/build.sh: name a later commit."

if [ ! -d "$clone" ]; then
    mkdir -p "$(dirname "$clone")"
    git clone --quiet --shared --no-checkout "$root" "$clone"
fi
git -C "$clone" checkout --quiet --force --detach "$commit"

version=${VERSION:-$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)}
version=$version~$(git rev-parse --short "$commit")
[ -z "${BUILT:-}" ] || BUILT=$(cd "$BUILT" && pwd)
rm -rf "$clone/dist"
echo "Packaging $version." >&2
BUILT=${BUILT:-} VERSION=$version SBOM=no DIST=$clone/dist "$clone/package/build.sh" >&2
ls "$clone"/dist/*.deb
