//! Why a path is refused.

use protocol::{ErrorCode, ToolError};
use rustix::io::Errno;
use toolkit::arguments::elide;

pub(super) fn outside(path: &str) -> ToolError {
    refused(ErrorCode::PathOutsideRoots, path, "leads outside the allowed roots")
}

pub(super) fn path_denied(path: &str) -> ToolError {
    refused(ErrorCode::PathDenied, path, "is denied by AUTONOUS_TOOL_DENY_PATHS")
}

/// What an errno of opening a path means for the caller.
pub(super) fn open_error(path: &str, errno: Errno) -> ToolError {
    let (code, what) = match errno {
        Errno::XDEV => return outside(path),
        Errno::NOENT => (ErrorCode::NotFound, "does not exist"),
        Errno::NOTDIR => (ErrorCode::NotADirectory, "is not a directory, or a part of it is not"),
        Errno::ISDIR => (ErrorCode::IsDirectory, "is a directory"),
        Errno::LOOP => (ErrorCode::NotFound, "leads through a loop of links, so nothing is there"),
        Errno::ACCESS | Errno::PERM => {
            (ErrorCode::PermissionDenied, "is not accessible to the server's user")
        }
        Errno::NXIO | Errno::NODEV => (ErrorCode::NotARegularFile, "is a pipe, a socket or a device"),
        Errno::NAMETOOLONG => (ErrorCode::InvalidArgument, "has a name longer than 255 bytes"),
        other => {
            tracing::error!(path, errno = %other, "could not open a path");
            (ErrorCode::IoError, "could not be opened")
        }
    };
    refused(code, path, what)
}

pub(super) fn refused(code: ErrorCode, path: &str, why: &str) -> ToolError {
    ToolError::new(code, format!("The path {:?} {why}.", elide(path, 200)))
}
