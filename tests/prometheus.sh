#!/bin/sh
# Gets `prometheus` and `promtool` from Debian's package without installing it, and prints their directory.
#
#   tests/prometheus.sh DIRECTORY
set -eu
directory=${1:?a directory}
if [ ! -x "$directory/usr/bin/promtool" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo 'This needs Prometheus: name a directory with `prometheus` and `promtool` as PROMETHEUS.' >&2
        exit 1
    fi
    mkdir -p "$directory"
    (
        cd "$directory"
        apt-get download prometheus >/dev/null 2>&1 || {
            apt-get update >/dev/null
            apt-get download prometheus >/dev/null
        }
        dpkg -x prometheus_*.deb .
        rm -f prometheus_*.deb
    )
fi
echo "$directory/usr/bin"
