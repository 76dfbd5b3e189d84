//! `/approvals` in the OpenAPI document.

use serde_json::json;
use toolkit::approvals::{Approval, NewDecision};
use toolkit::openapi::{ApiDocument, answer, named, refusal, schema};
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{ContentBuilder, Required, ResponseBuilder};

use super::approvals::ApprovalList;

const ABOUT_LIST: &str = "The calls that wait for a person, and those that were decided in the last day. All \
     routes below `/approvals` need the approver's token, with which nothing can be called.";

const ABOUT_DECIDE: &str = "Allows or denies a call. The first decision counts. A yes with the scope `call` \
     is used up by the call; `task` and `chat` also hold for further calls of the tool that the same rule \
     asks about.";

const ABOUT_STREAM: &str = "What happens to approvals from now on, as server-sent events `requested`, \
     `decided`, `expired` and `used`, each with the approval as its data.";

pub(super) fn add_to(document: &mut ApiDocument) {
    document.add_schema::<Approval>("Approval");
    document.add_schema::<ApprovalList>("ApprovalList");
    document.add_schema::<NewDecision>("NewDecision");
    let state = ParameterBuilder::new()
        .name("state")
        .parameter_in(ParameterIn::Query)
        .description(Some("Only those that wait, or only the others."))
        .schema(Some(schema(json!({"type": "string", "enum": ["pending", "decided"]}))));
    let list = operation("listApprovals", "List approvals", ABOUT_LIST)
        .parameter(state)
        .response("200", answer("The approvals, the oldest first.", named("ApprovalList")))
        .response("400", refusal(400));
    document.add_operation("/approvals", HttpMethod::Get, list);
    let events = ContentBuilder::new().schema(Some(schema(json!({"type": "string"})))).build();
    let events = ResponseBuilder::new().description("The events.").content("text/event-stream", events);
    let stream =
        operation("streamApprovals", "Follow approvals", ABOUT_STREAM).response("200", events.build());
    document.add_operation("/approvals/stream", HttpMethod::Get, stream);
    let missing = || answer("There is no such approval: NOT_FOUND.", named("ToolFailure")).build();
    let one = operation("getApproval", "Look at an approval", "A call that a person is asked about.")
        .parameter(id())
        .response("200", answer("The approval.", named("Approval")))
        .response("404", missing());
    document.add_operation("/approvals/{id}", HttpMethod::Get, one);
    let body = ContentBuilder::new().schema(Some(named("NewDecision"))).build();
    let body = RequestBodyBuilder::new().required(Some(Required::True)).content("application/json", body);
    let decided = answer("It was decided before, or has expired: APPROVAL_DECIDED.", named("ToolFailure"));
    let decide = operation("decideApproval", "Decide", ABOUT_DECIDE)
        .parameter(id())
        .request_body(Some(body.build()))
        .response("200", answer("The approval with the decision.", named("Approval")))
        .response("400", refusal(400))
        .response("404", missing())
        .response("409", decided)
        .response("413", refusal(413))
        .response("415", refusal(415))
        .response("500", refusal(500));
    document.add_operation("/approvals/{id}", HttpMethod::Post, decide);
}

fn operation(id: &str, summary: &str, about: &str) -> OperationBuilder {
    OperationBuilder::new()
        .operation_id(Some(id))
        .tag("approvals")
        .summary(Some(summary))
        .description(Some(about))
        .response("401", refusal(401))
        .response("403", refusal(403))
        .response("503", refusal(503))
}

fn id() -> Parameter {
    ParameterBuilder::new()
        .name("id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The approval's ID."))
        .schema(Some(schema(json!({"type": "string"}))))
        .build()
}
