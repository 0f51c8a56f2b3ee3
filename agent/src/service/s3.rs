//! S3 and what is compatible with it, over HTTP/1.1: path-style and host-style URLs, signature version 4 or none.

use std::collections::HashMap;
use std::sync::RwLock;
use std::time::SystemTime;

use http::header::{CONTENT_RANGE, HOST, RANGE};
use http::{HeaderValue, Method, StatusCode};

use super::call::{Answer, Blob, Call, Reading};
use super::client::{foreign_call, wrong_credential};
use super::credential::Credential;
use super::outcome::{Done, Failure, Kind, plain};
use super::sigv4::{self, EMPTY, Signed, Signer, UNSIGNED};
use super::target::{Protocol as Name, Service, Style};
use super::{Body, Protocol, content, xml};
use crate::fault::{Fault, OrFault};

const REGION: &str = "us-east-1";

pub struct S3 {
    authority: String,
    region: String,
    /// The path of the bucket, without a slash at its end.
    root: String,
    signer: Option<(Signer, Option<String>)>,
    /// Bodies are not signed where TLS protects them.
    tls: bool,
    digests: RwLock<HashMap<Blob, String>>,
}

impl S3 {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<S3, Fault> {
        let (url, bucket) = (&service.url, &service.data_set);
        let (authority, root) = match service.style {
            Style::Path => (url.authority(None), format!("{}/{}", url.base, sigv4::encode(bucket, true))),
            Style::Host => (url.authority(Some(bucket)), url.base.clone()),
        };
        let region = service.region.as_deref().unwrap_or(REGION);
        let signer = match credential {
            None => None,
            Some(Credential::SigV4 { access_key, session_token, keys }) => {
                Some((Signer::new(access_key, keys, region, "s3"), session_token.clone()))
            }
            Some(_) => return Err(wrong_credential(service, "sigv4")),
        };
        Ok(S3 { authority, region: region.to_owned(), root, signer, tls: url.tls, digests: RwLock::default() })
    }

    /// Returns the hash of a blob's content, computed once.
    fn digest(&self, blob: &Blob) -> String {
        if let Some(digest) = self.digests.read().ok().and_then(|digests| digests.get(blob).cloned()) {
            return digest;
        }
        let digest = content::sha256(blob);
        if let Ok(mut digests) = self.digests.write() {
            digests.insert(*blob, digest.clone());
        }
        digest
    }
}

impl Protocol for S3 {
    fn prepare(&self, call: &Call) {
        if let (Call::Upload(blob), false) = (call, self.tls) {
            self.digest(blob);
        }
    }

