//! What the routes share.

use std::sync::Arc;

use bytes::Bytes;
use http_port::Access;
use toolkit::Runner;

use super::catalogue::Catalogue;
use crate::service_report::ServiceReport;

/// What the routes share.
pub struct AppState {
    /// Runs the calls.
    pub runner: Arc<Runner>,
    /// Who may come in.
    pub access: Arc<Access>,
    /// What `/readyz` and `/capabilities` report.
    pub report: ServiceReport,
    /// The OpenAPI document, made at the start.
    pub openapi: Bytes,
    /// The catalogue, made at the start.
    pub catalogue: Catalogue,
}
