#!/bin/bash
# Checks the files of this directory with programs of others, each against a schema that others keep.
#
#   deploy/check.sh
#
# Needs Python and npm. Where systemd is missing, its file is left out, and that is said.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet kubernetes-validate==1.37.0
"$work/python/bin/kubernetes-validate" --strict kubernetes/*.yaml

# Whether compose knows all that is in them; the rest is about style.
npm --prefix "$work" install --silent --no-save dclint@3.1.0
echo '{"rules": {"no-build-and-image": 0, "service-image-require-explicit-tag": 0}}' >"$work/style.json"
"$work/node_modules/.bin/dclint" --quiet --config "$work/style.json" ../compose.yaml compose/compose.yaml
echo 'compose.yaml and compose/compose.yaml are valid'

if command -v systemd-analyze >/dev/null; then
    # As it would be installed: the unit, its part, and a program where the unit has it.
    mkdir -p "$work/units"
    sed "s|/usr/lib/autonous/supervisor|$(command -v true)|" ../package/systemd/autonous.service >"$work/units/autonous.service"
    cp -r systemd/autonous.service.d "$work/units/"
    systemd-analyze verify --man=no "$work/units/autonous.service"
    echo 'systemd/autonous.service.d is valid'
else
    echo 'systemd is missing here: systemd/autonous.service.d was not checked'
fi
