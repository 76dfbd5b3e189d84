# For the scripts beside it to read with `.`: what they all do. The test persons.rs runs them, each in a directory of
# its own that is also the home, with the programs on the PATH and servers on ports of their own.
set -euo pipefail

step() { printf '# %s\n' "$*"; }

# It fails unless the text has all of these in it.
says() {
    local text=$1 expected
    shift
    for expected; do
        if [[ $text != *"$expected"* ]]; then
            printf 'expected: %s\nin: %s\n' "$expected" "$text" >&2
            exit 1
        fi
    done
}

# What a command prints that has to fail.
refused() {
    local printed
    if printed=$("$@" 2>&1 </dev/null); then
        printf 'not refused: %s\n%s\n' "$*" "$printed" >&2
        exit 1
    fi
    printf '%s\n' "$printed"
}

# Starts a program in the background, and waits for a line of what it prints.
pid=
begin() {
    local log=$1 line=$2
    shift 2
    : >"$log"
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    until grep -q "$line" "$log"; do
        kill -0 "$pid" 2>/dev/null || { pid= && cat "$log" >&2 && exit 1; }
        sleep 0.05
    done
}

# Stops it as a service manager does.
end() {
    kill -TERM "$pid"
    wait "$pid"
    pid=
}
trap '[ -z "$pid" ] || kill -TERM "$pid"' EXIT

# A field of a JSON text, such as .meta.error.code
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1].split(".")[1:]: value = value[int(name) if name.isdigit() else name]
print(value if isinstance(value, str) else json.dumps(value))' "$1"; }