    fn request(&self, call: &Call, now: SystemTime) -> Result<(http::Request<Body>, Reading), Fault> {
        let object = |blob: &Blob| format!("{}/{}", self.root, blob.key());
        let list = |most: u32, prefix: &str| {
            let query = format!("list-type=2&max-keys={most}&prefix={}", sigv4::encode(prefix, false));
            (Method::GET, format!("{}/", self.root), query, Body::empty(), Reading::Text)
        };
        let (method, path, query, body, reading) = match call {
            Call::Download(blob) => (Method::GET, object(blob), String::new(), Body::empty(), Reading::Content(*blob)),
            Call::Exists(blob) | Call::Look(blob) => {
                (Method::GET, object(blob), String::new(), Body::empty(), Reading::Text)
            }
            Call::Upload(blob) => (Method::PUT, object(blob), String::new(), Body::blob(*blob), Reading::Text),
            Call::Delete(blob) => (Method::DELETE, object(blob), String::new(), Body::empty(), Reading::Text),
            Call::Find(blob) => list(1, &blob.key()),
            Call::List { prefix, .. } => list(1000, prefix),
            _ => return Err(foreign_call(Name::S3)),
        };
        let uri = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        let hash = match call {
            _ if self.tls => UNSIGNED.to_owned(),
            Call::Upload(blob) => self.digest(blob),
            _ => EMPTY.to_owned(),
        };
        let mut request = http::Request::builder().method(method.clone()).uri(uri).header(HOST, &self.authority);
        if let Call::Exists(_) = call {
            request = request.header(RANGE, "bytes=0-0");
        }
        if let Some((signer, token)) = &self.signer {
            let mut headers = vec![("x-amz-content-sha256", hash.as_str())];
            headers.extend(token.as_deref().map(|token| ("x-amz-security-token", token)));
            let signed = Signed {
                method: method.as_str(),
                path: &path,
                query: &query,
                host: &self.authority,
                headers: &headers,
                payload_hash: &hash,
            };
            let (time, authorization) = signer.sign(&signed, now)?;
            request = request.header("x-amz-date", time).header("authorization", authorization);
            for (name, value) in headers {
                request = request.header(name, value);
            }
        }
        let request = request.body(body).or_fault("cannot build a request", "report this")?;
        Ok((request, reading))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        let text = String::from_utf8_lossy(&answer.text);
        let done = |bytes, there| Ok(Done::new(bytes, there));
        match (call, answer.status) {
            (Call::Download(blob), StatusCode::OK) => done(blob.size, true),
            (Call::Upload(blob), StatusCode::OK) => done(blob.size, true),
            (Call::Delete(_), StatusCode::OK | StatusCode::NO_CONTENT) => done(0, false),
            (Call::Exists(blob), StatusCode::OK | StatusCode::PARTIAL_CONTENT) => {
                let total = answer.headers.get(CONTENT_RANGE).and_then(total);
                let total = if answer.status == StatusCode::OK { Some(answer.received) } else { total };
                let right = total == Some(blob.size) && content::is_right(blob, 0, &answer.text);
                done(answer.received, right)
            }
            (Call::Look(blob), StatusCode::OK) => {
                let right = answer.received == blob.size && content::is_right(blob, 0, &answer.text);
                done(answer.received, right)
            }
            (Call::Exists(_) | Call::Look(_), StatusCode::NOT_FOUND)
                if xml::text(&text, "Code") != Some("NoSuchBucket") =>
            {
                done(0, false)
            }
            (Call::Find(_), StatusCode::OK) if is_list(&text) => done(answer.received, xml::count(&text, "Key") > 0),
            (Call::List { least, .. }, StatusCode::OK) => {
                let (names, whole) = (xml::count(&text, "Key"), is_list(&text));
                if !whole || names < *least || names > 1000 {
                    let what = format!("a list of {names} names, and there are {least}");
                    return Err(Failure::new(Kind::WrongBody, what));
                }
                done(answer.received, true)
            }
            (_, status) => {
                let mut failure = Failure::of_status(status, xml::text(&text, "Code"), xml::text(&text, "Message"));
                // The one who made a mistake about the region wants to know the right one; the agent goes nowhere else.
                let region = answer.headers.get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
                let region = region.or(xml::text(&text, "Region")).filter(|&region| region != self.region);
                if let Some(region) = region.filter(|_| status.as_u16() < 500) {
                    failure.what += &format!(" (the bucket's region is {})", plain(region));
                }
                if status.is_success() {
                    failure = Failure::new(Kind::WrongBody, format!("an answer with status {}", status.as_u16()));
                }
                Err(failure)
            }
        }
    }
}

/// Whether a text is a whole answer to a list.
fn is_list(text: &str) -> bool {
    text.contains("<ListBucketResult") && text.trim_end().ends_with("</ListBucketResult>")
}

