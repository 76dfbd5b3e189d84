//! Asks the user of a client about a call that a person must allow, where the operator has said that this
//! user decides.
//!
//! Since revision 2026-07-28 the question is the result of the call, and the client sends the call again with
//! what its user said. In an older one it is a request of ours while the call waits. Both become a decision
//! about one approval and no other: for this call, which the runner then judges once more.

use std::sync::Arc;
use std::time::Duration;

use protocol::approval::{ApprovalDecision, ApprovalScope};
use protocol::{Envelope, ErrorCode, EventId, SessionId, now_ms};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::RequestContext;
use toolkit::approvals::{Approval, ApprovalState, Approvals, NewDecision};

use crate::caller::is_of_a_client;

/// The name of the question among those of a result.
const QUESTION: &str = "approval";

/// The field of the form with the answer.
const ALLOW: &str = "allow";

/// Approvals that the users of clients decide about, each about the calls of its own client.
pub(crate) struct Asking(Arc<Approvals>);

impl Asking {
    pub(crate) fn new(approvals: Arc<Approvals>) -> Self {
        Self(approvals)
    }

    /// Whether the client can show its user a form.
    pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
        let elicitation = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
        elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Takes what the user has said about the call, if it is sent again with that.
    pub(crate) async fn take(
        &self,
        params: &CallToolRequestParams,
        session: &SessionId,
        context: &RequestContext<RoleServer>,
    ) {
        let answer = params.input_responses.as_ref().and_then(|responses| responses.get(QUESTION));
        let Some((state, answer)) = params.request_state.as_ref().zip(answer) else { return };
        let Ok(said) = serde_json::from_value::<ElicitResult>(answer.clone()) else { return };
        let known = state.parse::<EventId>().ok().and_then(|id| self.0.get(&id));
        let asked = known.filter(|one| one.tool == params.name && one.session == *session && can_decide(one));
        if let Some(approval) = asked {
            self.decide(&approval, &said, context).await;
        }
    }

    /// The approval that a call waits for and that its user may decide about.
    pub(crate) fn waiting(&self, envelope: &Envelope) -> Option<Arc<Approval>> {
        if envelope.error_code() != Some(ErrorCode::ApprovalRequired) {
            return None;
        }
        let id: EventId = envelope.meta.data["approval_id"].as_str()?.parse().ok()?;
        self.0.get(&id).filter(|approval| can_decide(approval))
    }

    /// Whether the call is to be run again, because its user has decided about it meanwhile.
    pub(crate) async fn ask(&self, approval: &Approval, context: &RequestContext<RoleServer>) -> bool {
        let left = u64::try_from(approval.expires_at_ms.saturating_sub(now_ms())).unwrap_or(0);
        let said = tokio::select! {
            said = context.peer.create_elicitation(form(approval)) => said.ok(),
            () = context.ct.cancelled() => None,
            () = tokio::time::sleep(Duration::from_millis(left)) => None,
        };
        match said {
            Some(said) => self.decide(approval, &said, context).await,
            None => false,
        }
    }

    /// True if that was a decision. Somebody else may have decided before; the first one counts.
    async fn decide(
        &self,
        approval: &Approval,
        said: &ElicitResult,
        context: &RequestContext<RoleServer>,
    ) -> bool {
        let Some(decision) = decision(said) else { return false };
        let new = NewDecision {
            decision,
            scope: ApprovalScope::default(),
            until_ms: None,
            reason: None,
            by: Some(format!("the user of {}", client(context))),
            answer: None,
        };
        let (approvals, id) = (Arc::clone(&self.0), approval.id.clone());
        let decided = tokio::task::spawn_blocking(move || approvals.decide(&id, new)).await;
        if let Ok(Err(error)) = &decided {
            tracing::warn!(?error, "a decision of a client's user was not taken");
        }
        decided.is_ok()
    }
}

/// The question as the result of a call of revision 2026-07-28.
pub(crate) fn question(approval: &Approval) -> InputRequiredResult {
    let question = InputRequest::Elicitation(ElicitRequest::new(form(approval)));
    let questions = InputRequests::from([(QUESTION.to_owned(), question)]);
    InputRequiredResult::new(Some(questions), Some(approval.id.to_string()))
}

/// Whether the revision asks in this way.
pub(crate) fn asks_in_results(context: &RequestContext<RoleServer>) -> bool {
    let revision = context.protocol_version();
    revision.is_some_and(|revision| revision.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Only about a call that came over MCP: the chats of a channel have their own approvers.
fn can_decide(approval: &Approval) -> bool {
    let is_open = approval.state == ApprovalState::Pending && approval.question.is_none();
    is_open && is_of_a_client(&approval.session)
}

/// A form that is closed without an answer is none.
fn decision(said: &ElicitResult) -> Option<ApprovalDecision> {
    match said.action {
        ElicitationAction::Accept => {
            let allowed = said.content.as_ref().and_then(|content| content[ALLOW].as_bool());
            Some(if allowed? { ApprovalDecision::Grant } else { ApprovalDecision::Deny })
        }
        ElicitationAction::Decline => Some(ApprovalDecision::Deny),
        _ => None,
    }
}

/// The whole call, as every approver sees it.
fn form(approval: &Approval) -> ElicitRequestParams {
    let Approval { tool, reason, preview, .. } = approval;
    let message = format!("`{tool}` needs your approval ({reason}). It would do this:\n\n{preview}");
    let about = |field: rmcp::model::BooleanSchema| field.title("Allow this one call");
    let requested_schema = ElicitationSchema::builder()
        .required_bool_with(ALLOW, about)
        .build()
        .expect("a required field that exists makes a schema");
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema }
}

fn client(context: &RequestContext<RoleServer>) -> String {
    let of_request = context.meta.client_info();
    let client = of_request.or_else(|| context.peer.peer_info().map(|info| info.client_info.clone()));
    client.map_or_else(|| "a client".to_owned(), |client| client.name.chars().take(100).collect())
}
