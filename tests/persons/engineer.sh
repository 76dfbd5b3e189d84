# An engineer wants the tool server alone, for an agent of his own.
. "$(dirname "$0")/common.sh"

mkdir project other && cd project
echo 'in the project' >notes.txt

step 'one variable is enough'
AUTONOUS_TOOL_ALLOWED_ROOTS=$PWD begin ../server.log 'listening on http://' tool-server
end

step '`run` prints how to call it, and the line works as it is'
begin ../run.log "}'\$" tool-server run --root .
line=$(grep '^curl ' ../run.log)
says "$(bash -c "$line" | field .ok)" true
token_file=$(find "$HOME" -name token -path '*autonous*' | head -n 1)
[ "$(stat --format=%a "$token_file")" = 600 ]
token=$(cat "$token_file")
url=$(grep -o 'http://127.0.0.1:[0-9]*' ../run.log | head -n 1)
call() { curl -sS -H "Authorization: Bearer $1" -H 'Content-Type: application/json' -d "$3" "$url/tools/$2"; }
says "$(call "$token" bash '{"cmd": "sort notes.txt"}')" 'in the project'
says "$(curl -sS "$url/llms.txt")" 'POST'
says "$(curl -sS -H "Authorization: Bearer $token" "$url/openapi.json" | field .openapi)" '3.'

step 'what is outside stays outside, and the error says what to do'
answer=$(call "$token" read "{\"path\": \"$HOME/other\"}")
says "$(field .meta.error.code <<<"$answer")" 'PATH_OUTSIDE_ROOTS'
[ -n "$(field .meta.error.hint <<<"$answer")" ]
says "$(call wrong ls '{"path": "."}' | field .meta.error.code)" 'UNAUTHORIZED'
end

step 'the token is the same after a restart'
begin ../run.log "}'\$" tool-server run --root .
[ "$(cat "$token_file")" = "$token" ]
end

step 'several directories'
begin ../run.log "}'\$" tool-server run --root . --root ../other
url=$(grep -o 'http://127.0.0.1:[0-9]*' ../run.log | head -n 1)
token=$(find "$HOME" -name token -path '*autonous*' -newer ../other -not -path "$token_file" -exec cat {} +)
says "$(call "$token" ls "{\"path\": \"$HOME/other\"}" | field .ok)" true
end

step 'a caller that may do less'
tool-server token new --read-only --tool read --tool ls ci >../made.txt
few=$(grep -E '^[0-9a-f]{64}$' ../made.txt)
sed -n '/^\[\[token\]\]/,$p' ../made.txt >../tokens.toml
chmod 600 ../tokens.toml
export AUTONOUS_TOOL_TOKENS_FILE=$HOME/tokens.toml
begin ../run.log "}'\$" tool-server run --root .
url=$(grep -o 'http://127.0.0.1:[0-9]*' ../run.log | head -n 1)
says "$(call "$few" read '{"path": "notes.txt"}' | field .stdout)" 'in the project'
says "$(call "$few" bash '{"cmd": "true"}' | field .meta.error.code)" 'TOOL_NOT_ALLOWED'
end

step 'what the sandbox holds'
says "$(tool-server check)" 'tier'
