//! Storage services: their targets and credentials, thin clients of their protocols, and the load that they are put
//! under.
//!
//! - `target`, `url`, `credential` what the job says
//! - `content` what blobs, rows and messages hold, and whether a body is that; `row` rows and groups, `message` messages
//! - `call` what is asked of a service, `outcome` what came of it
//! - `client` one service, its protocol and its trust; `tls`, `stream`, `body`, `lane` HTTP/1.1 or
//!   HTTP/2 over one connection
//! - `load` lanes on pinned threads, in a closed or an open loop; `pacing` the starts of an open loop; `tally` what they
//!   counted; `asker` single operations, `fill` the data set before a load; `staleness` reads after a change; `climb` more lanes until throughput stops growing
//! - `sigv4` signatures, `xml` answers, `aws_json` what DynamoDB and SQS share, `object` what
//!   Swift and Cloud Storage share, `grpc` and
//!   `proto` what Google's tables and queues do; then one file per protocol, and beside its own `firestore_answer`,
//!   and `bigtable_rows` and `bigtable_batch`
//!
//! A new protocol is one file with an implementation of [`Protocol`], and one line in `client::protocol`.

use std::time::SystemTime;

use crate::fault::Fault;

pub mod asker;
mod aws_json;
mod azure;
mod azure_blob;
mod azure_queue;
mod azure_table;
mod bigtable;
mod bigtable_batch;
mod bigtable_rows;
mod body;
pub mod call;
pub mod client;
pub mod climb;
pub mod content;
pub mod credential;
pub mod delivery;
mod dynamodb;
pub mod fill;
mod firestore;
mod firestore_answer;
mod gcs;
mod grpc;
#[cfg(test)]
mod hostile;
pub mod lane;
pub mod load;
mod message;
mod object;
pub mod outcome;
mod pacing;
mod proto;
mod pubsub;
pub mod row;
mod s3;
mod shared_key;
mod sigv4;
mod sqs;
pub mod staleness;
mod stream;
mod swift;
pub mod tally;
pub mod target;
pub mod tls;
pub mod url;
pub mod writer;
mod xml;

pub use body::Body;
use call::{Answer, Call, Reading};
use outcome::{Done, Failure};
pub use stream::{Stream, Wire};

/// A service's protocol over HTTP: how an operation is asked for, and what its answer means.
///
/// Connections, deadlines, the comparison of bodies and all counting are the same for every protocol, and elsewhere.
pub trait Protocol: Send + Sync {
    /// Does once what each request of this call would repeat, such as the digest of its body.
    fn prepare(&self, _call: &Call) {}

    /// Whether it is spoken over HTTP/2, one operation at a time on a connection as over HTTP/1.1.
    fn http2(&self) -> bool {
        false
    }

    /// Returns the most rows that one batch of the service writes.
    fn batch(&self) -> u64 {
        1
    }

    /// Builds the request of one call: method, path and query, all headers with `host`, and the body. The fault ends
    /// the trial.
    fn request(&self, call: &Call, now: SystemTime) -> Result<(http::Request<Body>, Reading), Fault>;

    /// Judges a complete answer. A body that was read as content is right already if the status is a success.
    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure>;
}
