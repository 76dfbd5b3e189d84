//! The names of all tools, by the program that runs them: settings of one program may name the tools of
//! another. A test of each program compares its own.

/// Of the tool server, with the transfers of whole files and the undoing of a change, sorted.
pub const TOOL_SERVER_TOOLS: [&str; 17] = [
    "bash",
    "delete",
    "edit",
    "file_download",
    "file_upload",
    "find",
    "grep",
    "ls",
    "multi_edit",
    "read",
    "run_script",
    "skill",
    "todo_update",
    "undo",
    "url_fetch",
    "web_search",
    "write",
];

/// Of the supervisor, sorted.
pub const SUPERVISOR_TOOLS: [&str; 7] = [
    "contacts_send",
    "schedule_cancel",
    "schedule_list",
    "schedule_task",
    "telegram_react",
    "telegram_send_file",
    "telegram_send_voice",
];

/// Of the worker, sorted.
pub const WORKER_TOOLS: [&str; 2] = ["plan_create", "plan_update"];
