//! The to-do lists: real files, changed by the tool server.

use std::fs;
use std::path::PathBuf;
use std::thread;

use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, wait};
use serde_json::{Value, json};

/// A system whose messages are calls.
struct Lists(System);

impl Lists {
    fn start() -> Self {
        Self(System::builder().workers(1).start())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.dir().data().join("state").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// What a chat is shown of a call.
    fn call(&self, arguments: &Value) -> String {
        self.0.reply(&self.0.say(&format!("/todo_update {arguments}")))
    }

    /// The envelope of a call over HTTP.
    fn ask(&self, arguments: &Value) -> Value {
        let request = Request::call("todo_update", arguments).of_session("local:me");
        self.0.ask_tool_server(request).json()
    }
}

const CONTACTS: &str = "---\n---\n# Contacts\n\n## Anna\n\n```yaml\ncontact_id: tg:@anna\nnickname: Anna\n\
    tg_username: anna\ntg_private_chat_id: 7\n```\n\n## Bob\n\n```yaml\ncontact_id: slack:U1\n```\n";

fn add(content: &str) -> Value {
    json!({"action": "add", "content": content, "people": []})
}

fn complete(content: &str) -> Value {
    json!({"action": "complete", "content": content})
}

#[test]
fn an_item_is_added_and_completed_and_nothing_else_in_the_files_changes() {
    let lists = Lists::start();
    lists.write("TODO.md", "my notes\r\n- [ ] not ours\r\n");
    let told = lists.call(&add("Call the bank"));
    assert!(told.contains("Added: Call the bank") && told.contains("1 open, 0 done."), "{told}");
    let text = lists.read("TODO.md");
    assert!(text.contains("my notes\r\n- [ ] not ours\r\n") && text.contains("open_count: 1\r\n"), "{text}");
    assert!(text.contains("- [ ] [Created](20") && text.contains(") | Call the bank\r\n"), "{text}");
    lists.call(&add("Buy milk"));
    let told = lists.call(&complete("call  THE bank"));
    assert!(told.contains("Completed: Call the bank") && told.contains("1 open, 1 done."), "{told}");
    let (open, done) = (lists.read("TODO.md"), lists.read("TODO.DONE.md"));
    assert!(!open.contains("bank") && open.contains("Buy milk") && open.contains("- [ ] not ours"), "{open}");
    assert!(done.contains("done_count: 1") && done.contains("[Done](20") && done.contains("| Call the bank"));
    let ended = "select count(*) from events where type = 'tool_call.completed'
                 and payload ->> 'tool_name' = 'todo_update'";
    assert_eq!(lists.0.database().count(ended), 3);
    let data = lists.ask(&add("Water the plants"))["meta"]["data"].clone();
    assert_eq!(data["updated_counts"], json!({"open_count": 2, "done_count": 1}));
    assert_eq!(data["changed"], json!({"wip_added": 1, "wip_removed": 0, "done_added": 0}));
    assert_eq!((&data["action"], &data["entry"]["content"]), (&json!("add"), &json!("Water the plants")));
}

#[test]
fn an_item_is_found_by_its_text_or_a_part_that_no_other_has() {
    let lists = Lists::start();
    for item in ["Call the bank", "Write the report", "Write to Bob"] {
        assert!(lists.call(&add(item)).contains("Added"));
    }
    let told = lists.call(&add("call the BANK"));
    assert!(told.contains("Is on the list already: Call the bank"), "{told}");
    assert!(told.contains("duplicate_not_added") && told.contains("3 open"), "{told}");

    let before = lists.read("TODO.md");
    let several = lists.ask(&complete("write"));
    assert_eq!(several["meta"]["error"]["code"], "NOT_UNIQUE");
    let message = several["meta"]["error"]["message"].as_str().unwrap();
    assert_eq!(message, "ambiguous todo item match: Write to Bob; Write the report");
    assert_eq!(several["meta"]["data"]["candidates"], json!(["Write to Bob", "Write the report"]));
    let none = lists.ask(&complete("Wrote a report"));
    assert_eq!(none["meta"]["error"]["code"], "NO_MATCH");
    assert_eq!(none["meta"]["error"]["message"], "no matching todo item in TODO.md");
    let hint = none["meta"]["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("\"Write the report\""), "the nearest is named: {hint}");
    assert_eq!(lists.read("TODO.md"), before);

    assert!(lists.call(&complete("REPORT")).contains("Completed: Write the report"));
    let elsewhere = json!({"action": "complete", "content": "bank", "chat_id": "tg:5"});
    assert!(lists.call(&elsewhere).contains("no matching todo item in TODO.md"));
}

