//! Google Cloud Storage through its JSON interface: objects of a bucket, each uploaded in one request.

use std::time::SystemTime;

use http::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::call::{Answer, Blob, Call, Reading};
use super::client::foreign_call;
use super::credential::Credential;
use super::object::{Access, NAMES, Named, is_there, listed};
use super::outcome::{Done, Failure, Kind};
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol, sigv4};
use crate::fault::Fault;

/// Codes of too many requests, which may come with status 403.
const THROTTLES: [&str; 2] = ["rateLimitExceeded", "userRateLimitExceeded"];
/// In the answer about an object whose bucket is missing.
const NO_BUCKET: &str = "bucket does not exist";

pub struct Gcs {
    access: Access,
    /// The path of the bucket's objects, and of uploads to it.
    objects: String,
    uploads: String,
}

/// A list; one without entries has no `items`.
#[derive(Deserialize)]
struct List<'a> {
    kind: &'a str,
    #[serde(borrow, default)]
    items: Vec<Named<'a>>,
}

impl Gcs {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<Gcs, Fault> {
        let (base, bucket) = (&service.url.base, sigv4::encode(&service.data_set, false));
        Ok(Gcs {
            access: Access::new(service, credential, "authorization")?,
            objects: format!("{base}/storage/v1/b/{bucket}/o"),
            uploads: format!("{base}/upload/storage/v1/b/{bucket}/o?uploadType=media&name="),
        })
    }
}

impl Protocol for Gcs {
    fn request(&self, call: &Call, _now: SystemTime) -> Result<(Request<Body>, Reading), Fault> {
        let key = |blob: &Blob| sigv4::encode(&blob.key(), false);
        let list = |most: u32, prefix: &str| {
            let prefix = sigv4::encode(prefix, false);
            (Method::GET, format!("{}?maxResults={most}&fields=kind,items(name)&prefix={prefix}", self.objects))
        };
        let (method, uri) = match call {
            Call::Download(blob) | Call::Exists(blob) | Call::Look(blob) => {
                (Method::GET, format!("{}/{}?alt=media", self.objects, key(blob)))
            }
            Call::Upload(blob) => (Method::POST, format!("{}{}", self.uploads, key(blob))),
            Call::Delete(blob) => (Method::DELETE, format!("{}/{}", self.objects, key(blob))),
            Call::Find(blob) => list(1, &blob.key()),
            Call::List { prefix, .. } => list(NAMES, prefix),
            _ => return Err(foreign_call(Name::Gcs)),
        };
        let (body, reading) = match call {
            Call::Upload(blob) => (Body::blob(*blob), Reading::Text),
            Call::Download(blob) => (Body::empty(), Reading::Content(*blob)),
            _ => (Body::empty(), Reading::Text),
        };
        Ok((self.access.request(call, method, &uri, body)?, reading))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        match (call, answer.status) {
            (Call::Download(blob), StatusCode::OK) => Ok(Done::new(blob.size, true)),
            (Call::Upload(blob), StatusCode::OK) => uploaded(blob, answer),
            (Call::Exists(blob) | Call::Look(blob), StatusCode::OK) => Ok(is_there(blob, answer)),
            (Call::Exists(blob), StatusCode::PARTIAL_CONTENT) => Ok(is_there(blob, answer)),
            (Call::Delete(_), StatusCode::OK | StatusCode::NO_CONTENT) => Ok(Done::new(0, false)),
            (Call::Exists(_) | Call::Look(_) | Call::Delete(_), StatusCode::NOT_FOUND)
                if !String::from_utf8_lossy(&answer.text).contains(NO_BUCKET) =>
            {
                Ok(Done::new(0, false))
            }
            (Call::List { .. } | Call::Find(_), StatusCode::OK) => {
                let list: Option<List> = serde_json::from_slice(&answer.text).ok();
                listed(call, list.filter(|list| list.kind == "storage#objects").map(|list| list.items), answer)
            }
            _ => Err(failure(answer)),
        }
    }
}

/// Judges the answer to an upload, which tells what was stored.
fn uploaded(blob: &Blob, answer: &Answer) -> Result<Done, Failure> {
    let stored: Option<Value> = serde_json::from_slice(&answer.text).ok();
    let size = stored.as_ref().and_then(|stored| stored.get("size")?.as_str()?.parse::<u64>().ok());
    match size {
        Some(size) if size == blob.size => Ok(Done::new(blob.size, true)),
        Some(size) => {
            Err(Failure::new(Kind::WrongBody, format!("{size} bytes were stored, and {} were sent", blob.size)))
        }
        None => Err(Failure::new(Kind::WrongBody, "an answer that does not tell what was stored")),
    }
}

