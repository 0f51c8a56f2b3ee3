//! Blobs of Azure Storage: block blobs in one request each, in a container.

use std::time::SystemTime;

use http::header::CONTENT_RANGE;
use http::{HeaderValue, Method, StatusCode};

use super::azure::{self, Account, Header};
use super::call::{Answer, Blob, Call, Reading};
use super::client::foreign_call;
use super::credential::Credential;
use super::outcome::{Done, Failure, Kind};
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol, content, sigv4, xml};
use crate::fault::Fault;

const NONE: &[Header] = &[];
const FIRST_BYTE: &[Header] = &[("range", "bytes=0-0")];
const BLOCK_BLOB: &[Header] = &[("x-ms-blob-type", "BlockBlob")];

pub struct AzureBlob {
    account: Account,
    container: String,
}

impl AzureBlob {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<AzureBlob, Fault> {
        let container = sigv4::encode(&service.data_set, true);
        Ok(AzureBlob { account: Account::new(service, credential)?, container })
    }
}

impl Protocol for AzureBlob {
    fn request(&self, call: &Call, now: SystemTime) -> Result<(http::Request<Body>, Reading), Fault> {
        let of = |blob: &Blob| format!("{}/{}", self.container, blob.key());
        let list = |most: u32, prefix: &str| {
            let prefix = sigv4::encode(prefix, false);
            format!("restype=container&comp=list&maxresults={most}&prefix={prefix}")
        };
        let get = |path, query| (Method::GET, path, query, NONE, Body::empty(), Reading::Text);
        let (method, path, query, headers, body, reading) = match call {
            Call::Download(blob) => {
                (Method::GET, of(blob), String::new(), NONE, Body::empty(), Reading::Content(*blob))
            }
            Call::Look(blob) => get(of(blob), String::new()),
            Call::Exists(blob) => (Method::GET, of(blob), String::new(), FIRST_BYTE, Body::empty(), Reading::Text),
            Call::Upload(blob) => (Method::PUT, of(blob), String::new(), BLOCK_BLOB, Body::blob(*blob), Reading::Text),
            Call::Delete(blob) => (Method::DELETE, of(blob), String::new(), NONE, Body::empty(), Reading::Text),
            Call::Find(blob) => get(self.container.clone(), list(1, &blob.key())),
            Call::List { prefix, .. } => get(self.container.clone(), list(1000, prefix)),
            _ => return Err(foreign_call(Name::AzureBlob)),
        };
        Ok((self.account.request(method, &path, &query, headers, body, now)?, reading))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        let done = |bytes, there| Ok(Done::new(bytes, there));
        let missing = || azure::code(answer).as_deref() == Some("BlobNotFound");
        let text = String::from_utf8_lossy(&answer.text);
        match (call, answer.status) {
            (Call::Download(blob), StatusCode::OK) => done(blob.size, true),
            (Call::Upload(blob), StatusCode::CREATED) => done(blob.size, true),
            (Call::Delete(_), StatusCode::ACCEPTED) => done(0, false),
            (Call::Exists(blob), StatusCode::PARTIAL_CONTENT) => {
                let total = answer.headers.get(CONTENT_RANGE).and_then(total);
                done(answer.received, total == Some(blob.size) && content::is_right(blob, 0, &answer.text))
            }
            (Call::Look(blob), StatusCode::OK) => {
                done(answer.received, answer.received == blob.size && content::is_right(blob, 0, &answer.text))
            }
            (Call::Exists(_) | Call::Look(_) | Call::Delete(_), StatusCode::NOT_FOUND) if missing() => done(0, false),
            (Call::Find(_), StatusCode::OK) if is_list(&text) => done(answer.received, xml::count(&text, "Name") > 0),
            (Call::List { least, .. }, StatusCode::OK) => {
                let (names, whole) = (xml::count(&text, "Name"), is_list(&text));
                if !whole || names < *least || names > 1000 {
                    let what = format!("a list of {names} names, and there are {least}");
                    return Err(Failure::new(Kind::WrongBody, what));
                }
                done(answer.received, true)
            }
            _ => Err(azure::failure(answer)),
        }
    }
}

/// Whether a text is a whole answer to a list.
fn is_list(text: &str) -> bool {
    text.contains("<EnumerationResults") && text.trim_end().ends_with("</EnumerationResults>")
}

/// Reads the length of the whole from `bytes 0-0/1024`.
fn total(range: &HeaderValue) -> Option<u64> {
    range.to_str().ok()?.rsplit('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::azure::tests::answer;
    use super::super::call::Set;
    use super::*;
    use serde_json::json;

    const BLOB: Blob = Blob { set: Set::Kept, size: 1024, index: 7, version: 0 };

    fn azure(endpoint: &str) -> AzureBlob {
        let target = json!({"role": "service", "endpoint": endpoint, "protocol": "azure-blob", "data_set": "mine",
            "addresses": ["127.0.0.1"]});
        let service = Service::read(target.as_object().unwrap(), |_| true).unwrap();
        let sas = Credential::Sas { query: "sv=2021&sig=5ec3e7%3D".into() };
        AzureBlob::new(&service, Some(&sas)).unwrap()
    }

    fn uri(protocol: &AzureBlob, call: &Call) -> String {
        protocol.request(call, SystemTime::now()).unwrap().0.uri().to_string()
    }

    #[test]
    fn the_signature_follows_the_calls_own_query() {
        let (cloud, emulator) = (azure("https://one.blob.core.windows.net"), azure("http://127.0.0.1:10000/one"));
        assert_eq!(uri(&cloud, &Call::Download(BLOB)), "/mine/b/1024/000007?sv=2021&sig=5ec3e7%3D");
        assert_eq!(uri(&emulator, &Call::Delete(BLOB)), "/one/mine/b/1024/000007?sv=2021&sig=5ec3e7%3D");
        let list = uri(&cloud, &Call::List { prefix: "b/1024/".into(), least: 1 });
        let own = "/mine?restype=container&comp=list&maxresults=1000&prefix=b%2F1024%2F&sv=2021&sig=5ec3e7%3D";
        assert_eq!(list, own);
        let (upload, _) = cloud.request(&Call::Upload(BLOB), SystemTime::now()).unwrap();
        assert!(upload.method() == Method::PUT && upload.headers()["x-ms-blob-type"] == "BlockBlob");
    }

    #[test]
    fn a_missing_blob_is_no_missing_container_and_a_short_list_is_wrong() {
        let azure = azure("https://one.blob.core.windows.net");
        let exists = |code| azure.judge(&Call::Exists(BLOB), &answer(404, Some(code), ""));
        assert!(azure.request(&Call::Purge, SystemTime::now()).is_err(), "no container has messages");
        assert_eq!(exists("BlobNotFound"), Ok(Done::new(0, false)));
        assert_eq!(exists("ContainerNotFound").unwrap_err().what, "404 ContainerNotFound");
        let list = Call::List { prefix: "b/".into(), least: 2 };
        let body =
            |names: usize| format!("<EnumerationResults>{}</EnumerationResults>", "<Name>b</Name>".repeat(names));
        assert!(azure.judge(&list, &answer(200, None, &body(2))).is_ok());
        for wrong in [body(1), body(1001), body(2).replace("</Enum", "")] {
            assert_eq!(azure.judge(&list, &answer(200, None, &wrong)).unwrap_err().kind, Kind::WrongBody);
        }
    }
}
