//! Answers the requests of clients: what the server is, its tools, and the calls.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use toolkit::Runner;
use toolkit::approvals::Approvals;

use crate::asking::{self, Asking};
use crate::catalogue::Catalogue;
use crate::{Caller, answer, call};

/// The name that clients read.
const NAME: &str = "autonous-tool-server";

/// The server as clients see it. One serves them all.
pub struct Handler {
    runner: Arc<Runner>,
    catalogue: Catalogue,
    /// Who calls, where no message says it.
    caller: Option<Caller>,
    /// Asks the users of clients, where the operator has said that they decide.
    asking: Option<Asking>,
}

impl Handler {
    /// A handler for clients each of whose messages comes with its caller.
    pub fn new(runner: Arc<Runner>) -> Self {
        Self { catalogue: Catalogue::new(Arc::clone(&runner)), runner, caller: None, asking: None }
    }

    /// The same for a client that is the only one.
    #[must_use]
    pub fn for_only(self, caller: Caller) -> Self {
        Self { caller: Some(caller), ..self }
    }

    /// The same where the user of each client decides about its calls that wait for a person.
    #[must_use]
    pub fn asking_users(self, approvals: Arc<Approvals>) -> Self {
        Self { asking: Some(Asking::new(approvals)), ..self }
    }

    fn caller<'a>(&'a self, context: &'a RequestContext<RoleServer>) -> Result<&'a Caller, ErrorData> {
        let sent = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>());
        sent.or(self.caller.as_ref())
            .ok_or_else(|| ErrorData::internal_error("The caller is not known.", None))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(NAME, env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&context)?;
        Ok(self.catalogue.of(&caller.session(&context), caller.grant()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let session = caller.session(&context);
        let asking = self.asking.as_ref().filter(|_| Asking::can_ask(&context));
        if let Some(asking) = asking {
            asking.take(&params, &session, &context).await;
        }
        let arguments = params.arguments.as_ref().map_or_else(|| Ok(b"{}".to_vec()), serde_json::to_vec);
        let arguments =
            arguments.map_err(|_| ErrorData::invalid_params("The arguments are no JSON.", None))?;
        let run = || {
            let mut request = caller.call(&params.name, arguments.clone(), session.clone());
            if asking.is_some() {
                // The user is asked at once.
                request.wait = Duration::ZERO;
            }
            call::run(&self.runner, request, &context)
        };
        let Some(mut envelope) = run().await else { return Ok(answer::cancelled().into()) };
        if let Some((asking, approval)) = asking.and_then(|asking| Some((asking, asking.waiting(&envelope)?)))
        {
            if asking::asks_in_results(&context) {
                return Ok(CallToolResponse::InputRequired(asking::question(&approval)));
            }
            if asking.ask(&approval, &context).await {
                let Some(decided) = run().await else { return Ok(answer::cancelled().into()) };
                envelope = decided;
            }
        }
        answer::result(&envelope).map(CallToolResponse::Complete)
    }
}
