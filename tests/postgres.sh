#!/usr/bin/env bash
# Runs a command with a PostgreSQL server of its own, which is gone afterwards. The command finds it in
# AUTONOUS_TEST_DATABASE_URL.
#
#   tests/postgres.sh COMMAND…
set -euo pipefail
initdb=$(command -v initdb || find /usr/lib/postgresql /usr/libexec -name initdb 2>/dev/null | sort -V | tail -n 1)
[ -n "$initdb" ] || { echo 'PostgreSQL is missing: ./setup.sh test installs it.' >&2 && exit 1; }
programs=$(dirname "$(readlink -f "$initdb")")
place=$(mktemp -d "${TMPDIR:-/tmp}/autonous-postgres-XXXXXX")
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
as=()
if [ "$(id -u)" = 0 ]; then
    # The server refuses to run as root.
    chown nobody "$place"
    as=(setpriv --reuid nobody --regid nogroup --clear-groups)
fi
stop() {
    "${as[@]}" "$programs/pg_ctl" --pgdata "$place/data" --mode immediate stop >/dev/null 2>&1 || true
    rm -rf "$place"
}
trap stop EXIT

cd "$place"
"${as[@]}" "$programs/initdb" --pgdata "$place/data" --username autonous --auth trust --encoding UTF8 \
    --locale C --no-sync >/dev/null
# Nothing here outlives a power loss, so nothing is synced.
"${as[@]}" "$programs/pg_ctl" --pgdata "$place/data" --log "$place/log" --wait start >/dev/null \
    --options "-c listen_addresses=127.0.0.1 -p $port -k $place -c fsync=off -c max_connections=400" || { cat "$place/log" >&2 && exit 1; }
cd "$OLDPWD"
export AUTONOUS_TEST_DATABASE_URL="postgres://autonous@127.0.0.1:$port/postgres"
"$@"
