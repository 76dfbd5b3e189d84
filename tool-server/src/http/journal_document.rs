//! `/journal` in the OpenAPI document.

use serde_json::json;
use toolkit::openapi::{
    ApiDocument, answer, failure, for_approvers, parameter, schema, text_answer, with_refusals,
};
use utoipa::openapi::path::{HttpMethod, ParameterIn};

const ABOUT_STREAM: &str = "The records of all calls from a place on, and then those to come, as server-sent \
     events `record`. The data of each is the record's line in the journal, byte by byte, so that its \
     SHA-256 is the `prev` of the next; the `id` is its number, which grows along the journal, with gaps. \
     Needs the approver's token.";

const ABOUT_ARGUMENTS: &str = "Arguments above 64 KiB, which are no part of their record. Their SHA-256 is \
     their name. Needs the approver's token.";

const ABOUT_OUTPUT: &str = "All that a command printed, up to 16 MiB, where its answer had no room for it. \
     Secrets are not replaced in it. Needs the approver's token.";

pub(super) fn add_to(document: &mut ApiDocument) {
    let operation = |id, summary, about| for_approvers("journal", id, summary, about);
    let number = || Some(schema(json!({"type": "integer", "minimum": 0, "default": 0})));
    let after = "The number of the last record that you have; 0 for all that are there. `Last-Event-ID` is \
                 the same, and comes first.";
    let follow = "Whether to wait for more at the end of the journal.";
    let stream = operation("streamJournal", "Read the journal", ABOUT_STREAM)
        .parameter(parameter(ParameterIn::Query, "after", after).schema(number()))
        .parameter(
            parameter(ParameterIn::Query, "follow", follow)
                .schema(Some(schema(json!({"type": "boolean", "default": true})))),
        )
        .response("200", text_answer("The records.", "text/event-stream"))
        .response("404", failure("No record of this journal has that number: NOT_FOUND."));
    document.add_operation("/journal", HttpMethod::Get, with_refusals(stream, [400, 500]));
    let one = operation("journalArguments", "Read large arguments", ABOUT_ARGUMENTS)
        .parameter(parameter(ParameterIn::Path, "name", "`arguments_file` of the record."))
        .response("200", answer("The arguments.", schema(json!({"type": "object"}))))
        .response("404", failure("The journal has no such arguments: NOT_FOUND."));
    document.add_operation("/journal/arguments/{name}", HttpMethod::Get, with_refusals(one, [500]));
    let output = operation("journalOutput", "Read a whole output", ABOUT_OUTPUT)
        .parameter(parameter(ParameterIn::Path, "name", "`output_file` of the record."))
        .response("200", text_answer("The output.", "application/octet-stream"))
        .response("404", failure("No such output is kept: NOT_FOUND."));
    document.add_operation("/journal/outputs/{name}", HttpMethod::Get, with_refusals(output, [500]));
}
