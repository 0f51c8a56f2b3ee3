//! What Swift and Cloud Storage have in common: a token in a header, and lists of names as JSON.

use std::borrow::Cow;

use http::header::{CONTENT_RANGE, CONTENT_TYPE, HOST, RANGE};
use http::request::Builder;
use http::{HeaderValue, Method, Request, StatusCode};
use serde::Deserialize;

use super::Body;
use super::call::{Answer, Blob, Call};
use super::client::wrong_credential;
use super::content;
use super::credential::Credential;
use super::outcome::{Done, Failure, Kind};
use super::target::Service;
use crate::fault::{Fault, OrFault};

/// The most names of one list.
pub const NAMES: u32 = 1000;

/// The host and the token of every request.
pub struct Access {
    authority: String,
    header: &'static str,
    token: Option<HeaderValue>,
}

/// An entry of a list; what else a service says about it is skipped.
#[derive(Deserialize)]
pub struct Named<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl Access {
    /// `header` is the one in which the protocol carries its token.
    pub fn new(service: &Service, credential: Option<&Credential>, header: &'static str) -> Result<Access, Fault> {
        let token = match credential {
            None => None,
            Some(Credential::Token { header: given, value }) if given == header => {
                let mut value = HeaderValue::from_str(value).or_fault("a token is no header", "give another token")?;
                value.set_sensitive(true);
                Some(value)
            }
            Some(_) => return Err(wrong_credential(service, &format!("token with header {header}"))),
        };
        Ok(Access { authority: service.url.authority(None), header, token })
    }

    /// Builds a request; that of `Exists` asks for the first byte alone.
    pub fn request(&self, call: &Call, method: Method, uri: &str, body: Body) -> Result<Request<Body>, Fault> {
        let mut request = Request::builder().method(method).uri(uri).header(HOST, &self.authority);
        request = match call {
            Call::Exists(_) => request.header(RANGE, "bytes=0-0"),
            Call::Upload(_) => request.header(CONTENT_TYPE, "application/octet-stream"),
            _ => request,
        };
        self.carry(request).body(body).or_fault("cannot build a request", "report this")
    }

    /// Adds the token to a request.
    pub fn carry(&self, request: Builder) -> Builder {
        match &self.token {
            Some(token) => request.header(self.header, token),
            None => request,
        }
    }
}

/// Judges a good answer to `Exists` or `Look`: whether this very blob is there.
pub fn is_there(blob: &Blob, answer: &Answer) -> Done {
    let whole = match answer.status {
        StatusCode::PARTIAL_CONTENT => answer.headers.get(CONTENT_RANGE).and_then(total),
        _ => Some(answer.received),
    };
    Done::new(answer.received, whole == Some(blob.size) && content::is_right(blob, 0, &answer.text))
}

/// Judges the names of an answer to `List` or `Find`; `None`: it is no list.
pub fn listed(call: &Call, names: Option<Vec<Named>>, answer: &Answer) -> Result<Done, Failure> {
    let wrong = |what: String| Err(Failure::new(Kind::WrongBody, what));
    let Some(names) = names else { return wrong("an answer that is no list".to_owned()) };
    match call {
        Call::Find(blob) => Ok(Done::new(answer.received, names.iter().any(|named| named.name == blob.key()))),
        Call::List { prefix, least } => match names.len() {
            count if count < *least || count > NAMES as usize => {
                wrong(format!("a list of {count} names, and there are {least}"))
            }
            _ if !names.iter().all(|named| named.name.starts_with(prefix)) => {
                wrong("a list of other names than were asked for".to_owned())
            }
            _ => Ok(Done::new(answer.received, true)),
        },
        _ => wrong("a list that nobody asked for".to_owned()),
    }
}

/// Reads the length of the whole from `bytes 0-0/1024`.
fn total(range: &HeaderValue) -> Option<u64> {
    range.to_str().ok()?.rsplit('/').next()?.parse().ok()
}

#[cfg(test)]
pub mod tests {
    use super::super::call::Set;
    use super::*;
    use http::HeaderMap;
    use serde_json::json;

    pub const BLOB: Blob = Blob { set: Set::Kept, size: 1024, index: 7, version: 0 };

    pub fn answer(status: u16, text: &str) -> Answer {
        let (status, text) = (StatusCode::from_u16(status).unwrap(), text.as_bytes().to_vec());
        Answer { status, headers: HeaderMap::new(), received: text.len() as u64, text }
    }

    pub fn service(protocol: &str, endpoint: &str) -> Service {
        let target = json!({"role": "service", "endpoint": endpoint, "protocol": protocol, "data_set": "mine"});
        Service::read(target.as_object().unwrap(), |_| true).unwrap()
    }

    pub fn token(header: &str) -> Credential {
        Credential::Token { header: header.to_owned(), value: "Bearer 5ec3e7".to_owned() }
    }

    #[test]
    fn the_token_is_in_its_own_header_and_hidden_where_headers_are_printed() {
        let service = service("swift", "http://127.0.0.1:8080/v1/AUTH_a");
        let access = Access::new(&service, Some(&token("x-auth-token")), "x-auth-token").unwrap();
        let request = access.request(&Call::Exists(BLOB), Method::GET, "/a", Body::empty()).unwrap();
        assert_eq!(
            (request.headers()["x-auth-token"].as_bytes(), request.headers()[RANGE].as_bytes()),
            (b"Bearer 5ec3e7".as_slice(), b"bytes=0-0".as_slice())
        );
        assert!(!format!("{:?}", request.headers()).contains("5ec3e7"));
        let fault = Access::new(&service, Some(&token("authorization")), "x-auth-token").err().unwrap();
        assert!(fault.what.contains("token with header x-auth-token"), "{}", fault.what);
        assert!(Access::new(&service, Some(&Credential::Sas { query: "sig=5ec3e7".into() }), "x-auth-token").is_err());
        assert!(Access::new(&service, None, "x-auth-token").unwrap().token.is_none());
    }

    #[test]
    fn a_blob_is_there_with_its_own_bytes_and_length_alone() {
        let mut answer = answer(206, "");
        answer.text = content::piece(&BLOB, 0)[..1].to_vec();
        answer.received = 1;
        assert!(!is_there(&BLOB, &answer).there, "no length of the whole");
        answer.headers.insert(CONTENT_RANGE, HeaderValue::from_static("bytes 0-0/1024"));
        assert!(is_there(&BLOB, &answer).there);
        answer.headers.insert(CONTENT_RANGE, HeaderValue::from_static("bytes 0-0/1025"));
        assert!(!is_there(&BLOB, &answer).there);
        (answer.status, answer.text, answer.received) = (StatusCode::OK, content::piece(&BLOB, 0).to_vec(), 1024);
        assert!(is_there(&BLOB, &answer).there);
        answer.text[1000] ^= 1;
        assert!(!is_there(&BLOB, &answer).there);
    }
}
