//! Chats of the page: what is written, answered, sent and stopped.

use std::fs;

use harness::{FakeModel, ModelReply, System, wait};
use serde_json::json;

use super::{Visit, get};

fn talking(replies: Vec<ModelReply>) -> (FakeModel, Visit) {
    let model = FakeModel::answering(replies);
    let system = System::builder().model(&model).start();
    let mut visit = Visit::begin(system);
    visit.go("/chat/main");
    (model, visit)
}

fn say(visit: &mut Visit, text: &str) {
    visit.browser.fill("#text", text);
    visit.browser.press("Enter");
}

#[test]
fn a_message_is_answered_with_its_formatting_while_the_page_stays() {
    let answer = "It is **done**:\n\n```\nlet x = 1 < 2;\n```\n[more](https://a.example/x)";
    let (_model, mut visit) = talking(vec![ModelReply::text(answer)]);
    visit.browser.evaluate("window.stays = true");
    say(&mut visit, "do it");
    visit.browser.wait_until("document.querySelector('.theirs strong')?.textContent === 'done'");
    visit.browser.wait_until("document.querySelector('.theirs pre')?.textContent.includes('1 < 2')");
    let href = visit.browser.evaluate("document.querySelector('.theirs a').href");
    assert_eq!(href, "https://a.example/x");
    assert_eq!(visit.browser.evaluate("window.stays"), true, "the page was not loaded again");
    assert_eq!(visit.browser.evaluate("document.querySelector('#text').value"), "");
    let chats = "select count(*) from inbox where channel = 'page' and chat_id = 'main'";
    assert_eq!(visit.system.database().count(chats), 1);
    visit.assert_clean();
}

#[test]
fn an_answer_is_read_while_it_is_written_and_stopped_by_a_click() {
    let text = "First words of a long answer, and then many more of them to come.";
    let (_model, mut visit) = talking(vec![ModelReply::text(text).held()]);
    say(&mut visit, "tell me");
    visit.browser.wait_until("document.querySelector('.growing')?.innerText.includes('First')");
    visit.browser.click(".ours form button");
    visit.browser.wait_for_text("The task is being cancelled.");
    visit.browser.wait_until("document.querySelector('.ours').innerText.includes('cancelled')");
    visit.browser.wait_until("document.querySelector('.growing') === null");
    visit.assert_clean();
}

#[test]
fn files_come_in_and_go_out_and_changes_are_undone() {
    let (model, mut visit) = talking(vec![
        ModelReply::call("write", &json!({"path": "answer.txt", "content": "for you"})),
        ModelReply::call("telegram_send_file", &json!({"path": "answer.txt", "caption": "here it is"})),
        ModelReply::text("Sent."),
    ]);
    let sent = visit.system.dir().path().join("question <1>.txt");
    fs::write(&sent, "what a person sends").unwrap();
    visit.browser.choose_file("#files", &sent);
    visit.browser.fill("#text", "read this");
    visit.browser.click(".compose button");
    visit.browser.wait_for_text("Sent.");
    visit.browser.wait_for_text("here it is");
    visit.browser.wait_for_text("question <1>.txt");
    let stored = visit.system.database().count("select count(*) from attachments where state = 'stored'");
    assert_eq!(stored, 1);
    let asked = model.requests()[0].to_string();
    assert!(asked.contains("inbox/page-main/"), "{asked}");

    let cookie = visit.system.signed_in();
    for (name, content) in [("question <1>.txt", "what a person sends"), ("answer.txt", "for you")] {
        let link =
            format!("[...document.querySelectorAll('.file a')].find((a) => a.innerText === {name:?}).href");
        let address = visit.browser.evaluate(&link);
        let path = address.as_str().unwrap()[visit.address().len()..].to_owned();
        let answer = get(&visit.system, &path, &cookie);
        assert_eq!((answer.status, answer.text().as_str()), (200, content), "{name}");
        assert!(answer.header("content-disposition").is_some_and(|value| value.starts_with("attachment")));
    }
    let file = visit.system.workspace().join("answer.txt");
    assert!(file.exists());
    visit.browser.click(".ours form button");
    visit.browser.wait_for_text("The file changes are undone.");
    wait::until_true("the file is gone", || !file.exists());
    visit.assert_clean();
}

#[test]
fn a_question_of_the_model_is_answered_in_the_chat() {
    let (model, mut visit) = talking(vec![
        ModelReply::call("ask_user", &json!({"question": "Which colour?", "options": ["red", "blue"]})),
        ModelReply::text("Noted."),
    ]);
    say(&mut visit, "paint it");
    visit.browser.wait_for_text("Which colour?");
    visit.browser.click("form.decision button[value=blue]");
    visit.browser.wait_for_text("Your decision is on its way");
    visit.go("/chat/main");
    visit.browser.wait_for_text("Noted.");
    let told = model.requests().last().unwrap().to_string();
    assert!(told.contains("blue"), "{told}");
    visit.assert_clean();
}

#[test]
fn people_have_chats_of_their_own_and_commands_work_as_elsewhere() {
    let (_model, mut visit) = talking(vec![ModelReply::text("Hello, Ada.")]);
    visit.go("/chat");
    visit.browser.evaluate("document.querySelector('#chat').value = 'ada'");
    visit.browser.click("form.filter button");
    visit.browser.wait_for_text("Talk: ada");
    say(&mut visit, "hello");
    visit.browser.wait_for_text("Hello, Ada.");
    say(&mut visit, "/status");
    visit.browser.wait_until("document.querySelectorAll('.theirs').length === 2");
    visit.go("/chat/main");
    visit.browser.wait_for_text("Nothing was said yet.");
    visit.go("/chat");
    visit
        .browser
        .wait_until("[...document.querySelectorAll('ul.chats a')].map((a) => a.innerText).join() === 'ada'");
    visit.assert_clean();
}

#[test]
fn a_message_that_cannot_be_taken_is_told_and_stays_in_its_field() {
    let (_model, mut visit) = talking(Vec::new());
    visit.browser.fill("#text", "  ");
    visit.browser.click(".compose button");
    visit.browser.wait_for_text("The message is empty.");
    let cookie = visit.system.signed_in();
    let bad = get(&visit.system, "/chat/4711", &cookie);
    assert_eq!(bad.status, 400, "{}", bad.text());
    assert!(bad.text().contains("A name begins with a letter"), "{}", bad.text());
}

#[test]
fn a_contact_and_a_reminder_reach_chats_of_the_page() {
    let (_model, mut visit) = talking(vec![
        ModelReply::call("contacts_send", &json!({"contact_id": "ben", "message_text": "Dinner at eight."})),
        ModelReply::text("Ben knows."),
    ]);
    let contacts = visit.system.dir().path().join("data/state/contacts");
    fs::create_dir_all(&contacts).unwrap();
    let ben = "## Ben\n\n```yaml\ncontact_id: ben\npage_chat: ben\n```\n";
    fs::write(contacts.join("ACTIVE.md"), ben).unwrap();
    say(&mut visit, "tell Ben");
    // The first message to a contact is asked about.
    visit.browser.wait_for_text("chat page:ben");
    visit.browser.click("form.decision button[value=once]");
    visit.browser.wait_for_text("Your decision is on its way");
    visit.go("/chat/main");
    visit.browser.wait_for_text("Ben knows.");
    visit.go("/chat/ben");
    visit.browser.wait_for_text("Dinner at eight.");
    visit.assert_clean();
}
