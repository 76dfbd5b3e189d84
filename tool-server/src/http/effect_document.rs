//! `/effects` in the OpenAPI document.

use serde_json::json;
use toolkit::openapi::{ApiDocument, body, failure, parameter, schema, with_refusals};
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterIn};
use utoipa::openapi::{ContentBuilder, Required, Response, ResponseBuilder};

const ABOUT_STREAM: &str = "What tools ask of the supervisor, as server-sent events `effect`: for a \
     supervisor on another machine, with `AUTONOUS_TOOL_SUPERVISED`. The data of each is the request as \
     JSON, the `id` its number. A new stream begins with all requests that wait for an answer, and ends an \
     earlier stream. Needs the approver's token.";

const ABOUT_FILE: &str = "A file that a request is about, as it was when its call was let through.";

const ABOUT_ANSWER: &str = "Answers a request: `{\"Ok\": …}`, or `{\"Err\": …}` with an error.";

pub(super) fn add_to(document: &mut ApiDocument) {
    let without = || failure("This server takes no supervisor of another machine: NOT_FOUND.");
    let missing = || failure("No such request waits for an answer: NOT_FOUND.");
    let number = || parameter(ParameterIn::Path, "number", "The number of the request.");
    let content = |kind: &str, media_type: &str, about: &str| {
        let content = ContentBuilder::new().schema(Some(schema(json!({"type": kind})))).build();
        ResponseBuilder::new().description(about).content(media_type, content).build()
    };
    let stream = operation("streamEffects", "Follow requests to the supervisor", ABOUT_STREAM)
        .response("200", content("string", "text/event-stream", "The requests."))
        .response("404", without());
    document.add_operation("/effects", HttpMethod::Get, stream);
    let answer = operation("answerEffect", "Answer a request", ABOUT_ANSWER)
        .parameter(number())
        .request_body(Some(body("application/json", schema(json!({"type": "object"})), Required::True)))
        .response("204", Response::new("The call has its answer."))
        .response("404", missing());
    document.add_operation("/effects/{number}", HttpMethod::Post, with_refusals(answer, [400, 413, 415]));
    let file = operation("effectFile", "Fetch a file of a request", ABOUT_FILE)
        .parameter(number())
        .parameter(parameter(ParameterIn::Path, "index", "Which file of the request, from 0."))
        .response("200", content("string", "application/octet-stream", "The file's bytes."))
        .response("404", missing());
    document.add_operation("/effects/{number}/files/{index}", HttpMethod::Get, with_refusals(file, [500]));
}

fn operation(id: &str, summary: &str, about: &str) -> OperationBuilder {
    with_refusals(toolkit::openapi::operation("effects", id, summary, about), [401, 403, 503])
}
