#!/bin/sh
# Packages the three programs into dist/: a Debian package, an archive for any Linux, the list of the crates in the
# programs (CycloneDX), and the hashes of all three.
#
#   package/build.sh
#
# It builds the programs first, so that no path of this machine is in them. Over the same programs and commit,
# it writes the same bytes. docs/packages.md says more.
#
#   BUILT=DIR      packages the programs in this directory instead of building them
#   NATIVE=DIR     programs that run on this machine, where those in BUILT are for another: they print the
#                  completions and man pages
#   VERSION=1.2.3  a version other than that of Cargo.toml, for trials
#   SBOM=no        does without the list of crates
#   DIST=DIR       writes there
set -eu
umask 022
cd "$(dirname "$0")/.."
root=$PWD
target=$root/target/package
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
dist=${DIST:-dist}
fail() {
    echo "$1" >&2
    exit 1
}
for program in dpkg-deb strip gzip tar sha256sum git; do
    command -v "$program" >/dev/null ||
        fail "Packaging needs $program (on Debian: apt-get install binutils dpkg git)."
done

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
version=${VERSION:-$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)}

# Paths are part of a program by its messages, and by what C compilers write into objects.
build() {
    cargo=${CARGO_HOME:-$HOME/.cargo}
    maps="$root=/autonous $cargo=/cargo $(rustc --print sysroot)=/rust"
    rust_flags=
    c_flags=
    for map in $maps; do
        rust_flags="$rust_flags --remap-path-prefix=$map"
        c_flags="$c_flags -ffile-prefix-map=$map"
    done
    RUSTFLAGS="${RUSTFLAGS:-}$rust_flags" CFLAGS="${CFLAGS:-}$c_flags" CXXFLAGS="${CXXFLAGS:-}$c_flags" \
        CARGO_INCREMENTAL=0 "${CARGO:-cargo}" build --locked --release --target-dir "$target/build" \
        -p command-line -p agent-worker -p tool-server --bins
}

# The machine that a program is for, by the field of its ELF header.
machine_of() {
    case $(od -An -tu2 -j18 -N2 "$1" | tr -d ' ') in
        62) echo amd64 x86_64-unknown-linux-gnu ;;
        183) echo arm64 aarch64-unknown-linux-gnu ;;
        *) fail "$1 is for a machine that this script has no name for." ;;
    esac
}

built=${BUILT:-}
if [ -z "$built" ]; then
    build
    built=$target/build/release
fi
native=${NATIVE:-$built}
machine=$(machine_of "$built/supervisor")
architecture=${machine% *}
triple=${machine#* }

stage=$work/stage
mkdir -p "$stage/bin" "$stage/man" "$stage/completions" "$dist"
for program in supervisor agent-worker tool-server; do
    [ -f "$built/$program" ] || fail "$built has no $program."
    strip --strip-all -o "$stage/bin/$program" "$built/$program"
done

texts() {
    if ! "$native/$1" man --name "$2" "$stage/man"; then
        fail "$native/$1 writes no man pages here; NATIVE names a directory with programs that do."
    fi
    "$native/$1" completions --name "$2" bash >"$stage/completions/$2.bash"
    "$native/$1" completions --name "$2" zsh >"$stage/completions/_$2"
    "$native/$1" completions --name "$2" fish >"$stage/completions/$2.fish"
}
texts supervisor autonous
texts tool-server tool-server

if [ "${SBOM:-yes}" != no ]; then
    package/bom.sh "$triple" "$version" "$stage/autonous.cdx.json"
    cp "$stage/autonous.cdx.json" "$dist/"
fi

# The newest glibc whose symbols a program uses.
glibc=$(grep -aoh 'GLIBC_2\.[0-9]*' "$stage"/bin/* | sed 's/GLIBC_//' | sort -uV | tail -n 1)

debian() {
    tree=$work/tree
    share=$tree/usr/share
    document=$share/doc/autonous
    install -d "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/lib/autonous" "$tree/usr/lib/systemd/system" \
        "$share/bash-completion/completions" "$share/zsh/vendor-completions" \
        "$share/fish/vendor_completions.d" "$share/man/man1" "$document/examples"
    install "$stage"/bin/* "$tree/usr/lib/autonous/"
    install package/autonous "$tree/usr/bin/autonous"
    ln -s ../lib/autonous/tool-server "$tree/usr/bin/tool-server"
    install -m 0644 package/systemd/*.service "$tree/usr/lib/systemd/system/"
    for name in autonous tool-server; do
        install -m 0644 "$stage/completions/$name.bash" "$share/bash-completion/completions/$name"
        install -m 0644 "$stage/completions/_$name" "$share/zsh/vendor-completions/"
        install -m 0644 "$stage/completions/$name.fish" "$share/fish/vendor_completions.d/"
    done
    for page in "$stage"/man/*.1; do
        gzip -9n <"$page" >"$share/man/man1/${page##*/}.gz"
    done
    install -m 0644 package/debian/copyright README.md SECURITY.md "$document/"
    install -m 0644 package/tool-server.env "$document/examples/"
    gzip -9n <CHANGELOG.md >"$document/changelog.gz"
    [ ! -f "$stage/autonous.cdx.json" ] || install -m 0644 "$stage/autonous.cdx.json" "$document/"
    for script in postinst prerm postrm; do install "package/debian/$script" "$tree/DEBIAN/"; done
    kilobytes=$(find "$tree/usr" -type f -printf '%s\n' | awk '{ sum += int($1 / 1024) + 1 } END { print sum }')
    sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@GLIBC@/$glibc/" \
        -e "s/@KILOBYTES@/$kilobytes/" package/debian/control >"$tree/DEBIAN/control"
    (cd "$tree" && find usr -type f | sort | xargs md5sum >DEBIAN/md5sums)
    find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    # One thread: how many there are decides where xz begins a block.
    threads=
    if dpkg-deb --help | grep -q threads-max; then threads=--threads-max=1; fi
    dpkg-deb --root-owner-group -Zxz $threads --build "$tree" "$dist/$1" >/dev/null
}

archive() {
    name=autonous-$version-$triple
    cp -R package/systemd "$stage/systemd"
    cp package/autonous "$stage/bin/"
    cp package/tool-server.env README.md CHANGELOG.md SECURITY.md LICENSE-MIT LICENSE-APACHE "$stage/"
    tar --directory "$stage" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --transform="s,^\.,$name," --create . | gzip -9n >"$dist/$1"
}

package=autonous_${version}_$architecture.deb
tarball=autonous-$version-$triple.tar.gz
debian "$package"
archive "$tarball"
cd "$dist"
[ "${SBOM:-yes}" != no ] || rm -f autonous.cdx.json
# shellcheck disable=SC2046 # the list is there or not
sha256sum $(ls autonous.cdx.json 2>/dev/null) "$package" "$tarball" | sort -k 2 >SHA256SUMS
for file in "$package" "$tarball"; do
    wc -c "$file" | awk '{ printf "%s: %.1f MB\n", $2, $1 / 1000000 }'
done
cat SHA256SUMS
