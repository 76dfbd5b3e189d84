//! `/changes` in the OpenAPI document.

use files::change::UndoData;
use serde_json::json;
use toolkit::openapi::{
    ApiDocument, answer, body, failure, named, operation, parameter, schema, with_refusals,
};
use utoipa::openapi::Required;
use utoipa::openapi::path::{HttpMethod, ParameterIn};

const PATH: &str = "/changes/{call_id}/undo";

const ABOUT: &str = "Undoes what a call of `write`, `edit`, `multi_edit`, `delete` or `PUT /files` did: what \
     was replaced or removed comes back, what was created is removed. Only its session and token, or an \
     approver, may do it, for a week, and as long as the file is as the call left it. An undo is a change of \
     its own and can be undone. What commands changed cannot.";

pub(super) fn add_to(document: &mut ApiDocument) {
    document.add_result_of::<UndoData>("Undo", &["success", "partial"]);
    let arguments = json!({
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
    let call_id = "`meta.call_id` of the answer to the call that made the change.";
    let undo = operation("files", "undoChange", "Undo a change", ABOUT)
        .parameter(parameter(ParameterIn::Path, "call_id", call_id))
        .request_body(Some(body("application/json", schema(arguments), Required::False)))
        .response("200", answer("The change is undone.", named("UndoResult")))
        .response("404", failure("Nothing is kept of such a change for this caller: NOT_FOUND."))
        .response("409", failure("The file is not as the call left it: CONFLICT."));
    let undo = with_refusals(undo, [400, 401, 403, 413, 415, 500, 503, 504]);
    document.add_operation(PATH, HttpMethod::Post, undo);
}
