# A developer lets an agent work on a project of her own.
. "$(dirname "$0")/common.sh"

step 'a project with a history'
mkdir project && cd project
git init --quiet .
git config user.email dev@example.org && git config user.name Dev
printf 'print("helo")\n' >hello.py
git add hello.py && git commit --quiet --message 'first'

step '~ is not expanded, and the message says so'
says "$(AUTONOUS_TOOL_ALLOWED_ROOTS='~/project' refused supervisor run)" '`~` is not expanded'

step 'start in it'
export AUTONOUS_DATA_DIR=$HOME/autonous AUTONOUS_TOOL_ALLOWED_ROOTS=$PWD
export AUTONOUS_TOOL_TOKEN=a-token-of-the-developer
begin ../run.log 'ready: control' supervisor run

step 'without a model, words get an answer that helps'
says "$(supervisor chat 'please fix the greeting')" 'model'
says "$(supervisor chat /help)" '/status'
says "$(supervisor chat 'ls path=.')" 'hello.py'

step 'an edit, seen by git, and undone'
supervisor chat '/read {"path": "hello.py"}' >/dev/null
says "$(supervisor chat '/edit {"path": "hello.py", "find": "helo", "replace": "hello"}')" 'exit 0'
says "$(git diff)" '+print("hello")'
task=$(supervisor tasks --json --limit 1 | field .tasks.0.id)
says "$(supervisor undo "$task")" 'hello.py'
git diff --exit-code

step 'commands and to-dos work in a root of her own'
says "$(supervisor chat '/bash {"cmd": "python3 hello.py"}')" 'helo'
says "$(supervisor chat '/todo_update {"action": "add", "content": "Fix the greeting", "people": []}')" 'Fix the greeting'

step 'the token is the one that was set, also after a restart'
tools() { supervisor token --json | field .tool_url; }
call() { curl -sS -H "Authorization: Bearer $AUTONOUS_TOOL_TOKEN" -H 'Content-Type: application/json' -d "$2" "$(tools)/tools/$1"; }
says "$(call ls '{"path": "."}' | field .ok)" true
end
begin ../run.log 'ready: control' supervisor run
says "$(call read '{"path": "hello.py"}' | field .stdout)" 'helo'
end
