//! `supervisor tree`: what was done, as a tree of events, read from the database without changing it.

pub mod load;
pub mod node;
pub mod render;

pub use load::{LoadError, Scope, load};
pub use node::{Node, grow};
