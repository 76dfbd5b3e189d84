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
for engine in $engines; do
    # A client without its engine fails here.
    if command -v "$engine" >/dev/null 2>&1 && "$engine" info >/dev/null 2>&1; then
        echo "$engine"
        exit
    fi
done
echo "No container engine works here. Install one of: $engines (on Debian: apt-get install podman)." >&2
exit 1
