//! A page that somebody in Telegram asks about: the host is asked about, fetched once, and the chat gets the
//! answer.

use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, ModelReply, System, wait};
use serde_json::json;

use super::network::{PUBLIC, in_a_network_of_its_own};
use super::site::{Reply, Site};

#[test]
fn what_a_page_says_is_asked_about_fetched_once_and_told() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |_| Reply::html("<h1>Trains</h1><p>The 9:15 is late.</p>"));
        let telegram = FakeTelegram::start();
        let fetch = json!({"url": "http://page.test/trains"});
        let model = FakeModel::telling(ModelReply::call("url_fetch", &fetch));
        let system = System::builder().telegram(&telegram, "4711").model(&model).start();
        telegram.push(ADA.text("what does this page say: http://page.test/trains"));
        let (asked, buttons) = telegram.question(ADA, 0);
        assert!(asked.text.contains("GET http://page.test/trains"), "{asked:?}");
        assert_eq!(site.count(), 0, "nothing was fetched before the yes");
        let answer = telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]);
        assert_eq!(answer, "Allowed.");
        wait::until_true("the chat is told", || {
            telegram.sent().iter().any(|sent| sent.text.contains("The 9:15 is late."))
        });
        assert_eq!(site.count(), 1);
        system.wait_until_all_is_sent();
    });
}
