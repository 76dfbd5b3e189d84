//! `supervisor tree`: the events as a tree, read from the database without changing it.

pub mod load;
pub mod node;
pub mod render;

pub use load::{Scope, load};
pub use node::{Node, grow};
