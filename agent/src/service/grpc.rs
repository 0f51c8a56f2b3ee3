//! gRPC over HTTP/2: one request message, and the messages and the status of its answer.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, TE};
use http::{Method, Request, StatusCode, Version};

use super::Body;
use super::call::Answer;
use super::credential::Credential;
use super::object::Access;
use super::outcome::{Failure, Kind};
use super::proto::Message;
use super::target::Service;
use crate::fault::{Fault, OrFault};

/// The length of what stands before each message: whether it is compressed, and its length.
const PREFIX: usize = 5;
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// One service that speaks gRPC.
pub struct Grpc {
    access: Access,
    /// Scheme, host, port and base path.
    root: String,
}

impl Grpc {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<Grpc, Fault> {
        let (url, scheme) = (&service.url, if service.url.tls { "https" } else { "http" });
        let root = format!("{scheme}://{}{}", url.authority(None), url.base);
        Ok(Grpc { access: Access::new(service, credential, "authorization")?, root })
    }

    /// Builds the request of a method, such as `/google.pubsub.v1.Publisher/Publish`. `params` say for which resource
    /// it is, where the service finds that out by a header.
    pub fn request(&self, method: &str, params: &str, message: Message) -> Result<Request<Body>, Fault> {
        let message = message.into_bytes();
        let mut body = Vec::with_capacity(PREFIX + message.len());
        body.push(0);
        body.extend_from_slice(&(message.len() as u32).to_be_bytes());
        body.extend_from_slice(&message);
        let mut request = Request::builder()
            .version(Version::HTTP_2)
            .method(Method::POST)
            .uri(format!("{}{method}", self.root))
            .header(CONTENT_TYPE, "application/grpc")
            .header(TE, "trailers");
        if !params.is_empty() {
            request = request.header("x-goog-request-params", params);
        }
        let request = self.access.carry(request).body(Body::bytes(Bytes::from(body)));
        request.or_fault("cannot build a request", "report this")
    }
}

/// Returns the messages of an answer with status OK, or the failure that it reports.
pub fn messages(answer: &Answer) -> Result<Vec<&[u8]>, Failure> {
    match code(answer)? {
        0 => split(&answer.text).ok_or_else(|| wrong("an answer that is cut or compressed")),
        code => Err(failure(code, answer)),
    }
}

/// Returns the one message of an answer with status OK, or the failure that it reports.
pub fn message(answer: &Answer) -> Result<&[u8], Failure> {
    match messages(answer)?.as_slice() {
        [message] => Ok(message),
        messages => Err(wrong(&format!("{} messages, and one was expected", messages.len()))),
    }
}

/// Returns the status code of an answer; an answer without one is a failure of its own.
pub fn code(answer: &Answer) -> Result<usize, Failure> {
    if answer.status != StatusCode::OK {
        let text = String::from_utf8_lossy(&answer.text);
        let words = if text.contains('<') { None } else { Some(text.as_ref()) };
        return Err(match answer.status.is_success() {
            true => wrong(&format!("an answer with status {}", answer.status.as_u16())),
            false => Failure::of_status(answer.status, None, words),
        });
    }
    let code = answer.headers.get("grpc-status").and_then(|code| code.to_str().ok()?.parse().ok());
    code.ok_or_else(|| wrong("an answer without the status of gRPC"))
}

/// Returns the failure that an answer with this code reports.
pub fn failure(code: usize, answer: &Answer) -> Failure {
    let words = answer.headers.get("grpc-message").map(|words| unescape(words.as_bytes())).unwrap_or_default();
    status(code, &words)
}

/// Returns the failure that a code and its words mean, of an answer or of a part of it.
pub fn status(code: usize, words: &str) -> Failure {
    let name = NAMES.get(code).copied().unwrap_or("UNKNOWN");
    let kind = match name {
        "RESOURCE_EXHAUSTED" => Kind::Throttled,
        "UNKNOWN" | "DEADLINE_EXCEEDED" | "INTERNAL" | "UNAVAILABLE" | "DATA_LOSS" => Kind::ServerError,
        _ => Kind::ClientError,
    };
    let what = if words.is_empty() { format!("{code} {name}") } else { format!("{code} {name}: {words}") };
    Failure::new(kind, super::outcome::plain(&what))
}

pub fn wrong(what: &str) -> Failure {
    Failure::new(Kind::WrongBody, what)
}

