//! The credentials of one trial: short-lived, from stdin, never printed.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::target::is_word;

/// What a service accepts as this trial's identity.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// Signing keys for one region and one service, by date; the secret key that they come from stays elsewhere.
    SigV4 { access_key: String, session_token: Option<String>, keys: BTreeMap<String, [u8; 32]> },
    /// A shared access signature: the query of each request.
    Sas { query: String },
    /// The key of an account of Azure, which signs each request.
    SharedKey { account: String, key: Vec<u8> },
    /// A header of each request.
    Token { header: String, value: String },
}

/// Prints the kind alone, because whatever prints a job must not print its secrets.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Credential::SigV4 { .. } => "sigv4",
            Credential::Sas { .. } => "sas",
            Credential::SharedKey { .. } => "shared-key",
            Credential::Token { .. } => "token",
        })
    }
}

const MOST: usize = 8;
const MOST_KEYS: usize = 16;
const LONGEST: usize = 8 * 1024;
const HEADERS: [&str; 2] = ["authorization", "x-auth-token"];

type Read = fn(&Map<String, Value>) -> Result<Credential, String>;

/// Reads the job's `credentials`; the error never echoes a value.
pub fn read(value: Option<&Value>) -> Result<BTreeMap<String, Credential>, String> {
    let given = match value {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(given)) if given.len() <= MOST => given,
        Some(_) => return Err(format!("credentials is not an object of at most {MOST}")),
    };
    let mut credentials = BTreeMap::new();
    for (i, (name, value)) in given.iter().enumerate() {
        if !is_word(name) {
            return Err(format!("the name of credential {i} is not a plain word"));
        }
        let one = value.as_object().ok_or("not an object".to_owned()).and_then(credential);
        credentials.insert(name.clone(), one.map_err(|what| format!("credential {name}: {what}"))?);
    }
    Ok(credentials)
}

fn credential(fields: &Map<String, Value>) -> Result<Credential, String> {
    let kind = fields.get("kind").and_then(Value::as_str);
    let (known, read): (&[&str], Read) = match kind {
        Some("sigv4") => (&["kind", "access_key", "session_token", "keys"], sigv4),
        Some("sas") => (&["kind", "query"], sas),
        Some("shared-key") => (&["kind", "account", "key"], shared_key),
        Some("token") => (&["kind", "header", "value"], token),
        _ => return Err("kind is none of sigv4, sas, shared-key and token".into()),
    };
    // Not echoed, because a misplaced secret could be the key.
    if fields.keys().any(|key| !known.contains(&key.as_str())) {
        return Err("an unknown field".into());
    }
    read(fields)
}

fn sigv4(fields: &Map<String, Value>) -> Result<Credential, String> {
    let access_key = visible(fields, "access_key")?.ok_or("no access_key")?;
    if access_key.contains(['/', ',', '=', ' ']) {
        return Err("access_key holds a character that no header allows".into());
    }
    let given = fields.get("keys").and_then(Value::as_object).ok_or("keys is not an object")?;
    if !(1..=MOST_KEYS).contains(&given.len()) {
        return Err(format!("keys does not hold 1 to {MOST_KEYS} dates"));
    }
    let mut keys = BTreeMap::new();
    for (date, key) in given {
        if date.len() != 8 || !date.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("keys has a name that is not a date of eight digits".into());
        }
        let key = key.as_str().and_then(unhex).ok_or("a key is not 64 hexadecimal digits")?;
        keys.insert(date.clone(), key);
    }
    let session_token = visible(fields, "session_token")?.map(str::to_owned);
    Ok(Credential::SigV4 { access_key: access_key.to_owned(), session_token, keys })
}

fn sas(fields: &Map<String, Value>) -> Result<Credential, String> {
    match visible(fields, "query")? {
        Some(query) if !query.starts_with(['?', '&']) && !query.contains(['#', ' ']) => {
            Ok(Credential::Sas { query: query.to_owned() })
        }
        _ => Err("query is not a query without its question mark".into()),
    }
}

fn shared_key(fields: &Map<String, Value>) -> Result<Credential, String> {
    let account = visible(fields, "account")?.filter(|name| is_word(name)).ok_or("account is not a plain word")?;
    let key = visible(fields, "key")?.and_then(|key| STANDARD.decode(key).ok()).ok_or("key is not base64")?;
    Ok(Credential::SharedKey { account: account.to_owned(), key })
}

fn token(fields: &Map<String, Value>) -> Result<Credential, String> {
    let header = visible(fields, "header")?.filter(|header| HEADERS.contains(header));
    let header = header.ok_or_else(|| format!("header is none of {}", HEADERS.join(" and ")))?;
    let value = visible(fields, "value")?.ok_or("no value")?;
    Ok(Credential::Token { header: header.to_owned(), value: value.to_owned() })
}

