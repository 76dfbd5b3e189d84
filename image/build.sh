#!/bin/sh
# Builds the images with whichever of docker, podman and buildah works here, and prints what each took.
#
#   image/build.sh [TARGET]...    autonous, full, tool-server; all of them without a name
#
# ENGINE names the engine to use instead. Where no registry can be reached, image/bases.sh makes the base images.
set -eu
cd "$(dirname "$0")/.."

engine=${ENGINE:-$(image/engine.sh build)}
tool=${engine%% *}
case $tool in
    docker) build="$engine build" ;;
    # Only Docker's format has a health check.
    *) build="$engine build --layers --format docker" ;;
esac
# image/engine.sh says why.
if [ "$tool" = buildah ] && [ -d "${CGROUPS:-/sys/fs/cgroup}/unified" ]; then export BUILDAH_RUNTIME=runc; fi
if [ $# -eq 0 ]; then set -- autonous full tool-server; fi

name() {
    case $1 in
        autonous) echo autonous ;;
        full | tool-server) echo "autonous:$1" ;;
        *)
            echo "Unknown target: $1. There are autonous, full and tool-server." >&2
            exit 2
            ;;
    esac
}
for target; do name "$target" >/dev/null; done

exists() {
    case $tool in
        buildah) $engine inspect --type image "$1" ;;
        *) $engine image inspect "$1" ;;
    esac >/dev/null 2>&1
}

for base in $(sed -n 's/^FROM \([^ ]*\/[^ ]*\) .*/\1/p' Dockerfile); do
    if exists "$base" || $engine pull --quiet "$base" 2>/dev/null; then continue; fi
    echo "Cannot get $base from its registry. Making it from Debian's packages."
    ENGINE=$engine image/bases.sh "$base"
done

# A build ends with its caller: the engine, and what it runs a step with, as one group.
building=
trap '[ -z "$building" ] || kill -- "-$building"; exit 143' HUP INT TERM
for target; do
    started=$(date +%s)
    setsid $build --target "$target" --tag "$(name "$target")" . &
    building=$!
    wait "$building"
    building=
    echo "Built $(name "$target") with $engine in $(($(date +%s) - started)) s"
done