/// Reads the length of the whole from `bytes 0-0/1024`.
fn total(range: &HeaderValue) -> Option<u64> {
    range.to_str().ok()?.rsplit('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, UNIX_EPOCH};

    use http::HeaderMap;
    use serde_json::json;

    use super::super::call::Set;
    use super::*;

    const BLOB: Blob = Blob { set: Set::Kept, size: 1024, index: 7, version: 0 };

    fn s3(endpoint: &str, style: &str, credential: Option<&Credential>) -> S3 {
        let target = json!({
            "role": "service", "endpoint": endpoint, "protocol": "s3", "data_set": "mine", "region": "eu-west-1",
            "style": style, "addresses": ["192.0.2.7"],
        });
        S3::new(&Service::read(target.as_object().unwrap(), |_| true).unwrap(), credential).unwrap()
    }

    fn signing() -> Credential {
        let keys = BTreeMap::from([("19700101".to_owned(), [7; 32])]);
        Credential::SigV4 { access_key: "AKIA".into(), session_token: Some("a/b=".into()), keys }
    }

    fn header<'a>(request: &'a http::Request<Body>, name: &str) -> &'a str {
        request.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn the_bucket_is_in_the_path_or_in_front_of_the_host() {
        for (endpoint, style, host, uri) in [
            ("https://s3.example.org", "path", "s3.example.org", "/mine/b/1024/000007"),
            ("https://s3.example.org:444/base/", "path", "s3.example.org:444", "/base/mine/b/1024/000007"),
            ("https://s3.example.org", "host", "mine.s3.example.org", "/b/1024/000007"),
        ] {
            let (request, reading) = s3(endpoint, style, None).request(&Call::Download(BLOB), UNIX_EPOCH).unwrap();
            assert_eq!((header(&request, "host"), request.uri().to_string().as_str()), (host, uri));
            assert_eq!((reading, header(&request, "authorization")), (Reading::Content(BLOB), ""));
        }
        let list = Call::List { prefix: "b/1024/".into(), least: 1 };
        let (request, _) = s3("http://s3.example.org", "path", None).request(&list, UNIX_EPOCH).unwrap();
        assert_eq!(request.uri(), "/mine/?list-type=2&max-keys=1000&prefix=b%2F1024%2F");
        let (request, _) = s3("http://s3.example.org", "path", None).request(&Call::Exists(BLOB), UNIX_EPOCH).unwrap();
        assert_eq!((header(&request, "range"), request.method()), ("bytes=0-0", &Method::GET));
    }

    #[test]
    fn a_body_is_signed_where_nothing_else_protects_it() {
        let credential = signing();
        for (endpoint, hash) in
            [("http://s3.example.org", content::sha256(&BLOB)), ("https://s3.example.org", UNSIGNED.to_owned())]
        {
            let s3 = s3(endpoint, "path", Some(&credential));
            let (request, _) = s3.request(&Call::Upload(BLOB), UNIX_EPOCH + Duration::from_secs(60)).unwrap();
            assert_eq!(header(&request, "x-amz-content-sha256"), hash);
            assert_eq!(header(&request, "x-amz-date"), "19700101T000100Z");
            assert_eq!(header(&request, "x-amz-security-token"), "a/b=");
            let signed = "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, ";
            assert!(header(&request, "authorization").contains(signed));
            let next_day = s3.request(&Call::Upload(BLOB), UNIX_EPOCH + Duration::from_secs(86_400));
            assert!(next_day.err().unwrap().what.contains("no signing key for 19700102"));
        }
        let token = Credential::Token { header: "authorization".into(), value: "x".into() };
        let target = json!({"role": "service", "endpoint": "http://[::1]", "protocol": "s3", "data_set": "mine"});
        let service = Service::read(target.as_object().unwrap(), |_| true).unwrap();
        assert!(S3::new(&service, Some(&token)).is_err());
    }

    #[test]
    fn answers_are_judged_by_what_was_asked() {
        let s3 = s3("https://s3.example.org", "path", None);
        let judge = |call: &Call, status: u16, text: &str, headers: &[(&'static str, &'static str)]| {
            let pairs =
                headers.iter().map(|(name, value)| ((*name).try_into().unwrap(), HeaderValue::from_static(value)));
            let headers: HeaderMap = pairs.map(|(name, value): (http::HeaderName, _)| (name, value)).collect();
            let status = StatusCode::from_u16(status).unwrap();
            let answer = Answer { status, headers, text: text.into(), received: text.len() as u64 };
            s3.judge(call, &answer).map_err(|failure| (failure.kind, failure.what))
        };
        let there = |there| Ok(Done::new(1, there));
        let first = String::from_utf8_lossy(&content::piece(&BLOB, 0)[..1]).into_owned();
        if first.len() == 1 {
            assert_eq!(judge(&Call::Exists(BLOB), 206, &first, &[("content-range", "bytes 0-0/1024")]), there(true));
            assert_eq!(judge(&Call::Exists(BLOB), 206, &first, &[("content-range", "bytes 0-0/9")]), there(false));
        }
        let gone = Ok(Done::new(0, false));
        assert_eq!(judge(&Call::Exists(BLOB), 404, "<Error><Code>NoSuchKey</Code></Error>", &[]), gone);
        assert_eq!(judge(&Call::Look(BLOB), 404, "", &[]), gone);
        assert_eq!(judge(&Call::Look(BLOB), 200, "other", &[]), Ok(Done::new(5, false)));
        let bucket = "<Error><Code>NoSuchBucket</Code><Message>no\nsuch</Message></Error>";
        let what = "404 NoSuchBucket: no such".to_owned();
        assert_eq!(judge(&Call::Exists(BLOB), 404, bucket, &[]), Err((Kind::ClientError, what)));
        let moved = judge(&Call::Download(BLOB), 301, "", &[("x-amz-bucket-region", "us-west-2")]);
        let what = "301 Moved Permanently (the bucket's region is us-west-2)".to_owned();
        assert_eq!(moved, Err((Kind::ClientError, what)));
        let own = judge(&Call::Download(BLOB), 403, "", &[("x-amz-bucket-region", "eu-west-1")]);
        assert_eq!(own, Err((Kind::ClientError, "403 Forbidden".to_owned())));
        let list = |least| Call::List { prefix: "b/".into(), least };
        let names = "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>\n";
        assert!(judge(&list(1), 200, names, &[]).is_ok());
        for (least, text) in [(2, names), (1, &names[..names.len() - 3]), (0, "<html></html>")] {
            assert_eq!(judge(&list(least), 200, text, &[]).unwrap_err().0, Kind::WrongBody, "{text}");
        }
        assert_eq!(judge(&Call::Upload(BLOB), 202, "", &[]).unwrap_err().0, Kind::WrongBody);
        assert_eq!(judge(&Call::Delete(BLOB), 204, "", &[]), gone);
    }
}