/// Reads a text of visible ASCII characters and inner spaces; `None` if the field is missing or null.
fn visible<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    let plain = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if (1..=LONGEST).contains(&text.len()) && plain(text) => Ok(Some(text)),
        Some(_) => Err(format!("{key} is not a short text of visible characters")),
    }
}

/// Reads 64 hexadecimal digits.
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0_u8; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const KEY: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

    fn one(value: Value) -> Result<Credential, String> {
        read(Some(&json!({"mine": value}))).map(|mut all| all.remove("mine").unwrap())
    }

    #[test]
    fn each_kind_is_read_and_printed_as_its_kind_alone() {
        let keys = json!({"20261126": KEY, "20261127": KEY});
        let sigv4 = one(json!({"kind": "sigv4", "access_key": "AKIA5ec3e7", "session_token": "a/b+c=", "keys": keys}));
        let Ok(Credential::SigV4 { keys, .. }) = &sigv4 else { panic!("{sigv4:?}") };
        assert_eq!((keys.len(), keys["20261127"][31]), (2, 0xf0));
        assert_eq!(format!("{:?}", sigv4.unwrap()), "sigv4");
        let sas = one(json!({"kind": "sas", "query": "sv=2026&sig=5ec3e7%3D"})).unwrap();
        assert_eq!(format!("{sas:?}"), "sas");
        let token = one(json!({"kind": "token", "header": "authorization", "value": "Bearer 5ec3e7"})).unwrap();
        assert_eq!(format!("{token:?}"), "token");
        let key = one(json!({"kind": "shared-key", "account": "one", "key": "AAECAw=="})).unwrap();
        assert_eq!(format!("{key:?}"), "shared-key");
        assert_eq!(key, Credential::SharedKey { account: "one".into(), key: vec![0, 1, 2, 3] });
        assert!(read(None).unwrap().is_empty() && read(Some(&Value::Null)).unwrap().is_empty());
    }

    #[test]
    fn a_malformed_credential_is_refused_in_one_line_without_its_secret() {
        let keys = json!({"20261126": KEY});
        for wrong in [
            json!("5ec3e7"),
            json!({}),
            json!({"kind": "5ec3e7"}),
            json!({"kind": "sigv4", "keys": keys}),
            json!({"kind": "sigv4", "access_key": "a/5ec3e7", "keys": keys}),
            json!({"kind": "sigv4", "access_key": "a\r\nx: 5ec3e7", "keys": keys}),
            json!({"kind": "sigv4", "access_key": "a"}),
            json!({"kind": "sigv4", "access_key": "a", "keys": {}}),
            json!({"kind": "sigv4", "access_key": "a", "keys": {"2026-11-26": KEY}}),
            json!({"kind": "sigv4", "access_key": "a", "keys": {"20261126": "5ec3e7"}}),
            json!({"kind": "sigv4", "access_key": "a", "keys": keys, "secret_key": "5ec3e7"}),
            json!({"kind": "sigv4", "access_key": "a", "keys": keys, "5ec3e7": 1}),
            json!({"kind": "sas"}),
            json!({"kind": "sas", "query": "?sig=5ec3e7"}),
            json!({"kind": "sas", "query": "sig=5ec3e7#"}),
            json!({"kind": "shared-key", "account": "a/5ec3e7", "key": "AAECAw=="}),
            json!({"kind": "shared-key", "account": "one", "key": "5ec3e7!"}),
            json!({"kind": "shared-key", "account": "one"}),
            json!({"kind": "token", "header": "host", "value": "5ec3e7"}),
            json!({"kind": "token", "header": "authorization", "value": "5ec3e7\n"}),
            json!({"kind": "token", "header": "authorization"}),
        ] {
            let fault = one(wrong.clone()).expect_err(&wrong.to_string());
            assert!(!fault.contains("5ec3e7") && !fault.contains('\n'), "{fault}");
        }
        assert!(read(Some(&json!([]))).is_err() && read(Some(&json!({"a b": {"kind": "sas", "query": "a"}}))).is_err());
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_credentials_of_any_shape_never_panic(
            kind in "sigv4|sas|shared-key|token", key in "access_key|session_token|keys|query|account|header|value|[a-z]{0,5}", text in r"\PC{0,70}"
        ) {
            let _ = one(json!({"kind": kind, "access_key": "a", "keys": {text.clone(): KEY}, key.clone(): text}));
            let _ = one(json!({"kind": kind, key: text}));
        }
    }
}
