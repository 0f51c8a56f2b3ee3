//! The way from a vantage point to an endpoint: a name, a round trip, and a page over a new connection.
//!
//! - `endpoint` what the job says of it, `dns` one question to a resolver, `ping` one echo, `visit` one page and its
//!   phases, `answer` the head of what a server answers, `kernel` what the slow start of TCP follows from, `trust` TLS
//!   with whoever answers
//! - `pages` the endpoint of one trial

mod answer;
pub mod dns;
pub mod endpoint;
pub mod kernel;
pub mod pages;
pub mod ping;
pub mod trust;
pub mod visit;
