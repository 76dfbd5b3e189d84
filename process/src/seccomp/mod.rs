//! System call filters: what a rule is, the rules that every filter shares, and how rules become a program.
//!
//! `rules` has the language and the shared rules, `machine` what differs between architectures, `program`
//! turns rules into the kernel's filter language, `own` has the rules for our own programs, and `install`
//! hands a program to the kernel. Calls that are newer than the rules fail as they would on an older kernel.
//!
//! The crate `seccompiler` cannot make these programs: it knows no verdict that asks a process, no ranges of
//! numbers, and one action for all rules of a filter; and it compares a call with one number after the other.

mod install;
pub(crate) mod own;
mod program;
mod rules;

pub mod machine;

pub use install::{install, install_asking};
pub use program::{assemble, verdict_on};
pub use rules::{
    ABSENT, DENY, KERNEL_AND_OTHERS, OTHERS_BY_NAME, Rule, TERMINAL_INPUT, Test, Verdict, always,
    connected_pairs, deny, only, only_on_self, sockets, without_fast_open,
};
