//! The processes that confine commands. None of them ever runs the server's code.
//!
//! ```text
//! spawner   one, forked when the server starts; holds the lifelines, and ends an init when its one closes
//!  └ init      per sandbox, the first process inside: sets up what the command sees, reaps, reports the end
//!     └ command   drops all rights, checks that they are gone, and executes the program
//! ```
//!
//! A sandbox is prepared before its command is known: init and the future command wait, and what the server
//! covers is mounted at the hand-over. Each is used once, so nothing of one command can reach another; only a
//! network namespace in which nothing happened serves again (`networks`).
//!
//! All are forks of one small single-threaded process, so they may allocate. None has a secret, a
//! listening socket or a descriptor of the server.

mod cgroup;
mod command_mounts;
mod connector;
mod context;
mod covers;
mod devices;
mod etc;
pub(crate) mod fd_passing;
mod init;
mod landlock_rules;
mod launch;
mod limits;
mod memory;
mod mounts;
mod namespaces;
mod networks;
mod own_directories;
mod private_home;
mod privileges;
pub(crate) mod probe;
mod sandboxes;
mod serve;
mod socket_memory;
mod system_mounts;
mod terminal;

pub(crate) use serve::serve;
