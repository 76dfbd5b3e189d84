//! `supervisor tree`: the events as a tree, read from the database without changing it.

mod load;
mod node;

pub use load::{Scope, load};
pub use node::{Node, grow};
