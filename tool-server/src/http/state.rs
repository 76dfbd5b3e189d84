//! What the routes share.

use std::sync::Arc;

use bytes::Bytes;
use cage::obstacle::Obstacle;
use http_port::Access;
use toolkit::Runner;
use toolkit::approvals::Approvals;

use super::catalogue::Catalogues;
use super::live_calls::LiveCalls;
use crate::service_report::ServiceReport;
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
    /// What `/readyz` and `/capabilities` report.
    pub report: ServiceReport,
    /// What can fail meanwhile.
    pub vitals: Arc<Vitals>,
    /// Looks for what keeps commands from running.
    pub obstacle: Arc<dyn Fn() -> Option<Obstacle> + Send + Sync>,
    /// The OpenAPI document, made at the start.
    pub openapi: Bytes,
    /// The calls that come over MCP.
    pub mcp: Arc<mcp::HttpFace>,
    /// The calls whose output is sent as it comes.
    pub live: Arc<LiveCalls>,
    /// The catalogues, made at the start.
    pub catalogue: Catalogues,
}
