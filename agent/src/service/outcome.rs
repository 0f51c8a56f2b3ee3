//! What came of an operation: done, or a failure of one kind, which is counted apart and is never a latency.

use super::call::Received;

/// A successful operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Payload moved, both ways, bytes.
    pub bytes: u64,
    /// Whether what was asked about is there; of a receive, whether there was a message.
    pub there: bool,
    /// Rows of a batch that the service did not write because there were too many; the others are written.
    pub unwritten: u64,
    /// The message that a receive returned.
    pub received: Option<Received>,
}

impl Done {
    pub fn new(bytes: u64, there: bool) -> Done {
        Done { bytes, there, ..Done::default() }
    }
}

/// The kinds of failure, in the order of their notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Throttled,
    ServerError,
    ClientError,
    Timeout,
    WrongBody,
    /// The connection could not be made, or broke.
    Broken,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::Throttled, Kind::ServerError, Kind::ClientError, Kind::Timeout, Kind::WrongBody, Kind::Broken];

    /// Returns the key of the note that counts these failures.
    pub fn note(self) -> &'static str {
        match self {
            Kind::Throttled => "throttled",
            Kind::ServerError => "server_errors",
            Kind::ClientError => "client_errors",
            Kind::Timeout => "timeouts",
            Kind::WrongBody => "wrong_bodies",
            Kind::Broken => "broken_connections",
        }
    }

    /// Returns what its user can do if every operation of a trial failed so.
    pub fn advice(self) -> &'static str {
        match self {
            Kind::Throttled => "ask for less, or raise the service's limits",
            Kind::ServerError => "see the service's status, and try again",
            Kind::ClientError => "check the credentials, the data set, the region and this machine's clock",
            Kind::Timeout => "see that the service answers, or raise deadline_s",
            Kind::WrongBody => "see what stands between here and the service; or empty the data set",
            Kind::Broken => "see that the endpoint can be reached and that its certificate is trusted",
        }
    }
}

/// A failed operation: its kind, and its reason in one line with the service's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: Kind,
    pub what: String,
}

const LONGEST: usize = 300;

impl Failure {
    pub fn new(kind: Kind, what: impl Into<String>) -> Failure {
        Failure { kind, what: what.into() }
    }

    /// Judges an answer without success by its status and by the code of the service, if it sent one.
    pub fn of_status(status: http::StatusCode, code: Option<&str>, message: Option<&str>) -> Failure {
        let number = status.as_u16();
        let kind = match (number, code) {
            (429, _) => Kind::Throttled,
            (_, Some(code)) if is_throttle(code) => Kind::Throttled,
            (500.., _) => Kind::ServerError,
            _ => Kind::ClientError,
        };
        let words = [code.unwrap_or(status.canonical_reason().unwrap_or("")), message.unwrap_or("")];
        let words: Vec<String> = words.iter().filter(|word| !word.is_empty()).map(|word| plain(word)).collect();
        Failure::new(kind, format!("{number} {}", words.join(": ")).trim_end())
    }
}

/// Whether a service means with this code that there were too many requests. S3 and Azure say so with status 503.
fn is_throttle(code: &str) -> bool {
    const CODES: [&str; 12] = [
        "SlowDown",
        "ServerBusy",
        "OperationTimedOut",
        "TooManyRequests",
        "TooManyRequestsException",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottled",
        "RequestLimitExceeded",
        "ProvisionedThroughputExceededException",
        "RESOURCE_EXHAUSTED",
    ];
    // Some services write a name space in front: com.amazonaws.dynamodb.v20120810#ThrottlingException.
    let code = code.rsplit('#').next().unwrap_or(code);
    CODES.contains(&code)
}

/// Returns a service's words on one line, shortened.
pub fn plain(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_and_a_code_are_one_kind_of_failure() {
        let of = |status: u16, code| {
            let failure = Failure::of_status(http::StatusCode::from_u16(status).unwrap(), code, Some("a\n message"));
            (failure.kind, failure.what)
        };
        for (status, code, kind) in [
            (503, Some("SlowDown"), Kind::Throttled),
            (429, None, Kind::Throttled),
            (400, Some("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"), Kind::Throttled),
            (503, Some("ServiceUnavailable"), Kind::ServerError),
            (500, None, Kind::ServerError),
            (403, Some("InvalidAccessKeyId"), Kind::ClientError),
            (301, Some("PermanentRedirect"), Kind::ClientError),
        ] {
            assert_eq!(of(status, code).0, kind, "{status} {code:?}");
        }
        assert_eq!(of(403, Some("AccessDenied")).1, "403 AccessDenied: a message");
        assert_eq!(of(500, None).1, "500 Internal Server Error: a message");
    }
}
