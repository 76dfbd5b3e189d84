//! The table of all settings: a row for each, in the order of docs/reference.md.
//!
//! A row is: constant, type, variable, readers, default, values, meaning. `Setting` always has a value;
//! `Optional` can be absent, and its default says in words what then holds. The meaning is Markdown for
//! docs/reference.md; write it as a continuation of the name, and run `make docs`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use process::Secret;
use process::logs::{Filter, Format};
use serde_json::{Map, Value};
use url::Url;

use crate::checks;
use crate::choices::{
    Division, Effort, GroupMembers, GroupTrigger, ModelProvider, PromptForm, Reactions, SandboxMode,
    SearchService, ToolProtocol, Words,
};
use crate::command_network::{CommandNetwork, command_network};
use crate::language::Language;
use crate::readers::{
    EVERYBODY, MODEL, OWN, PLACE, ROOTS, TOOL_KEY, TOOLS, TOOLS_AND_ALL, TOOLS_AND_OWN, TOOLS_PLACE,
    WORKER_PLACE, WORKERS_OWN,
};
use crate::row::Row;
use crate::setting::{Optional, Setting};
use crate::span::Span;
use crate::values::{
    Values, checked, choice, count, flag, items, list, listen, mebibytes, milliseconds, number, path,
    seconds, secret, small, text,
};

/// What every variable of ours begins with.
pub const PREFIX: &str = "AUTONOUS_";

/// The rows as constants, and the list of them.
macro_rules! table {
    ($($constant:ident: $kind:ident<$type:ty> = ($name:literal, $readers:expr, $unset:expr, $values:expr,
        $meaning:expr);)*) => {
        $(
            #[doc = $meaning]
            pub const $constant: $kind<$type> = $kind::new($name, $readers, $unset, $values, $meaning);
        )*

        /// All rows.
        pub const ALL: &[&dyn Row] = &[$(&$constant),*];
    };
}

