# An operator runs the bot for others. Lines that begin with SEND, PRESS or HEAR are for the test, which plays the
# people at Telegram: it answers each with a line that has what the bot says next.
. "$(dirname "$0")/common.sh"

telegram() { # USER TEXT
    local reply
    echo "SEND $1 $2"
    IFS= read -r reply
    says "$reply" "$3"
    said=$reply
}

export AUTONOUS_DATA_DIR=$HOME/autonous
umask 077
echo "$BOT_TOKEN" >token

step 'set up, unattended, and again for one thing'
says "$(supervisor setup --yes --telegram-token-file token --owner 7 --model none)" '@fake_bot' 'Wrote '
rm token
says "$(supervisor config --set)" 'allowed_users' 'autonous.toml'
says "$(supervisor config check "$AUTONOUS_DATA_DIR/autonous.toml")" 'all valid'
sed 's/allowed_users/alowed_users/' "$AUTONOUS_DATA_DIR/autonous.toml" >wrong.toml
says "$(refused supervisor config check wrong.toml)" 'allowed_users'

step 'the first messages'
begin run.log 'ready: control' supervisor run
telegram 7 'hello' 'model'
telegram 7 '/help' '/status'
telegram 7 'ls path=.' 'exit 0'

step 'a stranger is paired by the code that he reads'
telegram 8 'hello' 'supervisor pair'
echo 'HEAR 7'
IFS= read -r reply
says "$reply" 'wants to use this bot'
code=$(grep -oE '\b[A-Z0-9]{6,}\b' <<<"$said" | head -n 1)
says "$(supervisor pair "$code")" '8'
echo 'HEAR 8'
IFS= read -r reply
says "$reply" 'You may use this bot now'
telegram 8 'ls path=.' 'exit 0'
says "$(supervisor chats)" '8'

step 'a question, decided by a press'
echo "PRESS 7 /bash {\"cmd\": \"echo asked > asked.txt\", \"allow_control_files\": true}"
IFS= read -r reply
says "$reply" 'exit 0'

step 'is all well?'
supervisor check >check.txt
says "$(cat check.txt)" 'database' 'Telegram'
says "$(supervisor version --check)" 'schema'
says "$(supervisor usage)" 'telegram'
begin_of_backup=$(supervisor tasks --json --limit 100 | field .counts)

step 'a backup of everything, ready elsewhere'
says "$(supervisor backup --all "$HOME/less")" 'autonous.toml' '--secrets' 'Not in it'
says "$(supervisor backup --all --workspace --secrets "$HOME/copy")" 'autonous.toml'
end
mv autonous lost
mv copy autonous
begin run.log 'ready: control' supervisor run
[ "$(supervisor tasks --json --limit 100 | field .counts)" = "$begin_of_backup" ]
telegram 8 'read path=asked.txt' 'asked'
end
says "$(supervisor prune --older-than 30d --dry-run)" '0 tasks'