/// Returns the failure that an answer reports: as JSON, or in words where a download was asked for.
fn failure(answer: &Answer) -> Failure {
    let status = answer.status;
    if status.is_success() {
        return Failure::new(Kind::WrongBody, format!("an answer with status {}", status.as_u16()));
    }
    let document: Option<Value> = serde_json::from_slice(&answer.text).ok();
    let text = String::from_utf8_lossy(&answer.text);
    let Some(error) = document.as_ref().and_then(|document| document.get("error")) else {
        let words = if text.contains(['<', '{']) { None } else { Some(text.as_ref()) };
        return Failure::of_status(status, None, words);
    };
    let first = error.get("errors").and_then(|errors| errors.get(0));
    let code = first.and_then(|first| first.get("reason")).and_then(Value::as_str);
    let mut failure = Failure::of_status(status, code, error.get("message").and_then(Value::as_str));
    if code.is_some_and(|code| THROTTLES.contains(&code)) {
        failure.kind = Kind::Throttled;
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::super::call::{Message, Set};
    use super::super::object::tests::{BLOB, answer, service, token};
    use super::*;
    use proptest::prelude::*;

    fn gcs() -> Gcs {
        Gcs::new(&service("gcs", "http://127.0.0.1:4443"), Some(&token("authorization"))).unwrap()
    }

    fn list(least: usize) -> Call {
        Call::List { prefix: "b/1024/".to_owned(), least }
    }

    #[test]
    fn a_key_is_one_part_of_the_path() {
        let asked = |call: &Call| {
            let (request, _) = gcs().request(call, SystemTime::now()).unwrap();
            format!("{} {}", request.method(), request.uri())
        };
        assert_eq!(asked(&Call::Download(BLOB)), "GET /storage/v1/b/mine/o/b%2F1024%2F000007?alt=media");
        let upload = "POST /upload/storage/v1/b/mine/o?uploadType=media&name=b%2F1024%2F000007";
        assert_eq!(asked(&Call::Upload(BLOB)), upload);
        assert_eq!(asked(&Call::Delete(BLOB)), "DELETE /storage/v1/b/mine/o/b%2F1024%2F000007");
        let first = "GET /storage/v1/b/mine/o?maxResults=1000&fields=kind,items(name)&prefix=b%2F1024%2F";
        assert_eq!(asked(&list(1)), first);
        assert!(gcs().request(&Call::Send(Message::new(50, 1)), SystemTime::now()).is_err());
    }

    #[test]
    fn a_list_says_what_it_is_and_an_upload_what_was_stored() {
        let judge = |call: &Call, text: &str| gcs().judge(call, &answer(200, text));
        let two = r#"{"kind": "storage#objects", "items": [{"name": "b/1024/000000"}, {"name": "b/1024/000007"}]}"#;
        assert!(judge(&list(2), two).is_ok() && judge(&list(0), r#"{"kind": "storage#objects"}"#).is_ok());
        assert!(judge(&Call::Find(BLOB), two).unwrap().there);
        for wrong in ["", "{}", "[]", r#"{"kind": "storage#objects"}"#, &two.replace("objects", "buckets")] {
            assert_eq!(judge(&list(2), wrong).unwrap_err().kind, Kind::WrongBody, "{wrong}");
        }
        assert_eq!(judge(&Call::Upload(BLOB), r#"{"size": "1024"}"#), Ok(Done::new(1024, true)));
        for wrong in [r#"{"size": "1023"}"#, "{}", ""] {
            assert_eq!(judge(&Call::Upload(BLOB), wrong).unwrap_err().kind, Kind::WrongBody, "{wrong}");
        }
        let large = Blob::new(Set::Kept, 10, 0);
        assert!(judge(&Call::Upload(large), r#"{"size": "10"}"#).is_ok());
    }

    #[test]
    fn failures_have_the_services_own_code_and_a_missing_bucket_is_no_missing_object() {
        let judge = |call: &Call, status, text: &str| gcs().judge(call, &answer(status, text));
        let error = |reason: &str| {
            format!(r#"{{"error": {{"code": 1, "message": "Why.", "errors": [{{"reason": "{reason}"}}]}}}}"#)
        };
        let of = |status, reason| judge(&list(1), status, &error(reason)).unwrap_err();
        assert_eq!(
            (of(403, "forbidden").kind, of(403, "forbidden").what.as_str()),
            (Kind::ClientError, "403 forbidden: Why.")
        );
        assert_eq!(of(403, "rateLimitExceeded").kind, Kind::Throttled);
        assert_eq!(of(429, "anything").kind, Kind::Throttled);
        assert_eq!(of(503, "backendError").kind, Kind::ServerError);
        let said = judge(&Call::Download(BLOB), 404, "No such object: mine/b").unwrap_err();
        assert_eq!(said.what, "404 Not Found: No such object: mine/b");
        assert_eq!(judge(&Call::Exists(BLOB), 404, "No such object: mine/b"), Ok(Done::new(0, false)));
        assert!(judge(&Call::Exists(BLOB), 404, "The specified bucket does not exist.").is_err());
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_shape_never_panic(
            status in 200_u16..600, text in r#"(\{"(error|items|kind)":(\[|\{)?("\PC{0,9}"|null|[0-9])?(\}|\])?\}?|\PC{0,9})"#
        ) {
            prop_assert!(gcs().judge(&list(1), &answer(status, &text)).is_err());
            let _ = gcs().judge(&Call::Upload(BLOB), &answer(status, &text));
        }
    }
}
