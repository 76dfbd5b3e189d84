//! A model's reasoning through the whole system: it goes back to the model, and nothing else has it.

use harness::{FakeModel, ModelReply, System};
use serde_json::json;

const THOUGHT: &str = "The user wants the files, so a listing comes first: “ls”.";
const ANSWER: &str = "There is a.txt.";

#[test]
fn reasoning_goes_back_within_its_task_and_is_in_no_event_log_reply_or_history() {
    let looks = ModelReply::call("ls", &json!({"path": "."}));
    let answer = ModelReply::text(ANSWER);
    let model = FakeModel::answering(vec![looks.after(THOUGHT), answer.after(THOUGHT)]);
    let system = System::builder().model(&model).start();
    for task in ["what is here?", "and now?"] {
        assert_eq!(system.reply(&system.say(task)), ANSWER);
    }
    let requests = model.requests();
    assert!(requests[1].to_string().contains("listing comes first"), "{}", requests[1]);
    let history = requests.last().unwrap().to_string();
    assert!(history.contains(ANSWER) && !history.contains("listing comes first"), "{history}");
    for event in system.database().events() {
        let event = serde_json::to_string(&event).unwrap();
        assert!(!event.contains("listing comes first"), "{event}");
    }
    assert!(!system.log().contains("listing comes first"));
}
