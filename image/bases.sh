#!/bin/sh
# Makes a base image of the Dockerfile on a Debian machine that reaches no image registry.
#
#   ENGINE=podman image/bases.sh IMAGE
#
# A `debian` image is what debootstrap installs. A `rust` image has this machine's compiler besides, which has to
# be the release that the name says. Needs root and debootstrap. For trials: what you publish, build from the
# official images.
set -eu
image=$1
tool=${ENGINE%% *}
fail() {
    echo "$1" >&2
    exit 1
}

tag=${image##*:}
suite=${tag%-slim}
suite=${suite##*-}
[ "$(id -u)" = 0 ] || fail "Making $image needs root."
command -v debootstrap >/dev/null || fail "Making $image needs debootstrap: apt-get install debootstrap"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
root=$work/root

case $image in
    */rust:*)
        release=${tag%%-*}
        case $(rustc --version) in
            "rustc $release".*) ;;
            *) fail "$image needs Rust $release; this machine has $(rustc --version)." ;;
        esac
        packages=ca-certificates,gcc,libc6-dev
        ;;
    */debian:*) packages= ;;
    *) fail "Do not know how to make $image." ;;
esac

debootstrap --variant=minbase ${packages:+--include=$packages} "$suite" "$root" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2 && fail "debootstrap could not make $image."; }
# Updates come from where this machine has its own.
sources=/etc/apt/sources.list.d/debian.sources
if [ -f "$sources" ] && grep -qs "^VERSION_CODENAME=$suite$" /etc/os-release; then
    rm "$root/etc/apt/sources.list"
    cp "$sources" "$root$sources"
fi
# As the official slim images do.
cat >"$root/etc/dpkg/dpkg.cfg.d/slim" <<'END'
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
END
cat >"$root/etc/apt/apt.conf.d/docker-clean" <<'END'
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/archives/partial/*.deb || true"; };
APT::Update::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/archives/partial/*.deb || true"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
END
rm -rf "$root"/usr/share/info/* "$root"/usr/share/locale/* "$root"/usr/share/man/* \
    "$root"/var/cache/apt/archives/*.deb "$root"/var/cache/apt/*.bin "$root"/var/lib/apt/lists/* "$root"/var/log/*.log
find "$root/usr/share/doc" -type f ! -name copyright -delete

if [ -n "$packages" ]; then
    toolchain=$(rustc --print sysroot)
    mkdir -p "$root/usr/local/lib/rustlib"
    cp "$toolchain/bin/cargo" "$toolchain/bin/rustc" "$root/usr/local/bin/"
    cp -P "$toolchain"/lib/*.so* "$root/usr/local/lib/"
    cp -R "$toolchain"/lib/rustlib/*-linux-* "$root/usr/local/lib/rustlib/"
    # This image only compiles, and may have to reach crates.io by way of a proxy that the machine trusts.
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi

case $tool in
    buildah)
        container=$($ENGINE from scratch)
        $ENGINE add --quiet "$container" "$root" / >/dev/null
        $ENGINE commit --quiet --rm "$container" "$image" >/dev/null
        ;;
    *) tar --directory "$root" --create . | $ENGINE import - "$image" >/dev/null ;;
esac
