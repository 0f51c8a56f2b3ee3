//! Storage services: their targets and credentials, and thin clients of their protocols.

pub mod credential;
pub mod target;
pub mod url;
