//! `/approvals` in the OpenAPI document.

use serde_json::json;
use toolkit::approvals::{Approval, NewDecision};
use toolkit::openapi::{
    ApiDocument, answer, body, failure, for_approvers, named, parameter, schema, text_answer, with_refusals,
};
use utoipa::openapi::Required;
use utoipa::openapi::path::{HttpMethod, ParameterIn};

use super::approvals::ApprovalList;

const ABOUT_LIST: &str = "The calls that wait for a person, and those that were decided in the last day. All \
     routes below `/approvals` need the approver's token, with which nothing can be called.";

const ABOUT_DECIDE: &str = "Allows or denies a call. The first decision counts. A yes with the scope `call` \
     is used up by the call; `task` and `chat` also hold for further calls of the tool that the same rule \
     asks about.";

const ABOUT_STREAM: &str = "What happens to approvals from now on, as server-sent events `requested`, \
     `decided`, `expired` and `used`, each with the approval as its data.";

pub(super) fn add_to(document: &mut ApiDocument) {
    let operation = |id, summary, about| for_approvers("approvals", id, summary, about);
    document.add_schema::<Approval>("Approval");
    document.add_schema::<ApprovalList>("ApprovalList");
    document.add_schema::<NewDecision>("NewDecision");
    let state = parameter(ParameterIn::Query, "state", "Only those that wait, or only the others.")
        .schema(Some(schema(json!({"type": "string", "enum": ["pending", "decided"]}))));
    let list = operation("listApprovals", "List approvals", ABOUT_LIST)
        .parameter(state)
        .response("200", answer("The approvals, the oldest first.", named("ApprovalList")));
    document.add_operation("/approvals", HttpMethod::Get, with_refusals(list, [400]));
    let stream = operation("streamApprovals", "Follow approvals", ABOUT_STREAM)
        .response("200", text_answer("The events.", "text/event-stream"));
    document.add_operation("/approvals/stream", HttpMethod::Get, stream);
    let id = || parameter(ParameterIn::Path, "id", "The approval's ID.");
    let missing = || failure("There is no such approval: NOT_FOUND.");
    let one = operation("getApproval", "Look at an approval", "A call that a person is asked about.")
        .parameter(id())
        .response("200", answer("The approval.", named("Approval")))
        .response("404", missing());
    document.add_operation("/approvals/{id}", HttpMethod::Get, one);
    let decide = operation("decideApproval", "Decide", ABOUT_DECIDE)
        .parameter(id())
        .request_body(Some(body("application/json", named("NewDecision"), Required::True)))
        .response("200", answer("The approval with the decision.", named("Approval")))
        .response("404", missing())
        .response("409", failure("It was decided before, or has expired: APPROVAL_DECIDED."));
    document.add_operation("/approvals/{id}", HttpMethod::Post, with_refusals(decide, [400, 413, 415, 500]));
}
