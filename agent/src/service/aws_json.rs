//! What DynamoDB and SQS have in common: JSON in signed POST requests, and errors that name their type.

use std::time::SystemTime;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Body;
use super::call::Answer;
use super::client::wrong_credential;
use super::content::hex;
use super::credential::Credential;
use super::outcome::{Failure, Kind};
use super::sigv4::{Signed, Signer};
use super::target::Service;
use crate::fault::{Fault, OrFault};

const REGION: &str = "us-east-1";
const JSON: &str = "application/x-amz-json-1.0";

/// One service of AWS that speaks JSON.
pub struct AwsJson {
    authority: String,
    path: String,
    /// The start of the header that names the operation.
    target: &'static str,
    signer: Option<(Signer, Option<String>)>,
}

impl AwsJson {
    /// `name` is the service's in signatures.
    pub fn new(
        service: &Service,
        credential: Option<&Credential>,
        name: &str,
        target: &'static str,
    ) -> Result<AwsJson, Fault> {
        let region = service.region.as_deref().unwrap_or(REGION);
        let signer = match credential {
            None => None,
            Some(Credential::SigV4 { access_key, session_token, keys }) => {
                Some((Signer::new(access_key, keys, region, name), session_token.clone()))
            }
            Some(_) => return Err(wrong_credential(service, "sigv4")),
        };
        Ok(AwsJson { authority: service.url.authority(None), path: format!("{}/", service.url.base), target, signer })
    }

    /// Builds the request of one operation.
    pub fn request(&self, operation: &str, body: String, now: SystemTime) -> Result<Request<Body>, Fault> {
        let target = format!("{}.{operation}", self.target);
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&self.path)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, JSON)
            .header("x-amz-target", &target);
        if let Some((signer, token)) = &self.signer {
            let mut headers = vec![("content-type", JSON)];
            headers.extend(token.as_deref().map(|token| ("x-amz-security-token", token)));
            headers.push(("x-amz-target", &target));
            let payload_hash = hex(&Sha256::digest(&body));
            let signed = Signed {
                method: "POST",
                path: &self.path,
                query: "",
                host: &self.authority,
                headers: &headers,
                payload_hash: &payload_hash,
            };
            let (time, authorization) = signer.sign(&signed, now)?;
            request = request.header("x-amz-date", time).header("authorization", authorization);
            if let Some(token) = token {
                request = request.header("x-amz-security-token", token);
            }
        }
        request.body(Body::bytes(Bytes::from(body))).or_fault("cannot build a request", "report this")
    }
}

/// Returns the document of a successful answer, or the failure that an answer reports.
pub fn document(answer: &Answer) -> Result<Value, Failure> {
    let document: Option<Value> = serde_json::from_slice(&answer.text).ok();
    if answer.status == http::StatusCode::OK {
        return document.filter(Value::is_object).ok_or_else(|| wrong("an answer that is no JSON object"));
    }
    if answer.status.is_success() {
        return Err(wrong(&format!("an answer with status {}", answer.status.as_u16())));
    }
    let text = |key: &str| document.as_ref().and_then(|document| document.get(key)).and_then(Value::as_str);
    // The name of a name space stands in front of the code: com.amazonaws.dynamodb.v20120810#ThrottlingException.
    let code = text("__type").map(|code| code.rsplit('#').next().unwrap_or(code));
    Err(Failure::of_status(answer.status, code, text("message").or(text("Message"))))
}

/// Returns the failure of an answer with other content than was asked for.
pub fn wrong(what: &str) -> Failure {
    Failure::new(Kind::WrongBody, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, StatusCode};
    use proptest::prelude::*;

    fn answer(status: u16, text: &str) -> Answer {
        let (status, text) = (StatusCode::from_u16(status).unwrap(), text.as_bytes().to_vec());
        Answer { status, headers: HeaderMap::new(), received: text.len() as u64, text }
    }

    #[test]
    fn an_error_is_told_with_its_own_code_and_a_success_must_be_an_object() {
        let failure = |status, text| document(&answer(status, text)).unwrap_err();
        let throttled = failure(400, r#"{"__type": "com.amazonaws.sqs#RequestThrottled", "message": "Too many."}"#);
        assert_eq!((throttled.kind, throttled.what.as_str()), (Kind::Throttled, "400 RequestThrottled: Too many."));
        let denied = failure(400, r#"{"__type": "com.amazon.coral.service#AccessDeniedException", "Message": "No."}"#);
        assert_eq!((denied.kind, denied.what.as_str()), (Kind::ClientError, "400 AccessDeniedException: No."));
        assert_eq!(failure(500, "<html>").kind, Kind::ServerError);
        for (status, text) in [(200, ""), (200, "[]"), (200, "{\"Item\":"), (204, "{}"), (201, "{}")] {
            assert_eq!(failure(status, text).kind, Kind::WrongBody, "{status} {text}");
        }
        assert!(document(&answer(200, "{}")).is_ok());
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_shape_never_panic(status in 100_u16..1000, text in r#"(\{("__type":)?)?\PC{0,30}\}?"#) {
            let right = document(&answer(status, &text)).is_ok();
            prop_assert!(!right || status == 200);
        }
    }
}