table! {
    DATA_DIR: Setting<PathBuf> = ("AUTONOUS_DATA_DIR", PLACE, "./data", path("a directory"),
        "data directory");
    LOG_FORMAT: Setting<Format> = ("AUTONOUS_LOG_FORMAT", EVERYBODY, "human",
        choice(&[("human", Format::Human), ("json", Format::Json)]),
        "how logs are written, to stderr");
    RUST_LOG: Setting<Filter> = ("RUST_LOG", EVERYBODY, "info",
        checked(Filter::new, "a filter such as `info,tool_server=debug`"),
        "which records are logged");
    CONFIG_DIR: Optional<PathBuf> = ("AUTONOUS_CONFIG_DIR", EVERYBODY, "none",
        checked(checks::directory, "a directory that exists"),
        "directory outside every root whose `AUTONOUS.md` replaces the system prompt, whose `models.toml` \
         [lists models](models.md#a-file-with-models), and whose `policy.toml` \
         [has rules for calls](policy.md)");
    CONTROL_LISTEN: Setting<SocketAddr> = ("AUTONOUS_CONTROL_LISTEN", OWN, "127.0.0.1:8700", listen(),
        "address of the control port");
    CONTROL_ALLOWED_HOSTS: Setting<Vec<String>> = ("AUTONOUS_CONTROL_ALLOWED_HOSTS", OWN, "",
        items(checks::hosts, "host names, comma separated, such as box.example or box.example:8700"),
        "further names to accept in `Host`. `/livez` and `/readyz` accept any IP address");
    CONTROL_TOKEN: Optional<Secret> = ("AUTONOUS_CONTROL_TOKEN", OWN, "generated at start",
        secret(checks::is_token, "8 to 256 visible ASCII characters without spaces"),
        "the token that clients of the control port send");
    DATABASE_URL: Optional<Secret> = ("AUTONOUS_DATABASE_URL", OWN, "none: a file in `AUTONOUS_DATA_DIR`",
        secret(checks::is_any, "a URL such as postgres://user@host/database"),
        "a PostgreSQL server that has the database ([postgres.md](postgres.md))");
    NODE: Optional<String> = ("AUTONOUS_NODE", OWN, "the name of the machine",
        checked(checks::node_name, "letters, digits, `.`, `_` and `-`, at most 64"),
        "the name of this machine among those that [share a database](nodes.md)");
    SHARED_WORKSPACES: Setting<bool> = ("AUTONOUS_SHARED_WORKSPACES", OWN, "false", flag(),
        "whether all nodes mount the same directories as roots, so that [chats can move](nodes.md)");
    CONTROL_READ_TOKEN: Optional<Secret> = ("AUTONOUS_CONTROL_READ_TOKEN", OWN, "none",
        secret(checks::is_token, "8 to 256 visible ASCII characters without spaces"),
        "a second token of the control port, other than the first, with which clients \
         [only read](operations.md#a-token-that-only-reads)");
    PAGE: Setting<bool> = ("AUTONOUS_PAGE", OWN, "true", flag(),
        "whether the control port has [the page](page.md)");
    METRICS_PUBLIC: Setting<bool> = ("AUTONOUS_METRICS_PUBLIC", TOOLS_AND_OWN, "false", flag(),
        "whether `GET /metrics` of both ports needs no token ([metrics](metrics.md))");
    OTEL_ENDPOINT: Optional<Url> = ("OTEL_EXPORTER_OTLP_ENDPOINT", OWN, "none",
        checked(checks::web_address, "an http or https address, such as http://127.0.0.1:4318"),
        "a collector that gets a [trace](metrics.md#traces) of each task, at `v1/traces` below this address");
    OTEL_TRACES_ENDPOINT: Optional<Url> = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", OWN, "none",
        checked(checks::web_address, "an http or https address, such as http://127.0.0.1:4318/v1/traces"),
        "the whole address for traces, instead");
    OTEL_PROTOCOL: Setting<()> = ("OTEL_EXPORTER_OTLP_PROTOCOL", OWN, "http/protobuf",
        choice(&[("http/protobuf", ())]),
        "how traces are sent; there is no other way");
    OTEL_HEADERS: Optional<Secret> = ("OTEL_EXPORTER_OTLP_HEADERS", OWN, "none",
        secret(checks::is_any, "`name=value` of HTTP headers, separated by commas"),
        "headers for the collector, such as its key: `name=value`, separated by commas, with percent-encoded \
         values");
    OTEL_TIMEOUT: Setting<Duration> = ("OTEL_EXPORTER_OTLP_TIMEOUT", OWN, "10000",
        milliseconds(1, 600_000),
        "how long the collector may take for a request");
    OTEL_SERVICE_NAME: Setting<String> = ("OTEL_SERVICE_NAME", OWN, "autonous", text("a name"),
        "the name of this service in traces");
    OTEL_RESOURCE_ATTRIBUTES: Setting<String> = ("OTEL_RESOURCE_ATTRIBUTES", OWN, "",
        text("`name=value`, separated by commas"),
        "what else each trace says of this service, such as `deployment.environment.name=home`");
    OTEL_SDK_DISABLED: Setting<bool> = ("OTEL_SDK_DISABLED", OWN, "false", flag(),
        "sends no traces, whatever else is set");
    TRACE_CONTENT: Setting<bool> = ("AUTONOUS_TRACE_CONTENT", OWN, "false", flag(),
        "whether traces have the arguments and results of tool calls, with secrets hidden as in the events");
    WORKERS: Setting<usize> = ("AUTONOUS_WORKERS", OWN, "4", count(1, 64),
        "how many tasks run at once, each in a worker process ([many chats](limits.md#many-chats-at-once))");
    STOP_SECONDS: Setting<Duration> = ("AUTONOUS_STOP_SECONDS", OWN, "10", seconds(0, 600),
        "how long running tasks and calls may take after a signal to stop");
    CONTACTS_COOLDOWN: Setting<Duration> = ("AUTONOUS_CONTACTS_COOLDOWN", OWN, "1h",
        checked(checks::pause, "a span such as 30m or 1h, at most 30d, or 0 for none"),
        "how long a contact gets no message after one that did not arrive \
         ([contacts](telegram-tools.md#contacts))");
    SCHEDULES_MAX_PER_CHAT: Setting<u32> = ("AUTONOUS_SCHEDULES_MAX_PER_CHAT", OWN, "20", small(1, 1000),
        "the most reminders and repeated tasks of a chat that are open: raise it for people who keep many. \
         Each costs tokens when it is due");
    SCHEDULES_MIN_MINUTES: Setting<u32> = ("AUTONOUS_SCHEDULES_MIN_MINUTES", OWN, "5", small(1, 1440),
        "the shortest pause between two times of a repeated task; a task that a schedule began cannot set \
         another one sooner, either. Lower it where a look each minute is worth its tokens");
    RETENTION: Setting<Option<Span>> = ("AUTONOUS_RETENTION", OWN, "30d",
        checked(checks::retention, "a span such as 30d or 12w, at least 1h, or 0 to keep all"),
        "how long tasks are kept after their end ([pruning](backup.md#pruning))");
    TASK_MAX_ATTEMPTS: Setting<u32> = ("AUTONOUS_TASK_MAX_ATTEMPTS", OWN, "3", small(1, 100),
        "attempts per task; by default more for as long as `AUTONOUS_TASK_RETRY_SECONDS` says");
    TASK_RETRY_SECONDS: Setting<Duration> = ("AUTONOUS_TASK_RETRY_SECONDS", OWN, "900", seconds(0, 86_400),
        "how long after its first failure a task is tried again, however often, while what it needs fails, \
         such as the model; an attempt that ended its worker is only counted. Where \
         `AUTONOUS_TASK_MAX_ATTEMPTS` is set and this is not, that number is meant: then it is 0");
    TASK_RETRY_BASE_MS: Setting<Duration> = ("AUTONOUS_TASK_RETRY_BASE_MS", OWN, "2000",
        milliseconds(1, 60_000),
        "pause after the first failed attempt; doubles up to a minute");
    TELEGRAM_TOKEN: Optional<Secret> = ("AUTONOUS_TELEGRAM_TOKEN", OWN, "none",
        secret(checks::is_bot_token, "a bot token from BotFather, such as 123456:ABC-DEF"),
        "turns Telegram on ([telegram.md](telegram.md))");
    TELEGRAM_API_URL: Optional<Url> = ("AUTONOUS_TELEGRAM_API_URL", OWN, "the public API",
        checked(checks::api_address, "an http or https address"),
        "another Bot API server");
    TELEGRAM_WEBHOOK_URL: Optional<Url> = ("AUTONOUS_TELEGRAM_WEBHOOK_URL", OWN, "none",
        checked(checks::api_address, "an https address that Telegram reaches"),
        "Telegram delivers messages to this address instead of being asked for them \
         ([webhooks](telegram.md#webhooks))");
    TELEGRAM_WEBHOOK_LISTEN: Setting<SocketAddr> = ("AUTONOUS_TELEGRAM_WEBHOOK_LISTEN", OWN,
        "127.0.0.1:8702", listen(),
        "address of the port for deliveries, where a proxy with TLS leads");
    TELEGRAM_ALLOWED_CHATS: Setting<Vec<i64>> = ("AUTONOUS_TELEGRAM_ALLOWED_CHATS", OWN, "",
        items(checks::chats, "chat IDs, such as 123456,-100987"),
        "chats that may use the bot, beside those that were paired ([who may](telegram.md#who-may-use-it))");
    TELEGRAM_ALLOWED_USERS: Setting<Vec<i64>> = ("AUTONOUS_TELEGRAM_ALLOWED_USERS", OWN, "",
        items(checks::people, "user IDs, such as 123456,4711"),
        "people who may use the bot, in private and in allowed groups");
    TELEGRAM_GROUP_MEMBERS: Setting<GroupMembers> = ("AUTONOUS_TELEGRAM_GROUP_MEMBERS", OWN, "admins",
        choice(GroupMembers::WORDS),
        "who else is obeyed in an allowed group");
    APPROVERS: Optional<Vec<i64>> = ("AUTONOUS_APPROVERS", OWN, "all who may use the bot by themselves",
        items(checks::people, "user IDs, such as 123456,4711"),
        "the people who decide about calls that wait for a person");
    TELEGRAM_GROUP_TRIGGER: Setting<GroupTrigger> = ("AUTONOUS_TELEGRAM_GROUP_TRIGGER", OWN, "mention",
        choice(GroupTrigger::WORDS),
        "which messages of a group are tasks: those that speak to the bot (`mention`), or all that it sees \
         (`all`)");
    LANGUAGE: Setting<Language> = ("AUTONOUS_LANGUAGE", OWN, "en", choice(Language::WORDS),
        "the language of the bot's own words for those whose client names none of these, in groups, and in \
         the terminal; `/language` chooses another one for a chat \
         ([languages](telegram-chats.md#languages))");
    TRANSCRIBE: Optional<String> = ("AUTONOUS_TRANSCRIBE", OWN, "none",
        text("a command line, or an address such as https://host/v1"),
        "how [voice messages](telegram-chats.md#files-and-voice-messages) become text: a command line, or \
         the base address with `/v1` of a service");
    TRANSCRIBE_MODEL: Setting<String> = ("AUTONOUS_TRANSCRIBE_MODEL", OWN, "whisper-1", text("a name"),
        "the service's model");
    TRANSCRIBE_API_KEY: Optional<Secret> = ("AUTONOUS_TRANSCRIBE_API_KEY", OWN, "none",
        secret(checks::is_any, "a key"),
        "the service's key");
    TELEGRAM_GATHER_MS: Setting<Duration> = ("AUTONOUS_TELEGRAM_GATHER_MS", OWN, "1200",
        milliseconds(0, 60_000),
        "what somebody sends with shorter pauses is one task, such as a long text in pieces; 0 makes each \
         message a task of its own \
         ([messages that belong together](telegram-chats.md#messages-that-belong-together))");
    TELEGRAM_REACTIONS: Setting<Reactions> = ("AUTONOUS_TELEGRAM_REACTIONS", OWN, "private",
        choice(Reactions::WORDS),
        "where the bot shows by a reaction how far a message is \
         ([reactions](telegram-chats.md#progress-and-reactions)): in \
         private chats, in all, or nowhere");
    TG_PENDING_WINDOW_SECONDS: Setting<Duration> = ("AUTONOUS_TG_PENDING_WINDOW_SECONDS", OWN, "600",
        seconds(0, 86_400),
        "messages older than this at the start are stored but not run");
    TG_PENDING_MAX_MESSAGES: Setting<u32> = ("AUTONOUS_TG_PENDING_MAX_MESSAGES", OWN, "50", small(0, 10_000),
        "of the messages that waited in a chat, at most this many are run: the newest. None begins before \
         all have come");

    TOOL_ALLOWED_ROOTS: Optional<Vec<String>> = ("AUTONOUS_TOOL_ALLOWED_ROOTS", ROOTS,
        "`workspace` and `state` in the data directory; required when the server runs alone",
        list("absolute directories, comma separated"),
        "the roots; relative paths start at the first. The supervisor adds `state` in the data directory, \
         for lists, contacts and notes, unless one of them has that name");
    WORKSPACES: Setting<Division> = ("AUTONOUS_WORKSPACES", TOOLS_AND_OWN, "shared", choice(Division::WORDS),
        "`shared`: all chats see the same files. `per-chat`: each sees only \
         [a directory of its own](sandbox.md#a-workspace-for-each-chat) in each root");
    TOOL_LISTEN: Setting<SocketAddr> = ("AUTONOUS_TOOL_LISTEN", ROOTS, "127.0.0.1:8701", listen(),
        "address; anything but loopback requires a token");
    TOOL_TLS_CERT: Optional<PathBuf> = ("AUTONOUS_TOOL_TLS_CERT", ROOTS, "none: HTTP without TLS",
        path("a file in PEM, with `AUTONOUS_TOOL_TLS_KEY`"),
        "the certificate of a tool server alone, with its chain: [it speaks HTTPS](tool-server.md#tls) then");
    TOOL_TLS_KEY: Optional<PathBuf> = ("AUTONOUS_TOOL_TLS_KEY", ROOTS, "none",
        path("a file in PEM outside the roots"),
        "the key of that certificate");
    TOOL_TLS_CLIENT_CA: Optional<PathBuf> = ("AUTONOUS_TOOL_TLS_CLIENT_CA", ROOTS, "none: every client",
        path("a file in PEM"),
        "the authority that signs the certificates of clients: only clients with one can connect");
    TOOL_SUPERVISED: Setting<bool> = ("AUTONOUS_TOOL_SUPERVISED", TOOLS_PLACE, "false", flag(),
        "whether a supervisor [on another machine](elsewhere.md) connects to \
         this tool server, and answers the tools that act on chats. Needs both tokens");
    TOOL_ALLOWED_HOSTS: Setting<Vec<String>> = ("AUTONOUS_TOOL_ALLOWED_HOSTS", TOOLS, "",
        items(checks::hosts, "host names, comma separated, such as box.example or box.example:8700"),
        "further names to accept in `Host`. `/livez` and `/readyz` accept any IP address");
    TOOL_TOKEN: Optional<Secret> = ("AUTONOUS_TOOL_TOKEN", TOOL_KEY,
        "none when the server runs alone; generated by the supervisor at each start",
        secret(checks::is_token, "8 to 256 visible ASCII characters without spaces"),
        "the token that callers must send; given to the supervisor, it stays the same over restarts");
    TOOL_TOKENS_FILE: Optional<PathBuf> = ("AUTONOUS_TOOL_TOKENS_FILE", TOOLS, "none",
        path("a TOML file outside the roots, in a directory of its own"),
        "further tokens, each of which may do [less](tool-server.md#named-tokens); read again when it \
         changes. Needs a token of the server's own");
    APPROVAL_TIMEOUT_SECONDS: Setting<Duration> = ("AUTONOUS_APPROVAL_TIMEOUT_SECONDS", TOOLS_AND_OWN, "600",
        seconds(1, 86_400),
        "how long a call waits for [a person](approvals.md#asking), and a yes for its call");
    QUESTION_TIMEOUT_SECONDS: Setting<Duration> = ("AUTONOUS_QUESTION_TIMEOUT_SECONDS", TOOLS_AND_OWN,
        "86400", seconds(1, 604_800),
        "how long [a question of the model](approvals.md#questions-of-the-model) waits for its answer; the \
         chat's further messages wait behind it");
    TOOL_APPROVER_TOKEN: Optional<Secret> = ("AUTONOUS_TOOL_APPROVER_TOKEN", ROOTS,
        "none when the server runs alone",
        secret(checks::is_any, "another token than `AUTONOUS_TOOL_TOKEN`"),
        "the token of those who [decide about the calls of others](approvals.md#deciding), and may undo \
         them; no caller may have it. The supervisor generates one at each start, unless its tool server is \
         on another machine");
    TOOL_MCP_USERS_DECIDE: Setting<bool> = ("AUTONOUS_TOOL_MCP_USERS_DECIDE", TOOLS, "false", flag(),
        "whether the user of an MCP client [decides about the calls of that client](mcp.md#approvals) that \
         need a person; needs a token for the port");
    FETCH_ALLOWED_HOSTS: Setting<Vec<String>> = ("AUTONOUS_FETCH_ALLOWED_HOSTS", TOOLS, "",
        list("hosts separated by commas: example.com, *.example.com, example.com:8443, 192.0.2.1, or * for \
              all public ones"),
        "hosts that `url_fetch` may ask without a person's approval: `*.example.com` are those below \
         `example.com` ([the web](web.md))");
    FETCH_ALLOW_PRIVATE: Setting<bool> = ("AUTONOUS_FETCH_ALLOW_PRIVATE", TOOLS, "false", flag(),
        "whether listed hosts may have addresses that are not public");
    FETCH_PROFILES_FILE: Optional<PathBuf> = ("AUTONOUS_FETCH_PROFILES_FILE", TOOLS_AND_OWN, "none",
        path("a file that only its owner can read"),
        "the file with [credentials for the web](web.md#credentials)");
    SEARCH_PROVIDER: Setting<SearchService> = ("AUTONOUS_SEARCH_PROVIDER", TOOLS, "duckduckgo",
        choice(SearchService::WORDS),
        "the service behind `web_search`. Where neither this nor its address is set, a search asks a person, \
         unless the service's host is listed");
    SEARCH_URL: Optional<Url> = ("AUTONOUS_SEARCH_URL", TOOLS, "the provider's own",
        checked(checks::base_address, "a base address such as https://search.lan/"),
        "its base address; required for `searxng`, whose address may be private");
    SEARCH_API_KEY: Optional<Secret> = ("AUTONOUS_SEARCH_API_KEY", TOOLS_AND_OWN, "none",
        secret(checks::is_any, "a key"),
        "the key of `brave` or `tavily`; only the fetcher gets it");
    TOOL_JOURNAL: Optional<PathBuf> = ("AUTONOUS_TOOL_JOURNAL", TOOLS_PLACE,
        "`journal/tool-calls.jsonl` in the data directory", path("a file outside every root"),
        "the journal");
    TOOL_JOURNAL_MAX_BYTES: Setting<u64> = ("AUTONOUS_TOOL_JOURNAL_MAX_BYTES", TOOLS, "67108864",
        number(4096, 1 << 40),
        "a journal file that would grow beyond this is archived");
    TOOL_OUTPUT_DIR: Optional<PathBuf> = ("AUTONOUS_TOOL_OUTPUT_DIR", TOOLS_PLACE,
        "`output` in the data directory", path("a directory neither in a root nor around one"),
        "where long output is kept");
    SKILLS_DIR: Optional<PathBuf> = ("AUTONOUS_SKILLS_DIR", TOOLS_PLACE, "`skills` in the data directory",
        path("a directory neither in a root nor around one"),
        "skills: tools and commands can read them");
    TOOL_TIMEOUT_SECONDS: Setting<Duration> = ("AUTONOUS_TOOL_TIMEOUT_SECONDS", TOOLS, "30", seconds(1, 600),
        "deadline of a call; for `bash` and `run_script`, unless the call has `timeout_seconds`");
    TOOL_MAX_COMMANDS: Setting<usize> = ("AUTONOUS_TOOL_MAX_COMMANDS", TOOLS, "8", count(1, 1000),
        "most commands at once; a further one waits up to 2 s and is then refused with `OVERLOADED`");
    TOOL_MAX_PROCESSES: Setting<usize> = ("AUTONOUS_TOOL_MAX_PROCESSES", TOOLS, "8", count(0, 64),
        "most [background processes](commands.md#background-processes) of a session, and 64 of all; 0 allows \
         none");
    TOOL_MAX_PROCESS_SECONDS: Setting<Duration> = ("AUTONOUS_TOOL_MAX_PROCESS_SECONDS", TOOLS, "3600",
        seconds(1, 86_400),
        "how long a background process may run; then it is killed");
    TOOL_MAX_OUTPUT_LINES: Setting<usize> = ("AUTONOUS_TOOL_MAX_OUTPUT_LINES", TOOLS, "2000",
        count(1, 1_000_000),
        "longer output is truncated");
    TOOL_MAX_OUTPUT_BYTES: Setting<usize> = ("AUTONOUS_TOOL_MAX_OUTPUT_BYTES", TOOLS, "51200",
        count(1, 8 << 20),
        "longer output is truncated");
    UNDO_MAX_MB: Setting<u64> = ("AUTONOUS_UNDO_MAX_MB", TOOLS, "256", mebibytes(0, 1 << 30),
        "how much of what file tools replaced or removed is kept for [undoing it](undo.md), for a \
         week; 0 keeps nothing");
    TOOL_MAX_EDIT_BYTES: Setting<u64> = ("AUTONOUS_TOOL_MAX_EDIT_BYTES", TOOLS, "16777216",
        number(1, 1 << 30),
        "largest file that can be hashed and edited");
    TOOL_RAW_FILES: Setting<bool> = ("AUTONOUS_TOOL_RAW_FILES", TOOLS, "true", flag(),
        "whether [`/files`](control-port.md#files-over-http) sends and stores files, unredacted");
    TOOL_MAX_UPLOAD_BYTES: Setting<u64> = ("AUTONOUS_TOOL_MAX_UPLOAD_BYTES", TOOLS, "67108864",
        number(1, 1 << 30),
        "largest upload");
    TOOL_SEARCH_MAX_ENTRIES: Setting<u64> = ("AUTONOUS_TOOL_SEARCH_MAX_ENTRIES", TOOLS, "1000000",
        number(1, 1_000_000_000),
        "most entries that one search examines");
    TOOL_PROTECTED: Setting<Vec<String>> = ("AUTONOUS_TOOL_PROTECTED", TOOLS,
        ".git/hooks,.git/config,.hg/hgrc,.hg/hgrc-not-shared,.jj/repo/config.toml,.jj/workspace-config.toml,\
         .envrc,.vscode,*.code-workspace,.idea,.zed,.fleet,.exrc,.vimrc,.nvimrc,.nvim.lua,.lvimrc,\
         .dir-locals.el,.dir-locals-2.el,.mcp.json,.claude,.codex,.cursor,.gemini,.windsurf,.kiro,.roo,\
         .opencode,opencode.json,.aider.conf.yml,.Rprofile,.irbrc,.pryrc,.pdbrc,.gdbinit,.lldbinit,.octaverc,\
         .devcontainer,.devcontainer.json,.mise.toml,mise.toml,.cargo/config.toml,.cargo/config,.yarnrc.yml,\
         .yarnrc,.yarn/releases,.yarn/plugins,.pnpmfile.cjs,.pnpmfile.mjs",
        list("names and paths of files, separated by commas"),
        "[control files](control-files.md#control-files-by-name): tools never write them, and \
         [commands leave none behind](control-files.md). Git directories are guarded \
         whatever this says");
    TOOL_DENY_PATHS: Setting<Vec<String>> = ("AUTONOUS_TOOL_DENY_PATHS", TOOLS,
        ".env,.env.*,*.pem,*.key,*.p12,*.pfx,id_rsa*,id_dsa*,id_ecdsa*,id_ed25519*,\
         .ssh/,.gnupg/,.aws/,.kube/,.netrc,.git-credentials,.npmrc,.pypirc,.pgpass,\
         **/.docker/config.json,**/.config/gh/,**/.config/gcloud/",
        list("globs separated by commas"),
        "names that tools cannot use in the roots, in any letter case. A pattern without a slash matches at \
         any depth; one with a slash matches from the root, or at any depth after `**/`; one that ends in a \
         slash matches a directory with everything in it. `delete` removes them unread; certificates and \
         public keys are shown ([sandbox.md](sandbox.md#hidden-files))");
    TOOL_DISABLED: Setting<Vec<String>> = ("AUTONOUS_TOOL_DISABLED", TOOLS_AND_ALL, "",
        list("names of tools, separated by commas"),
        "disabled tools, those of the worker and of channels too; by default `delete` and `run_script` \
         [ask](policy.md)");
    TOOL_DISABLE_EXEC: Setting<bool> = ("AUTONOUS_TOOL_DISABLE_EXEC", TOOLS_AND_OWN, "false", flag(),
        "serve only the file tools");
    TOOL_SANDBOX: Setting<SandboxMode> = ("AUTONOUS_TOOL_SANDBOX", TOOLS, "auto", choice(SandboxMode::WORDS),
        "`auto` uses the best tier that the kernel allows; `full` (tier A) and `landlock` (tier B) refuse to \
         start without theirs ([sandbox.md](sandbox.md))");
    TOOL_READONLY_ROOTS: Setting<Vec<String>> = ("AUTONOUS_TOOL_READONLY_ROOTS", TOOLS, "",
        list("directories that exist, separated by commas"),
        "directories, such as toolchains, that commands can read; none may contain the data directory, the \
         journal or the output");
    TOOL_ENV: Setting<Vec<String>> = ("AUTONOUS_TOOL_ENV", TOOLS_AND_OWN, "",
        Values::List {
            of: |items| Ok(items.to_vec()),
            shown: checks::name_of_assignment,
            expected: "`NAME` or `NAME=value`, separated by commas, and none of the server's own secrets",
        },
        "variables for commands, `NAME` with the server's value. Commits have the name in `GIT_AUTHOR_NAME` \
         and `GIT_AUTHOR_EMAIL`, else `Autonous <autonous@localhost>`; a repository's own `user.name` goes \
         before that default");
    TOOL_BASH_NETWORK: Setting<CommandNetwork> = ("AUTONOUS_TOOL_BASH_NETWORK", TOOLS, "off",
        items(command_network, "off, public or all; or domains separated by commas, such as \
         packages,github.com,*.example.org"),
        "the network of commands: none; public addresses over TCP; all that this machine reaches; or some \
         domains through a proxy ([network.md](network.md)). `public` and `all` require a token");
    TOOL_BASH_ALLOW_NETWORK: Optional<bool> = ("AUTONOUS_TOOL_BASH_ALLOW_NETWORK", TOOLS, "none", flag(),
        "older: `true` for `public`, `false` for `off`");
    TOOL_BASH_DENYLIST: Setting<Vec<String>> = ("AUTONOUS_TOOL_BASH_DENYLIST", TOOLS, "",
        list("command words, separated by commas"),
        "further command words to refuse ([command-policy.md](command-policy.md))");
    TOOL_MAX_MEMORY_MB: Setting<u64> = ("AUTONOUS_TOOL_MAX_MEMORY_MB", TOOLS, "4096",
        mebibytes(16, 1 << 30),
        "a command is killed when it has more memory: all its processes, files in its `/tmp`, `/dev/shm` and \
         home (tier A), and shared memory ([commands.md](commands.md#limits))");
    TOOL_MIN_FREE_MB: Setting<u64> = ("AUTONOUS_TOOL_MIN_FREE_MB", TOOLS, "512", mebibytes(0, 1 << 30),
        "a reserve: commands are killed when a root's disk has less space left, or less than a twentieth of \
         its inodes (at most 65536). Commands that start then can delete files but write to none. 0: no \
         reserve");

    TOOL_URL: Setting<Url> = ("AUTONOUS_TOOL_URL", WORKER_PLACE, "http://127.0.0.1:8701",
        checked(checks::base_address, "an http or https URL such as http://127.0.0.1:8701"),
        "the tool server for `agent-worker once`, which also reads `AUTONOUS_TOOL_TOKEN`; given to the \
         supervisor, its tool server [is there](elsewhere.md), on another \
         machine");
    TOOL_TLS_CA: Optional<PathBuf> = ("AUTONOUS_TOOL_TLS_CA", OWN, "none",
        path("a file in PEM"),
        "for a tool server on another machine: its certificate, or the authority that signed it");
    TOOL_TLS_CLIENT_CERT: Optional<PathBuf> = ("AUTONOUS_TOOL_TLS_CLIENT_CERT", OWN, "none",
        path("a file in PEM, with `AUTONOUS_TOOL_TLS_CLIENT_KEY`"),
        "the certificate that the supervisor shows there");
    TOOL_TLS_CLIENT_KEY: Optional<PathBuf> = ("AUTONOUS_TOOL_TLS_CLIENT_KEY", OWN, "none",
        path("a file in PEM"),
        "the key of that certificate");
    MODEL_PROVIDER: Optional<ModelProvider> = ("AUTONOUS_MODEL_PROVIDER", MODEL,
        "by the keys that are set, else `direct`", choice(ModelProvider::WORDS),
        "which protocol the model's server speaks (`openai`: chat completions); or `direct` (no model: the \
         message is the tool call) or `scripted` (for tests)");
    MODEL_NAME: Optional<String> = ("AUTONOUS_MODEL_NAME", MODEL,
        "the provider's, or the first of `models.toml`", text("a name"),
        "the model; with `models.toml` the `name` of one in it");
    MODEL_BASE_URL: Optional<String> = ("AUTONOUS_MODEL_BASE_URL", MODEL,
        "`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL` or `GOOGLE_GEMINI_BASE_URL`, else the provider's",
        text("an http or https URL without a user, such as http://127.0.0.1:11434/v1"),
        "ends in `/v1`, Gemini's in `/v1beta`; a query such as Azure's `?api-version=` is kept");
    MODEL_API_KEY: Optional<Secret> = ("AUTONOUS_MODEL_API_KEY", MODEL,
        "`OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY`", secret(checks::is_any, "a key"),
        "the key; a local server needs none");
    MODEL_SCRIPT: Optional<String> = ("AUTONOUS_MODEL_SCRIPT", WORKERS_OWN, "none",
        text("actions separated by commas"),
        "what `scripted` does, such as `err:overloaded,msg:hello`");
    MODEL_TOOL_PROTOCOL: Setting<ToolProtocol> = ("AUTONOUS_MODEL_TOOL_PROTOCOL", WORKERS_OWN, "native",
        choice(ToolProtocol::WORDS),
        "`json` for a model without function calling");
    MODEL_FALLBACK: Setting<Vec<String>> = ("AUTONOUS_MODEL_FALLBACK", MODEL, "",
        list("names of models, separated by commas"),
        "further models, asked in turn when those before fail: of `models.toml`, else at the same address");
    MODEL_REASONING_EFFORT: Optional<Effort> = ("AUTONOUS_MODEL_REASONING_EFFORT", MODEL, "the model's",
        choice(Effort::WORDS),
        "how much it thinks");
    MODEL_MAX_OUTPUT_TOKENS: Optional<u64> = ("AUTONOUS_MODEL_MAX_OUTPUT_TOKENS", MODEL,
        "the provider's; 16000 for `anthropic`", number(1, 100_000_000),
        "the longest reply, at most half of the window");
    MODEL_TEMPERATURE: Optional<f64> = ("AUTONOUS_MODEL_TEMPERATURE", MODEL, "the model's",
        checked(checks::temperature, "a number from 0 to 2"),
        "how much chance there is in replies");
    MODEL_VISION: Optional<bool> = ("AUTONOUS_MODEL_VISION", MODEL,
        "`true` at the vendor's own address, else `false`", flag(),
        "whether the model sees images");
    MODEL_EXTRA_BODY: Optional<Map<String, Value>> = ("AUTONOUS_MODEL_EXTRA_BODY", MODEL, "none",
        checked(checks::object, "a JSON object, such as {\"service_tier\": \"flex\"}"),
        "fields that are merged into each request at the end");
    MODEL_EXTRA_HEADERS: Optional<Secret> = ("AUTONOUS_MODEL_EXTRA_HEADERS", MODEL, "none",
        secret(checks::is_any, "a JSON object of texts, such as {\"X-Title\": \"Autonous\"}"),
        "headers for each request; treated as a secret");
    MODEL_FIRST_TOKEN_SECONDS: Setting<Duration> = ("AUTONOUS_MODEL_FIRST_TOKEN_SECONDS", WORKERS_OWN, "300",
        seconds(1, 86_400),
        "how long the model may be silent before a reply");
    MODEL_IDLE_SECONDS: Setting<Duration> = ("AUTONOUS_MODEL_IDLE_SECONDS", WORKERS_OWN, "60",
        seconds(1, 86_400),
        "how long it may be silent within a reply");
    MODEL_CONTEXT_TOKENS: Setting<u64> = ("AUTONOUS_MODEL_CONTEXT_TOKENS", MODEL, "128000",
        number(4_000, 100_000_000),
        "the model's context window for prompt, tools, conversation and reply, by an estimate that holds \
         against real tokenizers");
    MODEL_PROMPT: Optional<PromptForm> = ("AUTONOUS_MODEL_PROMPT", WORKERS_OWN,
        "`small` for a [small model](small-models.md), else `compact` for a window below 32,000 tokens, else \
         `full`", choice(PromptForm::WORDS),
        "the form of the rules and tools that the model gets: `compact` takes half the tokens and leaves out \
         the less usual arguments, `small` has six tools and shorter results");
    CONTROL_MAX_TURNS: Setting<u32> = ("AUTONOUS_CONTROL_MAX_TURNS", WORKERS_OWN, "20", small(1, 10_000),
        "model requests per task");
    CONTROL_MAX_WALL_TIME_SECONDS: Setting<Duration> = ("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", MODEL,
        "600", seconds(1, 86_400),
        "time per attempt, including tool calls; the supervisor reads it, too");
    CONTROL_MAX_TOKENS: Setting<u64> = ("AUTONOUS_CONTROL_MAX_TOKENS", WORKERS_OWN, "2000000",
        number(1, u64::MAX),
        "output tokens plus uncached input tokens per task");
    CONTROL_MAX_RETRIES: Setting<u32> = ("AUTONOUS_CONTROL_MAX_RETRIES", WORKERS_OWN, "3", small(0, 20),
        "retries of a failed model request");
}

