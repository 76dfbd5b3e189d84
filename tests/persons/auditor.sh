# An auditor has to know afterwards what the agent did.
. "$(dirname "$0")/common.sh"

export AUTONOUS_DATA_DIR=$HOME/autonous AUTONOUS_CONFIG_DIR=$HOME/config
export AUTONOUS_CONTROL_READ_TOKEN=only-for-the-auditor
mkdir -m 700 config
cat >config/policy.toml <<'RULES'
[[rule]]
tools = ["write"]
paths = ["deploy/**"]
decision = "deny"
reason = "deployments are made by people"

[[rule]]
tools = ["write"]
paths = ["reports/**"]
decision = "ask"
reason = "reports are looked at"
RULES

step 'something happens'
begin run.log 'ready: control' supervisor run
supervisor chat '/write {"path": "notes.txt", "content": "a note\n"}' >/dev/null
supervisor chat --chat team '/write {"path": "deploy/a.txt", "content": "x"}' >/dev/null || true
supervisor chat '/bash {"cmd": "sudo reboot"}' >/dev/null || true
control=$(supervisor token --json | field .control_url)
post() { curl -sS -H "Authorization: Bearer $(supervisor token control)" -H 'Content-Type: application/json' -d "$2" "$control/$1"; }
task=$(post messages '{"text": "/write {\"path\": \"reports/may.txt\", \"content\": \"good\"}", "chat": "team"}' | field .task_id)
until supervisor approvals --json | grep -q reports; do sleep 0.05; done
supervisor approve "$(supervisor approvals --json | field .approvals.0.id)"
until supervisor tasks --json | grep -q '"in_progress": 0' && [ "$(curl -sS -H "Authorization: Bearer $(supervisor token control)" "$control/messages/$task" | field .status)" = done ]; do sleep 0.05; done

step 'the calls of the week, by tool, chat, decision and file'
says "$(supervisor audit --since 7d)" 'write' 'bash' 'reports/may.txt' "$(date -u +%Y-%m-%d)"
says "$(supervisor audit --since 7d --tool bash)" 'sudo reboot'
says "$(supervisor audit --since 7d --chat team)" 'deploy/a.txt'
says "$(supervisor audit --since 7d --decision granted)" 'reports/may.txt' 'granted'
says "$(supervisor audit --file notes.txt)" 'write'
refusals=$(supervisor audit --refused --json)
says "$refusals" 'deployments are made by people' 'sudo'
[[ $refusals != *reports/* ]] || { echo 'an approved call is listed as refused' >&2 && exit 1; }

step 'who decided, when and how; the tasks and their trees'
says "$(supervisor approvals --decided)" 'write' 'granted by the command line' "$(date -u +%Y-%m-%d)"
says "$(supervisor tasks --since 7d)" 'done'
says "$(supervisor tree --all)" 'tool_call.completed' 'approval.used'

step 'a token that only reads'
ask() { curl -sS -o answer.json -w '%{http_code}' -H "Authorization: Bearer $AUTONOUS_CONTROL_READ_TOKEN" "$@"; }
[ "$(ask "$control/status")" = 200 ] && [ "$(ask "$control/approvals")" = 200 ]
[ "$(ask -H 'Content-Type: application/json' -d '{"text": "ls path=."}' "$control/messages")" = 403 ]
says "$(field .error.code <answer.json || cat answer.json)" 'READ_ONLY_TOKEN'

step 'the journal is whole, and a change in it shows'
end
says "$(tool-server journal verify)" 'records'
journal=$(find autonous/journal -type f -name '*.jsonl' | head -n 1)
sed -i '0,/notes.txt/s//other.txt/' "$journal"
says "$(refused tool-server journal verify)" 'line'