/// Splits a body into its messages; `None` if one is cut or compressed.
fn split(mut body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut messages = Vec::new();
    while !body.is_empty() {
        let (prefix, rest) = body.split_at_checked(PREFIX)?;
        let length = u32::from_be_bytes(prefix[1..].try_into().ok()?) as usize;
        let (message, rest) = rest.split_at_checked(length).filter(|_| prefix[0] == 0)?;
        messages.push(message);
        body = rest;
    }
    Some(messages)
}

/// Reads a text in which bytes are written as `%2F`.
fn unescape(text: &[u8]) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
pub mod tests {
    use super::super::object::tests::{service, token};
    use super::*;
    use http::HeaderMap;
    use proptest::prelude::*;

    /// Returns an answer with these messages and this status.
    pub fn answer(code: &str, words: &str, messages: Vec<Message>) -> Answer {
        let mut text = Vec::new();
        for message in messages {
            let message = message.into_bytes();
            text.push(0);
            text.extend_from_slice(&(message.len() as u32).to_be_bytes());
            text.extend_from_slice(&message);
        }
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", code.parse().unwrap());
        headers.insert("grpc-message", words.parse().unwrap());
        Answer { status: StatusCode::OK, headers, received: text.len() as u64, text }
    }

    #[test]
    fn a_request_has_the_form_of_grpc() {
        let grpc = Grpc::new(&service("pubsub", "http://127.0.0.1:8085"), Some(&token("authorization"))).unwrap();
        let request = grpc.request("/a.B/C", "d=e", Message::new().number(1, 1)).unwrap();
        assert_eq!(
            (request.version(), request.uri().to_string().as_str()),
            (Version::HTTP_2, "http://127.0.0.1:8085/a.B/C")
        );
        let header = |name| request.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!((header("te"), header("content-type")), ("trailers".to_owned(), "application/grpc".to_owned()));
        assert_eq!(
            (header("authorization"), header("x-goog-request-params")),
            ("Bearer 5ec3e7".to_owned(), "d=e".to_owned())
        );
    }

    #[test]
    fn a_status_is_a_failure_of_its_kind_with_its_name_and_words() {
        for (code, words, kind, what) in [
            ("8", "too%20much", Kind::Throttled, "8 RESOURCE_EXHAUSTED: too much"),
            ("14", "", Kind::ServerError, "14 UNAVAILABLE"),
            ("7", "no %zz%C3%A4", Kind::ClientError, "7 PERMISSION_DENIED: no %zz\u{e4}"),
            ("99", "", Kind::ServerError, "99 UNKNOWN"),
        ] {
            let failure = message(&answer(code, words, vec![])).unwrap_err();
            assert_eq!((failure.kind, failure.what.as_str()), (kind, what));
        }
        let mut silent = answer("0", "", vec![Message::new()]);
        assert_eq!(message(&silent), Ok([].as_slice()));
        silent.headers.clear();
        assert_eq!(message(&silent).unwrap_err().kind, Kind::WrongBody);
        silent.status = StatusCode::SERVICE_UNAVAILABLE;
        assert_eq!(message(&silent).unwrap_err().kind, Kind::ServerError);
    }

    #[test]
    fn messages_are_whole_and_as_many_as_expected() {
        let two = answer("0", "", vec![Message::new().text(1, "a"), Message::new()]);
        assert_eq!(messages(&two).unwrap(), [&[10, 1, b'a'][..], &[]]);
        assert_eq!(message(&two).unwrap_err().kind, Kind::WrongBody);
        assert_eq!(message(&answer("0", "", vec![])).unwrap_err().kind, Kind::WrongBody);
        let mut cut = answer("0", "", vec![Message::new().text(1, "a")]);
        cut.text.pop();
        assert_eq!(message(&cut).unwrap_err().kind, Kind::WrongBody);
        let mut compressed = answer("0", "", vec![Message::new().text(1, "a")]);
        compressed.text[0] = 1;
        assert_eq!(message(&compressed).unwrap_err().kind, Kind::WrongBody);
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_bodies_of_any_shape_never_panic(body in prop::collection::vec(any::<u8>(), 0..40), text in "[%a-f0-9]{0,20}") {
            if let Some(messages) = split(&body) {
                prop_assert_eq!(messages.iter().map(|message| message.len() + PREFIX).sum::<usize>(), body.len());
            }
            prop_assert!(unescape(text.as_bytes()).len() <= 3 * text.len());
        }
    }
}
