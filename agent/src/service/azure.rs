//! What the protocols of Azure's storage services have in common: a shared access signature in each request's query
//! (or one of its headers by the account's key), the version of the interface, and how errors are told.

use std::time::SystemTime;

use http::header::{AUTHORIZATION, HOST};
use http::{Method, Request};

use super::Body;
use super::call::Answer;
use super::client::wrong_credential;
use super::credential::Credential;
use super::outcome::{Failure, Kind};
use super::shared_key::SharedKey;
use super::target::{Protocol, Service};
use super::xml;
use crate::fault::{Fault, OrFault};

const VERSION: &str = "2021-12-02";

pub type Header = (&'static str, &'static str);

/// One service of an account: where it is, and what every request to it carries.
pub struct Account {
    authority: String,
    tls: bool,
    /// The path of the account, without a slash at its end; empty where the account is in the host.
    base: String,
    signing: Signing,
}

/// How requests say whose they are.
enum Signing {
    No,
    /// A shared access signature, a query without its question mark.
    Sas(String),
    Key(SharedKey),
}

impl Account {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<Account, Fault> {
        let signing = match credential {
            None => Signing::No,
            Some(Credential::Sas { query }) => Signing::Sas(query.clone()),
            Some(Credential::SharedKey { account, key }) if service.protocol == Protocol::AzureTable => {
                Signing::Key(SharedKey::new(account, key))
            }
            Some(_) => return Err(wrong_credential(service, "sas")),
        };
        Ok(Account {
            authority: service.url.authority(None),
            tls: service.url.tls,
            base: service.url.base.clone(),
            signing,
        })
    }

    /// Returns the URL of a path below the account, without a signature, for the parts of a batch.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{}/{path}", if self.tls { "https" } else { "http" }, self.authority, self.base)
    }

    /// Builds a request of a path below the account, with a query that is encoded already.
    pub fn request(
        &self,
        method: Method,
        path: &str,
        query: &str,
        headers: &[Header],
        body: Body,
        now: SystemTime,
    ) -> Result<Request<Body>, Fault> {
        let mut uri = format!("{}/{path}", self.base);
        let mut request = Request::builder().method(method).header(HOST, &self.authority);
        request = request.header("x-ms-version", VERSION);
        if let Signing::Key(key) = &self.signing {
            let (date, header) = key.sign(&uri, now);
            request = request.header("x-ms-date", date).header(AUTHORIZATION, header);
        }
        let sas = if let Signing::Sas(query) = &self.signing { query } else { "" };
        for part in [query, sas].into_iter().filter(|part| !part.is_empty()) {
            uri.push(if uri.contains('?') { '&' } else { '?' });
            uri.push_str(part);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.uri(uri).body(body).or_fault("cannot build a request", "report this")
    }
}

/// Returns the service's code for an error, from its header or from the body where a service sends no such header.
pub fn code(answer: &Answer) -> Option<String> {
    let header = answer.headers.get("x-ms-error-code").and_then(|code| code.to_str().ok()).map(str::to_owned);
    header.or_else(|| told(answer).0)
}

/// Judges an answer that is not the one that the call should have.
pub fn failure(answer: &Answer) -> Failure {
    if answer.status.is_success() {
        return Failure::new(Kind::WrongBody, format!("an answer with status {}", answer.status.as_u16()));
    }
    let message = told(answer).1;
    // The number of the request and the time follow on lines of their own.
    let message = message.as_deref().and_then(|text| text.trim_start_matches('\u{feff}').lines().next());
    Failure::of_status(answer.status, code(answer).as_deref(), message)
}

/// Reads code and message from the body of an error: XML of blobs and queues, JSON of tables.
fn told(answer: &Answer) -> (Option<String>, Option<String>) {
    let text = String::from_utf8_lossy(&answer.text);
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(&text) {
        let error = &json["odata.error"];
        let word = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        return (word(&error["code"]), word(&error["message"]["value"]));
    }
    let word = |name| xml::text(&text, name).map(str::to_owned);
    (word("Code"), word("Message"))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use http::{HeaderMap, StatusCode};
    use proptest::prelude::*;

    pub fn answer(status: u16, code: Option<&'static str>, text: &str) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(code) = code {
            headers.insert("x-ms-error-code", code.parse().unwrap());
        }
        let text = text.as_bytes().to_vec();
        Answer { status: StatusCode::from_u16(status).unwrap(), headers, received: text.len() as u64, text }
    }

    #[test]
    fn an_error_is_one_line_with_the_services_own_code() {
        let of = |status, code, text| {
            let failure = failure(&answer(status, code, text));
            (failure.kind, failure.what)
        };
        let xml = "\u{feff}<?xml?><Error><Code>ServerBusy</Code><Message>Busy.\nRequestId:1\nTime:2</Message></Error>";
        assert_eq!(of(503, None, xml), (Kind::Throttled, "503 ServerBusy: Busy.".into()));
        assert_eq!(of(503, Some("ServerBusy"), "").0, Kind::Throttled);
        assert_eq!(of(500, Some("OperationTimedOut"), "").0, Kind::Throttled);
        assert_eq!(of(429, None, "").0, Kind::Throttled);
        assert_eq!(of(500, Some("InternalError"), "").0, Kind::ServerError);
        let json =
            r#"{"odata.error":{"code":"TableNotFound","message":{"lang":"en-US","value":"None.\nRequestId:1"}}}"#;
        assert_eq!(of(404, None, json), (Kind::ClientError, "404 TableNotFound: None.".into()));
        assert_eq!(of(206, None, "").0, Kind::WrongBody);
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_errors_of_any_shape_never_panic(status in 200_u16..600, text in r#"(</?Code>|\{"odata.error":|[{}"]|\PC{0,6}){0,9}"#) {
            let what = failure(&answer(status, None, &text)).what;
            prop_assert!(!what.contains('\n'));
        }
    }
}
