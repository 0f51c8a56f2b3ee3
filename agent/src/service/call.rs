//! What is asked of a service, in words that every protocol of its kind shares, and the answer as it came.

use http::HeaderMap;

pub use super::message::{Message, Received};
use super::row::VALUE_BYTES;
pub use super::row::{Group, Row};

/// A blob of a data set. Its key and its content follow from its fields, so that every trial can verify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blob {
    pub set: Set,
    pub size: u64,
    pub index: u64,
    /// Part of the content alone: another version replaces it under the same key.
    pub version: u64,
}

/// A part of a data set: uploads never touch what downloads read, nor puts what gets and queries read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Written once, in order.
    Kept,
    Uploaded,
    /// Written, changed and deleted while it is watched.
    Changing,
}

impl Set {
    /// Returns the start of the keys of this set's blobs of one size.
    pub fn prefix(self, size: u64) -> String {
        let letter = match self {
            Set::Kept => 'b',
            Set::Uploaded => 'u',
            Set::Changing => 'c',
        };
        format!("{letter}/{size}/")
    }
}

impl Blob {
    pub fn new(set: Set, size: u64, index: u64) -> Blob {
        Blob { set, size, index, version: 0 }
    }

    pub fn key(&self) -> String {
        format!("{}{:06}", self.set.prefix(self.size), self.index)
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Download(Blob),
    Upload(Blob),
    /// Whether the blob is there; learns why not, so it is no request whose answer has no body.
    Exists(Blob),
    Delete(Blob),
    /// Whether this version of a small blob is there, and not none or another.
    Look(Blob),
    /// Whether a list names the blob.
    Find(Blob),
    /// Lists at most 1000 names; fewer than `least` are wrong.
    List {
        prefix: String,
        least: usize,
    },
    /// Reads a row by its key; anything but this row is wrong. `strong`: no older row than the last put.
    Get {
        row: Row,
        strong: bool,
    },
    /// Writes a row, whether or not its key is there.
    Put(Row),
    /// Reads the rows of a group by the field `g`; anything but exactly its rows is wrong.
    Query {
        group: Group,
        strong: bool,
    },
    /// Writes rows in one batch of at most [`Protocol::batch`](super::Protocol::batch), with following indexes.
    Load {
        first: Row,
        count: u64,
    },
    /// Deletes a row, whether or not its key is there.
    DeleteRow(Row),
    /// Whether this version of a row is there, and not none or another; asked by its key.
    LookRow {
        row: Row,
        strong: bool,
    },
    /// Whether a query of the row's group names its key, whatever else it names.
    FindRow {
        row: Row,
        strong: bool,
    },
    Send(Message),
    /// Receives one message of this size (0: any), or learns that there is none; does not wait for one.
    /// The message is hidden from others for this time, unless it is deleted.
    Receive {
        size: u64,
        hidden_s: u64,
    },
    /// Deletes a message that was received, by its handle.
    DeleteMessage(String),
    /// Deletes all messages.
    Purge,
}

impl Call {
    /// Returns the payload that the call moves at least, as caps count it, bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Call::Download(blob) | Call::Upload(blob) | Call::Look(blob) => blob.size,
            Call::Get { row, .. } | Call::Put(row) | Call::LookRow { row, .. } => row.bytes(),
            Call::Load { first, count } => first.bytes() * count,
            Call::Query { group, .. } => (group.rows * VALUE_BYTES).max(1),
            Call::Send(message) => message.size,
            Call::Receive { size, .. } => *size,
            Call::Exists(_) | Call::Delete(_) | Call::Find(_) | Call::List { .. } => 1,
            Call::DeleteRow(_) | Call::FindRow { .. } | Call::DeleteMessage(_) | Call::Purge => 1,
        }
    }
}

/// How the body of a successful answer is read. The body of any other answer is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Compared with the blob's content as it comes, then dropped.
    Content(Blob),
    Text,
}

/// A complete answer.
#[derive(Debug)]
pub struct Answer {
    pub status: http::StatusCode,
    pub headers: HeaderMap,
    /// The body, unless it was read as content.
    pub text: Vec<u8>,
    /// Bytes of the body.
    pub received: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_set_size_and_index() {
        assert_eq!(Blob::new(Set::Kept, 1024, 7).key(), "b/1024/000007");
        assert_eq!(Blob::new(Set::Uploaded, 10, 123_456).key(), "u/10/123456");
        assert_eq!(Set::Changing.prefix(3), "c/3/");
    }
}
