//! Two models as one: the second answers when the first fails in a way that another model can help.
//!
//! It keeps no state between requests: the first model is always asked first. A refused key or request
//! stays an error, because a second model must not hide a wrong setting.

use super::{Model, ModelError, ModelErrorClass, Reply, ReplyFuture, Request};

pub(crate) struct Fallback {
    pub(crate) first: Box<dyn Model>,
    pub(crate) second: Box<dyn Model>,
}

impl Fallback {
    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let failure = match self.first.reply(request).await {
            Err(failure) if can_help(failure.class) => failure,
            end => return end,
        };
        let (class, detail) = (failure.class.as_str(), &failure.detail);
        tracing::warn!(class, detail, model = self.second.name(), "asking the second model");
        match self.second.reply(request).await {
            Ok(reply) => {
                let model_name = reply.model_name.or_else(|| Some(self.second.name().to_owned()));
                Ok(Reply { model_name, ..reply })
            }
            Err(other) => Err(combined(failure, other)),
        }
    }
}

impl Model for Fallback {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}

fn can_help(class: ModelErrorClass) -> bool {
    match class {
        ModelErrorClass::RateLimit
        | ModelErrorClass::Overloaded
        | ModelErrorClass::ContextTooLong
        | ModelErrorClass::Network
        | ModelErrorClass::Stalled
        | ModelErrorClass::InvalidReply => true,
        ModelErrorClass::Auth | ModelErrorClass::BadRequest => false,
    }
}

/// The first model's error, unless only the second's can pass on a retry.
fn combined(first: ModelError, second: ModelError) -> ModelError {
    let (mut told, other) = if second.class.is_transient() && !first.class.is_transient() {
        (second, first)
    } else {
        (first, second)
    };
    told.detail = format!("{}; the other model: {}", told.detail, other.detail);
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scripted::Scripted;

    async fn ask(first: &str, second: &str) -> Result<Reply, ModelError> {
        let model = |script| Box::new(Scripted::new(script).unwrap());
        let fallback = Fallback { first: model(first), second: model(second) };
        fallback.ask(Request { system: "", messages: &[], tools: &[] }).await
    }

    #[tokio::test]
    async fn the_second_model_answers_when_it_can_help_and_is_named() {
        for class in ModelErrorClass::ALL {
            let end = ask(&format!("err:{}", class.as_str()), "msg:second").await;
            match end {
                Ok(reply) => assert_eq!(reply.model_name.as_deref(), Some("scripted")),
                Err(error) => {
                    assert!(matches!(error.class, ModelErrorClass::Auth | ModelErrorClass::BadRequest))
                }
            }
        }
    }

    #[tokio::test]
    async fn the_second_model_is_not_asked_while_the_first_answers() {
        assert_eq!(ask("msg:first", "err:auth").await, Ok(Reply::answer("first")));
    }

    #[tokio::test]
    async fn when_both_fail_the_transient_error_is_reported() {
        for (first, second, told) in [
            ("rate_limit", "network", ModelErrorClass::RateLimit),
            ("context_too_long", "overloaded", ModelErrorClass::Overloaded),
            ("context_too_long", "auth", ModelErrorClass::ContextTooLong),
            ("stalled", "auth", ModelErrorClass::Stalled),
        ] {
            let error = ask(&format!("err:{first}"), &format!("err:{second}")).await.unwrap_err();
            assert_eq!(error.class, told, "{first}, {second}");
        }
    }
}
