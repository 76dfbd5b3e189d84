//! Which programs read a setting, and what the supervisor does with it for its children.

use crate::row::Program::{self, Supervisor, ToolServer, Worker};
use crate::row::{FromSupervisor, Readers};

const fn read_by(programs: &'static [Program], children_get: FromSupervisor) -> Readers {
    Readers { programs, children_get }
}

pub(crate) const OWN: Readers = read_by(&[Supervisor], FromSupervisor::Nothing);
pub(crate) const EVERYBODY: Readers = read_by(&[Supervisor, ToolServer, Worker], FromSupervisor::PassedOn);
pub(crate) const PLACE: Readers = read_by(&[Supervisor, ToolServer], FromSupervisor::Decided);
pub(crate) const TOOLS: Readers = read_by(&[ToolServer], FromSupervisor::PassedOn);
pub(crate) const TOOLS_AND_OWN: Readers = read_by(&[ToolServer, Supervisor], FromSupervisor::PassedOn);
pub(crate) const TOOLS_AND_ALL: Readers =
    read_by(&[ToolServer, Supervisor, Worker], FromSupervisor::PassedOn);
pub(crate) const TOOLS_PLACE: Readers = read_by(&[ToolServer], FromSupervisor::Decided);
pub(crate) const ROOTS: Readers = read_by(&[ToolServer, Supervisor], FromSupervisor::Decided);
pub(crate) const TOOL_KEY: Readers = read_by(&[ToolServer, Worker, Supervisor], FromSupervisor::Decided);
pub(crate) const WORKERS_OWN: Readers = read_by(&[Worker], FromSupervisor::PassedOn);
pub(crate) const MODEL: Readers = read_by(&[Worker, Supervisor], FromSupervisor::PassedOn);
pub(crate) const WORKER_PLACE: Readers = read_by(&[Worker, Supervisor], FromSupervisor::Decided);
