//! A channel for tests: it writes to the chats 7, 8 and 9 alone, and receives nothing.

use std::sync::Arc;

use channel::update_sink::UpdateSink;
use channel::{
    Access, BoxFuture, Channel, ChannelName, Channels, Content, Delivery, Outgoing, Rejection, SendOutcome,
};
use protocol::ReplyFormat;
use store::fixture::CHANNEL;
use texts::Language;
use tokio_util::sync::CancellationToken;

struct TestChannel(Access);

/// This channel alone.
pub(crate) fn channels(access: Access) -> Channels {
    Channels::new([Arc::new(TestChannel(access)) as Arc<dyn Channel>])
}

impl Channel for TestChannel {
    fn name(&self) -> ChannelName {
        CHANNEL
    }

    fn delivery(&self) -> Delivery {
        Delivery::Push
    }

    fn access(&self) -> &Access {
        &self.0
    }

    fn receive(self: Arc<Self>, _: Box<dyn UpdateSink>, _: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn decorate(&self, reply: &str, _: ReplyFormat, _: Language) -> Vec<Content> {
        vec![Content::Text(reply.to_owned())]
    }

    fn prepare(&self, chat_id: &str, content: Content) -> Result<Vec<Content>, Rejection> {
        match chat_id {
            "7" | "8" | "9" => Ok(vec![content]),
            _ => Err(Rejection::ChatNotAllowed { hint: "no" }),
        }
    }

    fn send<'a>(&'a self, _: Outgoing<'a>) -> BoxFuture<'a, SendOutcome> {
        Box::pin(std::future::ready(SendOutcome::Sent { message_ids: vec![1.into()] }))
    }
}
