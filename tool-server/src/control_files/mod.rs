//! Control files: files that make other programs run code, such as git's hooks.

pub(crate) mod names;

pub use names::ControlFiles;
