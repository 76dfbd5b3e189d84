//! Several models as one: the next one answers when those before fail in a way that another model can help.
//!
//! It keeps no state between requests: the first model is always asked first. A refused key or request
//! stays an error, because another model must not hide a wrong setting. A model whose window is too small
//! for the conversation is passed over.

use super::{Model, ModelError, ModelErrorClass, Reply, ReplyFuture, Request};

pub(crate) struct Fallback {
    pub(crate) first: Box<dyn Model>,
    /// In the order in which they are asked.
    pub(crate) others: Vec<Candidate>,
    /// The estimated size of a request, in tokens.
    pub(crate) size: fn(&Request<'_>) -> usize,
}

/// A model behind the first, and its window.
pub(crate) struct Candidate {
    pub(crate) model: Box<dyn Model>,
    pub(crate) context_tokens: usize,
}

impl Fallback {
    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let mut failure = match self.first.reply(request).await {
            Err(failure) if can_help(failure.class) => failure,
            end => return end,
        };
        for Candidate { model, context_tokens } in &self.others {
            let (class, detail, model_name) = (failure.class.as_str(), &failure.detail, model.name());
            let tokens = (self.size)(&request);
            if tokens > *context_tokens {
                tracing::warn!(
                    model = model_name,
                    tokens,
                    context_tokens,
                    "its window is too small; passing it over"
                );
                continue;
            }
            tracing::warn!(class, detail, model = model_name, "asking another model");
            match model.reply(request).await {
                Ok(reply) => {
                    let model_name = reply.model_name.or_else(|| Some(model_name.to_owned()));
                    return Ok(Reply { model_name, provider: Some(model.provider()), ..reply });
                }
                Err(other) if can_help(other.class) => failure = combined(failure, other),
                Err(other) => return Err(combined(failure, other)),
            }
        }
        Err(failure)
    }
}

impl Model for Fallback {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn provider(&self) -> &'static str {
        self.first.provider()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}

fn can_help(class: ModelErrorClass) -> bool {
    class.is_transient() || class == ModelErrorClass::ContextTooLong
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

    /// Asks scripted models, of which the others have these windows.
    async fn ask_with(
        first: &str,
        others: Vec<(&str, usize)>,
        size: fn(&Request<'_>) -> usize,
    ) -> Result<Reply, ModelError> {
        let model = |script| Box::new(Scripted::new(script).unwrap());
        let others = others
            .into_iter()
            .map(|(script, context_tokens)| Candidate { model: model(script), context_tokens });
        let fallback = Fallback { first: model(first), others: others.collect(), size };
        fallback.ask(Request::default()).await
    }

    async fn ask(first: &str, second: &str) -> Result<Reply, ModelError> {
        let others = second.split('|').map(|script| (script, 100));
        ask_with(first, others.collect(), |_| 0).await
    }

    #[tokio::test]
    async fn the_second_model_answers_when_it_can_help_and_is_named() {
        for class in ModelErrorClass::ALL {
            let end = ask(&format!("err:{}", class.as_str()), "msg:second").await;
            match end {
                Ok(reply) => assert_eq!(reply.model_name.as_deref(), Some("scripted")),
                Err(error) => assert!(!can_help(error.class) && !error.class.is_transient()),
            }
        }
    }

    #[tokio::test]
    async fn the_second_model_is_not_asked_while_the_first_answers() {
        assert_eq!(ask("msg:first", "err:auth").await, Ok(Reply::answer("first")));
    }

    #[tokio::test]
    async fn the_models_are_asked_in_their_order_until_one_answers() {
        for (others, expected) in [
            ("msg:second|msg:third", Ok("second")),
            ("err:overloaded|msg:third", Ok("third")),
            ("err:auth|msg:third", Err(ModelErrorClass::RateLimit)),
        ] {
            let end = ask("err:rate_limit", others).await;
            assert_eq!(end.map(|reply| reply.text).map_err(|error| error.class), expected.map(str::to_owned));
        }
    }

    #[tokio::test]
    async fn a_model_whose_window_is_too_small_is_passed_over() {
        let others = vec![("msg:small", 90), ("msg:large", 200)];
        assert_eq!(ask_with("err:overloaded", others, |_| 100).await.unwrap().text, "large");
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
