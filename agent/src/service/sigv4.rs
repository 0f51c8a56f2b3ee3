//! Signatures of AWS requests, version 4, from a signing key.
//!
//! Written here, because signing libraries (reqsign among them) start from the long-lived secret key, which never
//! leaves the controller: the agent gets keys that are good for one day, one region and one service.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::content::hex;
use crate::fault::Fault;

/// The payload hash of a request whose body TLS protects.
pub const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
/// The SHA-256 of no bytes.
pub const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Signs for one access key, one region and one service.
pub struct Signer {
    access_key: String,
    /// By date; each is ready to sign.
    keys: BTreeMap<String, Hmac<Sha256>>,
    scope: String,
}

/// What is signed of a request. Headers are lower-case and sorted by name, without `host` and `x-amz-date`.
pub struct Signed<'a> {
    pub method: &'a str,
    /// As it is sent: encoded, sorted.
    pub path: &'a str,
    pub query: &'a str,
    pub host: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub payload_hash: &'a str,
}

impl Signer {
    pub fn new(access_key: &str, keys: &BTreeMap<String, [u8; 32]>, region: &str, service: &str) -> Signer {
        let ready = |(date, key): (&String, &[u8; 32])| {
            (date.clone(), Hmac::new_from_slice(key).expect("HMAC takes a key of any length"))
        };
        Signer {
            access_key: access_key.to_owned(),
            keys: keys.iter().map(ready).collect(),
            scope: format!("{region}/{service}/aws4_request"),
        }
    }

    /// Returns the headers `x-amz-date` and `authorization` of a request.
    pub fn sign(&self, request: &Signed, now: SystemTime) -> Result<(String, String), Fault> {
        let time = timestamp(now);
        let date = &time[..8];
        let Some(key) = self.keys.get(date) else {
            let what = format!("there is no signing key for {date} (UTC)");
            return Err(Fault::failed(what, "set this machine's clock, or give keys for every day of the trial"));
        };
        let mut headers: Vec<(&str, &str)> = request.headers.to_vec();
        headers.extend([("host", request.host), ("x-amz-date", &time)]);
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let mut text = format!("{}\n{}\n{}\n", request.method, request.path, request.query);
        for (name, value) in &headers {
            text.extend([name, ":", value, "\n"]);
        }
        text.extend(["\n", &names, "\n", request.payload_hash]);
        let scope = format!("{date}/{}", self.scope);
        let signed = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(text)));
        let signature = hex(&key.clone().chain_update(signed).finalize().into_bytes());
        let access_key = &self.access_key;
        let header =
            format!("AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}");
        Ok((time, header))
    }
}

/// Encodes a text for a path, which keeps its slashes, or for a query.
pub fn encode(text: &str, slashes: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            b'/' if slashes => encoded.push('/'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// A time in UTC: days since 1970, the date, and the second of the day.
pub struct Civil {
    pub days: u64,
    pub year: u64,
    pub month: u64,
    pub day: u64,
    pub second: u64,
}

/// Returns a time as `20261126T042500Z`.
fn timestamp(time: SystemTime) -> String {
    let Civil { year, month, day, second, .. } = civil(time);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Returns the date of a time; times before 1970 are the first of that year.
pub fn civil(time: SystemTime) -> Civil {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of year 0, in eras of 400 years of which each begins on that day.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    Civil { days, year: era * 400 + year + u64::from(month < 3), month, day, second }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn hmac(key: &[u8], text: &str) -> [u8; 32] {
        Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(text).finalize().into_bytes().into()
    }

    /// Derives the signing key as the controller does.
    fn derive(secret: &str, date: &str, region: &str, service: &str) -> [u8; 32] {
        let date_key = hmac(format!("AWS4{secret}").as_bytes(), date);
        hmac(&hmac(&hmac(&date_key, region), service), "aws4_request")
    }

    /// 2013-05-24 00:00:00 UTC.
    fn then() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_369_353_600)
    }

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

    /// The examples of "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" in the
    /// Amazon S3 API reference: method, path, query, other headers, payload hash, signature.
    type Example =
        (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);
    const EXAMPLES: [Example; 4] = [
        (
            "GET",
            "/test.txt",
            "",
            &[("range", "bytes=0-9"), ("x-amz-content-sha256", EMPTY)],
            EMPTY,
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT",
            "/test%24file.text",
            "",
            &[
                ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                ("x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"),
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ],
            "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET",
            "/",
            "lifecycle=",
            &[("x-amz-content-sha256", EMPTY)],
            EMPTY,
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET",
            "/",
            "max-keys=2&prefix=J",
            &[("x-amz-content-sha256", EMPTY)],
            EMPTY,
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ];

    #[test]
    fn the_published_examples_are_signed_as_published() {
        let key = derive(SECRET, "20130524", "us-east-1", "s3");
        let keys = BTreeMap::from([("20130524".to_owned(), key)]);
        let signer = Signer::new("AKIAIOSFODNN7EXAMPLE", &keys, "us-east-1", "s3");
        for (method, path, query, headers, payload_hash, signature) in EXAMPLES {
            let host = "examplebucket.s3.amazonaws.com";
            let request = Signed { method, path, query, host, headers, payload_hash };
            let (time, header) = signer.sign(&request, then()).unwrap();
            assert_eq!(time, "20130524T000000Z");
            assert!(header.ends_with(&format!("Signature={signature}")), "{path}?{query}: {header}");
            assert!(header.starts_with(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="
            ));
        }
        let fault = signer.sign(
            &Signed { method: "GET", path: "/", query: "", host: "a", headers: &[], payload_hash: EMPTY },
            UNIX_EPOCH,
        );
        assert_eq!(fault.unwrap_err().what, "there is no signing key for 19700101 (UTC)");
    }

    /// The example of "Deriving the signing key" in the AWS General Reference (signature version 4, version 1.0).
    #[test]
    fn the_published_signing_key_is_derived_as_published() {
        let key = derive("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830", "us-east-1", "iam");
        assert_eq!(hex(&key), "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9");
    }

    #[test]
    fn times_are_written_as_the_calendar_says() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_709_164_800, "20240229T000000Z"),
            (1_709_251_199, "20240229T235959Z"),
            (4_102_444_799, "20991231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    proptest! {
        #[test]
        fn encoding_leaves_plain_text_alone_and_nothing_else(text in r"\PC{0,30}") {
            let encoded = encode(&text, false);
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
            let mut bytes = Vec::new();
            let mut rest = encoded.bytes();
            while let Some(byte) = rest.next() {
                bytes.push(if byte == b'%' {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                } else {
                    byte
                });
            }
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), text);
        }
    }
}
