//! `/changes` in the OpenAPI document.

use files::change::UndoData;
use serde_json::json;
use toolkit::openapi::{ApiDocument, answer, named, refusal, schema};
use utoipa::openapi::ContentBuilder;
use utoipa::openapi::Required;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;

const PATH: &str = "/changes/{call_id}/undo";

const ABOUT: &str = "Undoes what a call of `write`, `edit`, `multi_edit`, `delete` or `PUT /files` did: what \
     was replaced or removed comes back, what was created is removed. Only its session and token, or an \
     approver, may do it, for a week, and as long as the file is as the call left it. An undo is a change of \
     its own and can be undone. What commands changed cannot.";

pub(super) fn add_to(document: &mut ApiDocument) {
    document.add_result_of::<UndoData>("Undo", &["success", "partial"]);
    let call_id = ParameterBuilder::new()
        .name("call_id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("`meta.call_id` of the answer to the call that made the change."))
        .schema(Some(schema(json!({"type": "string"}))));
    let body = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "dry_run": {"type": "boolean", "default": false, "description": "Whether to change nothing."},
            "accept_undone": {
                "type": "boolean",
                "default": false,
                "description": "Whether a change that is undone already is a success and no CONFLICT.",
            },
        },
    });
    let body = ContentBuilder::new().schema(Some(schema(body))).build();
    let body = RequestBodyBuilder::new().required(Some(Required::False)).content("application/json", body);
    let failure = |about: &str| answer(about, named("ToolFailure")).build();
    let operation = OperationBuilder::new()
        .operation_id(Some("undoChange"))
        .tag("files")
        .summary(Some("Undo a change"))
        .description(Some(ABOUT))
        .parameter(call_id)
        .request_body(Some(body.build()))
        .response("200", answer("The change is undone.", named("UndoResult")))
        .response("400", refusal(400))
        .response("401", refusal(401))
        .response("403", refusal(403))
        .response("404", failure("Nothing is kept of such a change for this caller: NOT_FOUND."))
        .response("409", failure("The file is not as the call left it: CONFLICT."))
        .response("413", refusal(413))
        .response("415", refusal(415))
        .response("500", refusal(500))
        .response("503", refusal(503))
        .response("504", refusal(504));
    document.add_operation(PATH, HttpMethod::Post, operation);
}