/// The row of this variable.
pub fn row(variable: &str) -> Option<&'static dyn Row> {
    ALL.iter().copied().find(|row| row.name() == variable)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::row::WhenUnset;
    use crate::source::Source;

    #[test]
    fn each_row_has_a_name_of_its_own_and_a_default_that_is_valid() {
        let names: BTreeSet<&str> = ALL.iter().map(|row| row.name()).collect();
        assert_eq!(names.len(), ALL.len());
        for row in ALL {
            let name = row.name();
            let is_standard = name == "RUST_LOG" || name.starts_with("OTEL_");
            assert!(is_standard || name.starts_with(PREFIX), "{name}");
            assert!(!row.meaning().is_empty() && !row.expected().is_empty(), "{name}");
            if let WhenUnset::Value(default) = row.default() {
                assert_eq!(row.check(&Source::from_pairs([(name, default)])), Ok(()), "{name}");
            }
        }
    }

    #[test]
    fn a_bad_value_names_the_variable_the_value_and_what_is_right() {
        let error = |name: &str, value: &str| {
            row(name).unwrap().check(&Source::from_pairs([(name, value)])).unwrap_err().to_string()
        };
        for (name, value, expected) in [
            ("AUTONOUS_WORKERS", "65", "a whole number from 1 to 64"),
            ("AUTONOUS_WORKERS", "soon", "a whole number from 1 to 64"),
            ("AUTONOUS_CONTROL_MAX_TOKENS", "-1", "a whole number from 1"),
            ("AUTONOUS_TOOL_RAW_FILES", "yes", "true or false"),
            ("AUTONOUS_TELEGRAM_GROUP_MEMBERS", "everybody", "admins, listed or all"),
            ("AUTONOUS_RETENTION", "5m", "a span such as 30d or 12w, at least 1h, or 0 to keep all"),
            ("AUTONOUS_CONTACTS_COOLDOWN", "31d", "a span such as 30m or 1h, at most 30d, or 0 for none"),
            ("AUTONOUS_TELEGRAM_ALLOWED_USERS", "-5", "user IDs, such as 123456,4711"),
            ("AUTONOUS_MODEL_TEMPERATURE", "2.1", "a number from 0 to 2"),
        ] {
            assert_eq!(error(name, value), format!("{name}={value:?}: expected {expected}"));
        }
        for (name, value) in [("AUTONOUS_TELEGRAM_TOKEN", "hunter2"), ("AUTONOUS_CONTROL_TOKEN", "hunter2")] {
            let error = error(name, value);
            assert!(error.starts_with(&format!("{name}=\"***\": expected ")), "{error}");
        }
    }
}
