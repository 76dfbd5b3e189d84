//! What the routes share.

use std::sync::Arc;

use bytes::Bytes;
use cage::command::Commands;
use files::output_store::OutputStore;
use http_port::Access;
use toolkit::Runner;
use toolkit::approvals::Approvals;

use super::catalogue::Catalogues;
use super::live_calls::LiveCalls;
use crate::journal::Journal;
use crate::metrics::Meters;
use crate::service_report::ServiceReport;
use crate::supervisor_link::FarSupervisor;
use crate::tokens::Tokens;
use crate::vitals::Vitals;

/// What the routes share.
pub struct AppState {
    /// Runs the calls.
    pub runner: Arc<Runner>,
    /// Who may come in.
    pub access: Arc<Access>,
    /// The named tokens; none without a file of them.
    pub tokens: Option<Arc<Tokens>>,
    /// What waits for a person, and what was decided; none without an approver's token.
    pub approvals: Option<Arc<Approvals>>,
    /// The supervisor of another machine; none where none may connect.
    pub supervisor: Option<Arc<FarSupervisor>>,
    /// The records of all calls.
    pub journal: Arc<Journal>,
    /// The outputs that answers have no room for.
    pub output: Arc<OutputStore>,
    /// What `/readyz` and `/capabilities` report.
    pub report: ServiceReport,
    /// What can fail meanwhile.
    pub vitals: Arc<Vitals>,
    /// Know what keeps them from running.
    pub commands: Arc<Commands>,
    /// What the server counts.
    pub meters: Arc<Meters>,
    /// Whether `/metrics` needs no token.
    pub has_public_metrics: bool,
    /// The OpenAPI document, made at the start.
    pub openapi: Bytes,
    /// The calls that come over MCP.
    pub mcp: Arc<mcp::HttpFace>,
    /// The calls whose output is sent as it comes.
    pub live: Arc<LiveCalls>,
    /// The catalogues, made at the start.
    pub catalogue: Catalogues,
}
