#!/usr/bin/env bash
# Runs the tests of whole programs with their databases on a PostgreSQL server. Left out are tests of what only a
# database in a file has: its damage, its backup, its lock, its copies, its lines in README.
#
#   tests/whole_on_postgres.sh [FILTER]…
#
#   CARGO   the cargo to use
set -euo pipefail
cd "$(dirname "$0")/.."
left_out=(
    architecture:: backup:: bugfix:: data_dir:: database_faults:: doc_examples:: docs:: full_disk:: guided_setup::
    health::a_database_that_was_taken_away how_far::a_backup how_far::a_question how_far::pruning
    killed_upkeep:: metrics::without_the_database operation:: one_gate:: packages:: persons:: postgres::
    postgres_faults:: readme::
    tasks::a_database_in_a_directory tasks::a_directory_without_a_database upkeep::
)
skips=()
for name in "${left_out[@]}"; do skips+=(--skip "$name"); done
exec tests/postgres.sh ${CARGO:-cargo} test --locked -p e2e --test e2e -- --test-threads $(($(nproc) * 2)) "${skips[@]}" "$@"
