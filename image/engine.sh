#!/bin/sh
# Prints the container engine that works here: the first of docker, podman and, to build only, buildah.
#
#   image/engine.sh build|run
set -eu
case ${1:-} in
    build) engines='docker podman buildah' ;;
    run) engines='docker podman' ;;
    *)
        echo 'usage: image/engine.sh build|run' >&2
        exit 2
        ;;
esac
# crun, the usual runtime of podman and buildah, refuses control groups of both versions side by side.
hybrid() { [ -d "${CGROUPS:-/sys/fs/cgroup}/unified" ]; }
runtime=
for engine in $engines; do
    # A client without its engine fails here.
    if command -v "$engine" >/dev/null 2>&1 && "$engine" info >/dev/null 2>&1; then
        if [ "$engine" != docker ] && hybrid; then
            if ! command -v runc >/dev/null 2>&1; then
                runtime=$engine
                continue
            fi
            if [ "$engine" = podman ]; then engine='podman --runtime runc'; fi
        fi
        echo "$engine"
        exit
    fi
done
if [ -n "$runtime" ]; then
    echo "The control groups of this machine are in hybrid mode, in which crun runs no container for $runtime." >&2
    echo "Install runc (on Debian: apt-get install runc), or boot with systemd.unified_cgroup_hierarchy=1." >&2
    exit 1
fi
echo "No container engine works here. Install one of: $engines (on Debian: apt-get install podman)." >&2
exit 1
