//! `/effects` in the OpenAPI document.

use serde_json::json;
use toolkit::openapi::{
    ApiDocument, body, failure, for_approvers, parameter, schema, text_answer, with_refusals,
};
use utoipa::openapi::path::{HttpMethod, ParameterIn};
use utoipa::openapi::{Required, Response};

const ABOUT_STREAM: &str = "What tools ask of the supervisor, as server-sent events `effect`: for a \
     supervisor on another machine, with `AUTONOUS_TOOL_SUPERVISED`. The data of each is the request as \
     JSON, the `id` its number. A new stream begins with all requests that wait for an answer, and ends an \
     earlier stream. Needs the approver's token.";

const ABOUT_FILE: &str = "A file that a request is about, as it was when its call was let through.";

const ABOUT_ANSWER: &str = "Answers a request: `{\"Ok\": …}`, or `{\"Err\": …}` with an error.";

pub(super) fn add_to(document: &mut ApiDocument) {
    let operation = |id, summary, about| for_approvers("effects", id, summary, about);
    let without = || failure("This server takes no supervisor of another machine: NOT_FOUND.");
    let missing = || failure("No such request waits for an answer: NOT_FOUND.");
    let number = || parameter(ParameterIn::Path, "number", "The number of the request.");
    let stream = operation("streamEffects", "Follow requests to the supervisor", ABOUT_STREAM)
        .response("200", text_answer("The requests.", "text/event-stream"))
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
        .response("200", text_answer("The file's bytes.", "application/octet-stream"))
        .response("404", missing());
    document.add_operation("/effects/{number}/files/{index}", HttpMethod::Get, with_refusals(file, [500]));
}
