//! The to-do lists: real files, changed by the worker's tool through the tool server.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, wait};
use serde_json::{Value, json};

/// What a model answers to the questions of the tool, by their names; in their order.
type Answers = Arc<Mutex<Vec<(&'static str, Value)>>>;

/// A model that makes the call that the last message of the user names as JSON, and tells what came of it.
fn obeying_model(answers: &Answers) -> FakeModel {
    let answers = Arc::clone(answers);
    FakeModel::start(move |request| {
        if let Some(name) = request["response_format"]["json_schema"]["name"].as_str() {
            let mut answers = answers.lock().unwrap();
            let Some(at) = answers.iter().position(|(asked, _)| *asked == name) else {
                return ModelReply::Text(format!("nobody asked for {name}"));
            };
            let (_, answer) = answers.remove(at);
            return ModelReply::Text(answer.to_string());
        }
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().cloned().unwrap_or_default();
        if last["role"] == "tool" {
            return ModelReply::Text(last["content"].as_str().unwrap_or_default().to_owned());
        }
        let text = last["content"].as_str().unwrap_or_default();
        let arguments = text.find('{').map_or("{}", |start| &text[start..]);
        ModelReply::Calls(vec![("todo_update".to_owned(), arguments.to_owned())])
    })
}

struct Lists {
    system: System,
    answers: Answers,
    model: FakeModel,
}

impl Lists {
    fn start() -> Self {
        Self::with(&[])
    }

    fn with(variables: &[(&str, &str)]) -> Self {
        let answers = Answers::default();
        let model = obeying_model(&answers);
        let builder = System::builder().model(&model).workers(1);
        let system = variables.iter().fold(builder, |builder, (name, value)| builder.variable(name, value));
        Self { system: system.start(), answers, model }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.system.dir().data().join("state").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// What the model is told of a call, when it answers these questions.
    fn call(&self, arguments: &Value, answers: &[(&'static str, Value)]) -> String {
        *self.answers.lock().unwrap() = answers.to_vec();
        let reply = self.system.reply(&self.system.say(&arguments.to_string()));
        assert_eq!(self.answers.lock().unwrap().len(), 0, "not asked: {reply}");
        reply
    }

    /// The data of the newest call.
    fn data(&self) -> Value {
        let sql = "select payload ->> 'output_text' from events where type = 'tool_call.completed'
                   and payload ->> 'tool_name' = 'todo_update' order by seq desc limit 1";
        Value::from(self.system.database().texts(sql).remove(0))
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

fn matches(numbers: &[usize]) -> Value {
    json!({"matches": numbers})
}

#[test]
fn an_item_is_added_and_completed_and_nothing_else_in_the_files_changes() {
    let lists = Lists::start();
    lists.write("TODO.md", "my notes\r\n- [ ] not ours\r\n");
    let told = lists.call(&add("Call the bank"), &[]);
    assert!(told.contains("Added: Call the bank") && told.contains("1 open, 0 done."), "{told}");
    let text = lists.read("TODO.md");
    assert!(text.contains("my notes\r\n- [ ] not ours\r\n") && text.contains("open_count: 1\r\n"), "{text}");
    assert!(text.contains("- [ ] [Created](20") && text.contains(") | Call the bank\r\n"), "{text}");
    lists.call(&add("Buy milk"), &[("semantic_dedup", matches(&[]))]);
    let told = lists.call(&complete("call  THE bank"), &[]);
    assert!(told.contains("Completed: Call the bank") && told.contains("1 open, 1 done."), "{told}");
    let (open, done) = (lists.read("TODO.md"), lists.read("TODO.DONE.md"));
    assert!(!open.contains("bank") && open.contains("Buy milk") && open.contains("- [ ] not ours"), "{open}");
    assert!(done.contains("done_count: 1") && done.contains("[Done](20") && done.contains("| Call the bank"));
    let asked =
        lists.model.requests().iter().filter(|request| request["response_format"].is_object()).count();
    assert_eq!(asked, 1, "an exact match needs no model");
    assert!(lists.data().as_str().unwrap().contains("Completed"));
    let tree = "select called.payload ->> 'tool_name' from events as called
                join events as parent on parent.id = called.parent_id
                where called.type = 'tool_call.started' and parent.payload ->> 'tool_name' = 'todo_update'
                order by called.seq desc limit 1";
    assert_eq!(lists.system.database().texts(tree), ["files_change"]);
}

#[test]
fn the_model_finds_what_is_meant_and_what_is_there_already() {
    let lists = Lists::start();
    lists.call(&add("Call the bank"), &[]);
    lists.call(&add("Write the report"), &[("semantic_dedup", matches(&[]))]);
    let told = lists.call(&add("Phone the bank"), &[("semantic_dedup", matches(&[2]))]);
    assert!(told.contains("duplicate_not_added") && told.contains("2 open"), "{told}");
    let told = lists.call(&add("call the bank"), &[]);
    assert!(told.contains("Is on the list already: Call the bank"), "{told}");
    for (numbers, part) in [
        (vec![], "NO_MATCH: no matching todo item in TODO.md"),
        (vec![1, 2], "NOT_UNIQUE: ambiguous todo item match: Write the report; Call the bank"),
    ] {
        let before = lists.read("TODO.md");
        let told = lists.call(&complete("that thing"), &[("semantic_match", matches(&numbers))]);
        assert!(told.contains(part), "{told}");
        assert_eq!(lists.read("TODO.md"), before);
    }
    let told = lists.call(&complete("the report is done"), &[("semantic_match", matches(&[1]))]);
    assert!(told.contains("Completed: Write the report"), "{told}");
    let told = lists.call(
        &complete("nothing is there"),
        &[("semantic_match", matches(&[9])), ("semantic_match", matches(&[1]))],
    );
    assert!(told.contains("Completed: Call the bank"), "a wrong number is repaired: {told}");
    let told = lists.call(&complete("x"), &[]);
    assert!(told.contains("no matching todo item in TODO.md"), "{told}");
}

#[test]
fn people_get_references_and_whoever_cannot_be_told_apart_is_written_raw() {
    let lists = Lists::start();
    let with =
        |content: &str, people: &[&str]| json!({"action": "add", "content": content, "people": people});
    let told = lists.call(&with("Ask Anna", &["Anna"]), &[]);
    assert!(told.contains("reference_unresolved_write_raw: Anna") && told.contains("missing_reference_id"));
    lists.write("contacts/ACTIVE.md", CONTACTS);
    let resolved = json!({"content": "Tell Anna (tg:@anna) about Zoe", "unresolved": ["Zoe"]});
    let answers = [("reference_resolve", resolved), ("semantic_dedup", matches(&[]))];
    let told = lists.call(&with("Tell Anna about Zoe", &["Anna", "Zoe"]), &answers);
    assert!(told.contains("Added: Tell Anna (tg:@anna) about Zoe"), "{told}");
    assert!(told.contains("reference_unresolved_write_raw: Zoe"), "{told}");
    let wrong = json!({"content": "Tell somebody else", "unresolved": []});
    let unreachable = json!({"content": "Thank Bob (tg:9)", "unresolved": []});
    let answers = [("reference_resolve", wrong), ("reference_resolve", unreachable)];
    let told = lists.call(&with("Thank Bob", &["Bob"]), &answers);
    assert!(told.contains("IO_ERROR: invalid reference_resolve response"), "{told}");
    assert!(!lists.read("TODO.md").contains("Thank"));
    let told = lists.call(&with("Thank Bob (slack:U1)", &[]), &[("semantic_dedup", matches(&[]))]);
    assert!(told.contains("Added: Thank Bob (slack:U1)"), "{told}");
}

#[test]
fn every_error_of_the_contract_is_told_in_its_words() {
    let lists = Lists::start();
    lists.write("contacts/ACTIVE.md", CONTACTS);
    lists.write("TODO.md", "- [ ] [Created](2026-01-01 00:00) | old\n");
    let bad = || json!({"matches": "none"});
    for (arguments, answers, part) in [
        (json!({"content": "x"}), vec![], "INVALID_ARGUMENT: action is required"),
        (json!({"action": "drop", "content": "x"}), vec![], "INVALID_ARGUMENT: invalid action:"),
        (json!({"action": "add", "people": []}), vec![], "INVALID_ARGUMENT: content is required"),
        (
            json!({"action": "add", "content": "  ", "people": []}),
            vec![],
            "INVALID_ARGUMENT: content is required",
        ),
        (
            json!({"action": "add", "content": "x"}),
            vec![],
            "INVALID_ARGUMENT: people is required for add action",
        ),
        (
            json!({"action": "add", "content": "x", "people": "Anna"}),
            vec![],
            "people must be an array of strings",
        ),
        (add("Call Anna (tg:anna)"), vec![], "INVALID_ARGUMENT: invalid reference id: tg:anna"),
        (add("Call Anna ()"), vec![], "INVALID_ARGUMENT: missing_reference_id"),
        (add("Call Zoe (tg:99)"), vec![], "INVALID_ARGUMENT: reference id is not reachable: tg:99"),
        (json!({"action": "add", "content": "x", "people": [], "chat_id": "tg:0"}), vec![], "`chat_id`"),
        (
            add("new"),
            vec![("semantic_dedup", bad()), ("semantic_dedup", bad())],
            "invalid semantic_dedup response",
        ),
        (
            complete("new"),
            vec![("semantic_match", bad()), ("semantic_match", bad())],
            "invalid semantic_match response",
        ),
        (complete("x"), vec![("semantic_match", matches(&[]))], "NO_MATCH: no matching todo item in TODO.md"),
    ] {
        let before = lists.read("TODO.md");
        let told = lists.call(&arguments, &answers);
        assert!(told.contains(part), "{arguments}: {told}");
        assert_eq!((lists.read("TODO.md"), lists.read("TODO.DONE.md").as_str()), (before, ""), "{arguments}");
    }
}

#[test]
fn a_tool_that_is_off_and_one_without_its_root_or_model_say_why() {
    let off = Lists::with(&[("AUTONOUS_TOOL_DISABLED", "todo_update")]);
    let told = off.call(&add("x"), &[]);
    assert!(told.contains("TOOL_NOT_ALLOWED") && told.contains("todo_update tool is disabled"), "{told}");
    assert!(!off.model.requests()[0]["tools"].to_string().contains("todo_update"));

    let without_model = System::start();
    let told = without_model.reply(&without_model.say(&format!("/todo_update {}", add("x"))));
    assert!(told.contains("todo_update unavailable (missing llm client)"), "{told}");
    let told = without_model.reply(&without_model.say("help"));
    assert!(!told.contains("todo_update"), "{told}");
}

#[test]
fn a_chat_has_its_number_in_its_items_and_a_denied_file_stays() {
    let (telegram, answers) = (FakeTelegram::start(), Answers::default());
    let model = obeying_model(&answers);
    let system = System::builder().telegram(&telegram, "4711").model(&model).start();
    telegram.push(ADA.text(&add("Call Anna").to_string()));
    wait::until_true("it is answered", || telegram.sent().iter().any(|sent| sent.text.contains("Added")));
    let text = fs::read_to_string(system.dir().data().join("state/TODO.md")).unwrap();
    assert!(text.contains("), [ChatID](tg:4711) | Call Anna"), "{text}");

    let change = |path: &str, sha256: Option<&str>| {
        let file = json!({"path": path, "content": "x", "sha256_before": sha256});
        system.ask_tool_server(Request::post_json("/files", &json!({"files": [file]})))
    };
    for (path, sha256, status, code) in [
        ("a.txt", Some("0".repeat(64)), 409, "CONFLICT"),
        (".git/config", None, 403, "PROTECTED_PATH"),
        ("../x", None, 403, "PATH_OUTSIDE_ROOTS"),
    ] {
        let answer = change(path, sha256.as_deref());
        let code_told = answer.json()["meta"]["error"]["code"].clone();
        assert_eq!((answer.status, &code_told), (status, &json!(code)), "{}", answer.text());
    }
    let made = change("a.txt", None);
    assert_eq!(
        (made.status, made.json()["meta"]["data"]["files"][0]["operation"].clone()),
        (200, json!("create"))
    );
}

/// How often an item stands in both lists.
fn seen(lists: &Lists, item: &str) -> [usize; 2] {
    ["TODO.md", "TODO.DONE.md"].map(|name| lists.read(name).matches(&format!("| {item}\n")).count())
}

#[test]
fn kills_of_worker_and_tool_server_at_any_time_neither_lose_nor_double_an_item() {
    let lists = Lists::with(&[("AUTONOUS_TASK_RETRY_BASE_MS", "50"), ("AUTONOUS_TASK_MAX_ATTEMPTS", "8")]);
    for number in 0..6 {
        let item = format!("item {number}");
        *lists.answers.lock().unwrap() = vec![("semantic_dedup", matches(&[])); 9];
        let added = lists.system.reply(&lists.system.say(&add(&item).to_string()));
        assert!(added.contains("Added") || added.contains("already"), "{added}");
        let task = lists.system.say(&complete(&item).to_string());
        let begun = format!(
            "select count(*) from events where task_id = '{task}' and type = 'tool_call.started'
             and payload ->> 'tool_name' = 'todo_update'"
        );
        match number % 3 {
            0 => {}
            1 => wait::until_true("the call runs", || lists.system.database().count(&begun) > 0),
            _ => wait::until_true("a file is changed", || seen(&lists, &item)[1] > 0),
        }
        lists.system.kill_child(["agent-worker", "tool-server"][number % 2]);
        // A second attempt may find nothing any more, because the first one was done.
        *lists.answers.lock().unwrap() = vec![("semantic_match", matches(&[])); 9];
        lists.system.reply(&task);
        let is_ready = || lists.system.ask_tool_server(Request::get("/readyz")).status == 200;
        wait::until_true("the tool server is back", is_ready);
        assert_eq!(seen(&lists, &item).iter().sum::<usize>(), 1, "{item}: {:?}", seen(&lists, &item));
    }
}
