//! What is asked of a service, in words that every protocol of its kind shares, and the answer as it came.

use http::HeaderMap;

/// A blob of a data set. Its key and its content follow from its fields, so that every trial can verify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blob {
    pub set: Set,
    pub size: u64,
    pub index: u64,
    /// Part of the content alone: another version replaces it under the same key.
    pub version: u64,
}

/// A part of a data set: uploads never touch what downloads read.
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
}

impl Call {
    /// Returns the payload that the call moves at least, as caps count it, bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Call::Download(blob) | Call::Upload(blob) | Call::Look(blob) => blob.size,
            Call::Exists(_) | Call::Delete(_) | Call::Find(_) | Call::List { .. } => 1,
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
