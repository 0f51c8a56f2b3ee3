//! Swift, of OpenStack and as Rackspace's Cloud Files: objects of a container, below the storage URL of an account.

use std::time::SystemTime;

use http::{Method, Request, StatusCode};

use super::call::{Answer, Blob, Call, Reading};
use super::client::foreign_call;
use super::credential::Credential;
use super::object::{Access, NAMES, Named, is_there, listed};
use super::outcome::{Done, Failure, Kind};
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol, sigv4, xml};
use crate::fault::Fault;

/// Of its own middleware: the account or the container got too many requests.
const RATE_LIMITED: u16 = 498;

pub struct Swift {
    access: Access,
    container: String,
}

impl Swift {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<Swift, Fault> {
        let container = format!("{}/{}", service.url.base, sigv4::encode(&service.data_set, true));
        Ok(Swift { access: Access::new(service, credential, "x-auth-token")?, container })
    }
}

impl Protocol for Swift {
    fn request(&self, call: &Call, _now: SystemTime) -> Result<(Request<Body>, Reading), Fault> {
        let object = |blob: &Blob| format!("{}/{}", self.container, blob.key());
        let list = |most: u32, prefix: &str| {
            let prefix = sigv4::encode(prefix, false);
            (Method::GET, format!("{}?format=json&limit={most}&prefix={prefix}", self.container))
        };
        let (method, uri) = match call {
            Call::Download(blob) | Call::Exists(blob) | Call::Look(blob) => (Method::GET, object(blob)),
            Call::Upload(blob) => (Method::PUT, object(blob)),
            Call::Delete(blob) => (Method::DELETE, object(blob)),
            Call::Find(blob) => list(1, &blob.key()),
            Call::List { prefix, .. } => list(NAMES, prefix),
            _ => return Err(foreign_call(Name::Swift)),
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
            (Call::Upload(blob), StatusCode::CREATED) => Ok(Done::new(blob.size, true)),
            (Call::Exists(blob) | Call::Look(blob), StatusCode::OK) => Ok(is_there(blob, answer)),
            (Call::Exists(blob), StatusCode::PARTIAL_CONTENT) => Ok(is_there(blob, answer)),
            // It says the same of a container that is missing: the first upload then fails.
            (Call::Exists(_) | Call::Look(_) | Call::Delete(_), StatusCode::NOT_FOUND) => Ok(Done::new(0, false)),
            (Call::Delete(_), StatusCode::NO_CONTENT) => Ok(Done::new(0, false)),
            (Call::List { .. } | Call::Find(_), StatusCode::OK) => {
                let names: Option<Vec<Named>> = serde_json::from_slice(&answer.text).ok();
                listed(call, names, answer)
            }
            _ => Err(failure(answer)),
        }
    }
}

/// Returns the failure that an answer reports; its page has the reason as its heading.
fn failure(answer: &Answer) -> Failure {
    let status = answer.status;
    if status.is_success() {
        return Failure::new(Kind::WrongBody, format!("an answer with status {}", status.as_u16()));
    }
    let text = String::from_utf8_lossy(&answer.text);
    let mut failure = Failure::of_status(status, xml::text(&text, "h1"), xml::text(&text, "p"));
    if status.as_u16() == RATE_LIMITED {
        failure.kind = Kind::Throttled;
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::super::call::{Row, Set};
    use super::super::object::tests::{BLOB, answer, service, token};
    use super::*;
    use proptest::prelude::*;

    fn swift() -> Swift {
        Swift::new(&service("swift", "http://127.0.0.1:8080/v1/AUTH_a"), Some(&token("x-auth-token"))).unwrap()
    }

    fn list(least: usize) -> Call {
        Call::List { prefix: "b/1024/".to_owned(), least }
    }

    #[test]
    fn objects_are_below_the_accounts_url() {
        let asked = |call: &Call| {
            let (request, _) = swift().request(call, SystemTime::now()).unwrap();
            format!("{} {}", request.method(), request.uri())
        };
        assert_eq!(asked(&Call::Download(BLOB)), "GET /v1/AUTH_a/mine/b/1024/000007");
        assert_eq!(asked(&Call::Upload(BLOB)), "PUT /v1/AUTH_a/mine/b/1024/000007");
        assert_eq!(asked(&Call::Delete(BLOB)), "DELETE /v1/AUTH_a/mine/b/1024/000007");
        assert_eq!(asked(&list(1)), "GET /v1/AUTH_a/mine?format=json&limit=1000&prefix=b%2F1024%2F");
        assert_eq!(asked(&Call::Find(BLOB)), "GET /v1/AUTH_a/mine?format=json&limit=1&prefix=b%2F1024%2F000007");
        assert!(swift().request(&Call::Put(Row::new(Set::Kept, 0)), SystemTime::now()).is_err());
    }

    #[test]
    fn a_list_is_right_with_enough_names_of_the_prefix() {
        let judge = |call: &Call, text: &str| swift().judge(call, &answer(200, text));
        let two = r#"[{"name": "b/1024/000000", "bytes": 1024, "hash": "0"}, {"name": "b/1024/000007"}]"#;
        assert!(judge(&list(2), two).is_ok() && judge(&list(0), "[]").is_ok());
        assert!(judge(&Call::Find(BLOB), two).unwrap().there && !judge(&Call::Find(BLOB), "[]").unwrap().there);
        for wrong in ["", "[", "{}", "[]", r#"[{"name": "b/1024/0"}]"#, r#"[{"name": "b/1024/0"}, {"name": "c/1"}]"#] {
            assert_eq!(judge(&list(2), wrong).unwrap_err().kind, Kind::WrongBody, "{wrong}");
        }
    }

    #[test]
    fn failures_have_the_services_own_words_and_a_missing_object_is_none() {
        let judge = |call: &Call, status, text: &str| swift().judge(call, &answer(status, text));
        let refused = "<html><h1>Unauthorized</h1><p>This server could not verify that you are authorized.</p></html>";
        let failure = judge(&Call::Download(BLOB), 401, refused).unwrap_err();
        let words = "401 Unauthorized: This server could not verify that you are authorized.";
        assert_eq!((failure.kind, failure.what.as_str()), (Kind::ClientError, words));
        let limited = judge(&Call::Upload(BLOB), 498, "<h1>Rate Limited</h1>").unwrap_err();
        assert_eq!((limited.kind, limited.what.as_str()), (Kind::Throttled, "498 Rate Limited"));
        assert_eq!(judge(&Call::Upload(BLOB), 503, "").unwrap_err().kind, Kind::ServerError);
        assert_eq!(judge(&Call::Upload(BLOB), 404, "").unwrap_err().kind, Kind::ClientError);
        assert_eq!(judge(&Call::Upload(BLOB), 202, "").unwrap_err().kind, Kind::WrongBody);
        assert_eq!(judge(&Call::Exists(BLOB), 404, "<h1>Not Found</h1>"), Ok(Done::new(0, false)));
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_shape_never_panic(
            status in 200_u16..600, text in r#"(\[(\{"name":)?("\PC{0,9}"|null|[0-9])?(\})?\]?|<h1>\PC{0,9}|\PC{0,9})"#
        ) {
            prop_assert!(swift().judge(&list(1), &answer(status, &text)).is_err());
            let _ = swift().judge(&Call::Look(BLOB), &answer(status, &text));
        }
    }
}