#[test]
fn people_get_references_and_who_cannot_be_told_apart_is_written_raw() {
    let lists = Lists::start();
    let with =
        |content: &str, people: &[&str]| json!({"action": "add", "content": content, "people": people});
    let told = lists.call(&with("Ask Anna", &["Anna"]));
    assert!(told.contains("reference_unresolved_write_raw: Anna") && told.contains("missing_reference_id"));
    lists.write("contacts/ACTIVE.md", CONTACTS);
    let told = lists.call(&with("Tell Anna about Zoe", &["anna", "Zoe"]));
    assert!(told.contains("Added: Tell Anna (tg:@anna) about Zoe"), "{told}");
    assert!(told.contains("reference_unresolved_write_raw: Zoe"), "{told}");
    let told = lists.call(&with("Thank Bob (slack:U1)", &[]));
    assert!(told.contains("Added: Thank Bob (slack:U1)"), "{told}");
    let told = lists.call(&with("Thank Bob again", &["Bob"]));
    assert!(told.contains("Added: Thank Bob (slack:U1) again"), "{told}");
}

#[test]
fn every_error_of_the_contract_is_told_in_its_words() {
    let lists = Lists::start();
    lists.write("contacts/ACTIVE.md", CONTACTS);
    lists.write("TODO.md", "- [ ] [Created](2026-01-01 00:00) | old\n");
    for (arguments, part) in [
        (json!({"content": "x"}), "INVALID_ARGUMENT: action is required"),
        (json!({"action": "drop", "content": "x"}), "INVALID_ARGUMENT: invalid action:"),
        (json!({"action": "add", "people": []}), "INVALID_ARGUMENT: content is required"),
        (json!({"action": "add", "content": "  ", "people": []}), "INVALID_ARGUMENT: content is required"),
        (json!({"action": "complete", "content": " "}), "INVALID_ARGUMENT: content is required"),
        (json!({"action": "add", "content": "x"}), "INVALID_ARGUMENT: people is required for add action"),
        (json!({"action": "add", "content": "x", "people": "Anna"}), "people must be an array of strings"),
        (add("Call Anna (tg:anna)"), "INVALID_ARGUMENT: invalid reference id: tg:anna"),
        (add("Call Anna ()"), "INVALID_ARGUMENT: missing_reference_id"),
        (add("Call Zoe (tg:99)"), "INVALID_ARGUMENT: reference id is not reachable: tg:99"),
        (json!({"action": "add", "content": "x", "people": [], "chat_id": "tg:0"}), "`chat_id`"),
        (complete("x"), "NO_MATCH: no matching todo item in TODO.md"),
    ] {
        let before = lists.read("TODO.md");
        let told = lists.call(&arguments);
        assert!(told.contains(part), "{arguments}: {told}");
        assert_eq!((lists.read("TODO.md"), lists.read("TODO.DONE.md").as_str()), (before, ""), "{arguments}");
    }
    lists.write("TODO.md", &"x".repeat((1 << 20) + 1));
    assert!(lists.call(&add("new")).contains("FILE_TOO_LARGE"));
    fs::write(lists.path("TODO.md"), [0xff, 0xfe]).unwrap();
    assert!(lists.call(&add("new")).contains("BINARY_FILE"));
}

#[test]
fn a_server_without_the_root_says_why() {
    let server = harness::ToolServer::start();
    let answer = server.call("todo_update", &add("x"));
    let error = answer.meta.error.unwrap();
    assert_eq!(error.code, protocol::ErrorCode::ToolNotAllowed);
    assert!(error.message.contains("no `state` root"), "{}", error.message);
    assert!(!server.send(Request::get("/tools")).text().contains("todo_update"));
}

#[test]
fn calls_at_the_same_time_lose_no_item() {
    let lists = Lists::start();
    thread::scope(|scope| {
        for number in 0..12 {
            let lists = &lists;
            scope.spawn(move || assert_eq!(lists.ask(&add(&format!("item {number}")))["ok"], true));
        }
    });
    assert_eq!(lists.read("TODO.md").matches("| item ").count(), 12);
    assert!(lists.read("TODO.md").contains("open_count: 12\n"));
}

#[test]
fn rules_about_paths_hold_for_the_lists_and_the_contacts() {
    for (path, adds, completes) in
        [("TODO.md", false, false), ("TODO.DONE.md", false, false), ("contacts/**", false, true)]
    {
        let rule = format!("[[rule]]\npaths = [{path:?}]\ndecision = \"deny\"\nreason = \"not there\"\n");
        let lists = Lists(System::builder().policy(&rule).start());
        lists.write("TODO.md", "- [ ] [Created](2026-01-01 00:00) | old\n");
        let with_anna = json!({"action": "add", "content": "Ask Anna", "people": ["Anna"]});
        for (arguments, is_allowed) in [(with_anna, adds), (complete("old"), completes)] {
            let answer = lists.ask(&arguments);
            assert_eq!(answer["ok"], is_allowed, "{path}: {answer}");
        }
    }
}

#[test]
fn a_chat_has_its_number_in_its_items() {
    let telegram = FakeTelegram::start();
    let model = FakeModel::telling(ModelReply::call("todo_update", &add("Call Anna")));
    let system = System::builder().telegram(&telegram, "4711").model(&model).start();
    telegram.push(ADA.text("remind me to call Anna"));
    wait::until_true("it is answered", || telegram.sent().iter().any(|sent| sent.text.contains("Added")));
    let text = fs::read_to_string(system.dir().data().join("state/TODO.md")).unwrap();
    assert!(text.contains("), [ChatID](tg:4711) | Call Anna"), "{text}");
}
