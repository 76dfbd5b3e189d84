//! A third channel, which exists in tests only: it shows that a channel needs nothing outside its own code
//! and the list.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protocol::ReplyFormat;
use tokio_util::sync::CancellationToken;

use super::inbound::Inbound;
use super::pace::SharedPace;
use super::sender;
use crate::channel::{
    BoxFuture, Channel, ChannelName, Channels, Chat, Content, Delivery, Rejection, SendLimits, SendOutcome,
};
use crate::store::attempt;
use crate::store::claim::{self, Claim};
use crate::store::fixture::{self, Fixture};
use crate::store::inbox::{self, IncomingMessage};

const NAME: ChannelName = ChannelName::new("fake");

/// Receives one message, decorates each line of a reply, and fails the first attempt to send each message.
struct Fake {
    inbound: Inbound,
    sent: Arc<Mutex<Vec<(String, String)>>>,
}

impl Channel for Fake {
    fn name(&self) -> ChannelName {
        NAME
    }

    fn delivery(&self) -> Delivery {
        Delivery::Push
    }

    fn receive(&self, _: CancellationToken) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let text = "hello".to_owned();
            let incoming = IncomingMessage {
                chat: Chat::new(NAME, "a:7"),
                update_id: None,
                message_id: None,
                text,
                origin: None,
            };
            let run = self.inbound.run.clone();
            self.inbound.store.write(move |tx| inbox::enqueue(tx, &incoming, &run)).await.unwrap();
        })
    }

    fn decorate(&self, reply: &str, _: ReplyFormat) -> Vec<Content> {
        reply.lines().map(|line| Content::Text(format!("» {line}"))).collect()
    }

    fn prepare(&self, _: &str, content: Content) -> Result<Vec<Content>, Rejection> {
        Ok(vec![content])
    }

    fn send<'a>(
        &'a self,
        chat_id: &'a str,
        content: &'a Content,
        attempt: u32,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(async move {
            if attempt == 1 {
                return SendOutcome::Retry { error: "busy".to_owned(), pause: Duration::ZERO };
            }
            self.sent.lock().unwrap().push((chat_id.to_owned(), content.text().to_owned()));
            SendOutcome::Sent { message_id: None }
        })
    }
}

#[tokio::test]
async fn a_new_channel_receives_a_message_and_sends_its_decorated_reply() {
    let fixture = Fixture::new().await;
    let (store, run) = (fixture.store.clone(), fixture.run.clone());
    let inbound = Inbound {
        store: store.clone(),
        run: run.clone(),
        cancel_signal: Default::default(),
        file_requests: Default::default(),
        models: Default::default(),
        limits: Default::default(),
        board: Default::default(),
        approvals: None,
        files: None,
        files_came: Default::default(),
    };
    let sent = Arc::default();
    let fake: Arc<dyn Channel> = Arc::new(Fake { inbound, sent: Arc::clone(&sent) });
    let (channels, stop) = (Channels::new([fake.clone()]), CancellationToken::new());

    fake.receive(stop.clone()).await;
    let claimed = store.write(move |tx| claim::claim(tx, Duration::from_secs(60), &run)).await.unwrap();
    let Claim::Task(task) = claimed else { panic!("{claimed:?}") };
    assert_eq!(task.chat.session().as_str(), "fake:a:7");
    let ending = fixture::done("one\ntwo");
    store.write(move |tx| attempt::end(tx, &channels, &task, &ending)).await.unwrap();

    let sending = tokio::spawn(sender::send_queued(
        fake,
        store.clone(),
        SharedPace::new(SendLimits::NONE),
        stop.clone(),
    ));
    let mut changes = store.changes();
    while fixture.column::<i64>("select count(*) from outbox where state = 'sent'").await != [2] {
        changes.changed().await.unwrap();
    }
    stop.cancel();
    sending.await.unwrap();
    let expected = ["» one", "» two"].map(|text| ("a:7".to_owned(), text.to_owned()));
    assert_eq!(*sent.lock().unwrap(), expected);
}
