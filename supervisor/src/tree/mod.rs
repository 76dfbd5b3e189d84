//! `supervisor tree`: the events as a tree, read from the database without changing it.

pub(crate) mod load;
pub(crate) mod node;
pub(crate) mod render;

pub(crate) use load::{Scope, load};
pub(crate) use node::{Node, grow};
