//! The service of a trial: what it speaks, where it is, and what to use there. Nothing in it is a secret.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::url::Url;

/// The protocols that a target may name; not every probe measures each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    S3,
    DynamoDb,
    Sqs,
    AzureBlob,
    AzureTable,
    AzureQueue,
    Gcs,
    Firestore,
    Bigtable,
    PubSub,
    Swift,
}

impl Protocol {
    const ALL: [Protocol; 11] = [
        Protocol::S3,
        Protocol::DynamoDb,
        Protocol::Sqs,
        Protocol::AzureBlob,
        Protocol::AzureTable,
        Protocol::AzureQueue,
        Protocol::Gcs,
        Protocol::Firestore,
        Protocol::Bigtable,
        Protocol::PubSub,
        Protocol::Swift,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Protocol::S3 => "s3",
            Protocol::DynamoDb => "dynamodb",
            Protocol::Sqs => "sqs",
            Protocol::AzureBlob => "azure-blob",
            Protocol::AzureTable => "azure-table",
            Protocol::AzureQueue => "azure-queue",
            Protocol::Gcs => "gcs",
            Protocol::Firestore => "firestore",
            Protocol::Bigtable => "bigtable",
            Protocol::PubSub => "pubsub",
            Protocol::Swift => "swift",
        }
    }
}

/// Where a URL names the data set: in its path, or in front of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Path,
    Host,
}

/// The one service of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    pub protocol: Protocol,
    pub url: Url,
    pub data_set: String,
    pub region: Option<String>,
    pub style: Style,
    /// At least one: the agent resolves no names.
    pub addresses: Vec<IpAddr>,
    /// PEM text of roots that are trusted besides the system's.
    pub ca: Option<String>,
    /// The name of a credential of the job; `None` for a service that asks for none.
    pub credential_ref: Option<String>,
}

const FIELDS: [&str; 9] =
    ["role", "endpoint", "protocol", "data_set", "region", "style", "addresses", "ca", "credential_ref"];
const MOST_ADDRESSES: usize = 64;
const LONGEST_DATA_SET: usize = 512;
pub const LONGEST_CA: usize = 48 * 1024;
pub const PEM: &str = "-----BEGIN CERTIFICATE-----";

impl Service {
    /// Whether all traffic stays on this machine.
    pub fn stays(&self) -> bool {
        self.addresses.iter().all(IpAddr::is_loopback)
    }

    /// Reads the target strictly; the error describes the first mistake, and echoes nothing that may be a secret.
    pub fn read(fields: &Map<String, Value>, one_machine: fn(IpAddr) -> bool) -> Result<Service, String> {
        if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return Err(format!("unknown field {unknown:?} of a service"));
        }
        let url = Url::parse(text(fields, "endpoint")?.ok_or("a service needs an endpoint")?);
        let url = url.ok_or("the endpoint of a service is not a plain URL")?;
        let name = text(fields, "protocol")?.ok_or("a service needs a protocol")?;
        let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name);
        let protocol = protocol.ok_or_else(|| format!("a service has an unknown protocol {name:?}"))?;
        let data_set = text(fields, "data_set")?.ok_or("a service needs a data_set")?;
        if !is_path(data_set) {
            return Err("the data_set of a service is not a plain name or path".into());
        }
        let style = match text(fields, "style")? {
            None | Some("path") => Style::Path,
            Some("host") if url.address().is_none() && !data_set.contains('/') => Style::Host,
            Some("host") => return Err("style host needs an endpoint with a name, and a data_set without /".into()),
            Some(_) => return Err("the style of a service is neither path nor host".into()),
        };
        for (key, value) in [("region", text(fields, "region")?), ("credential_ref", text(fields, "credential_ref")?)] {
            if value.is_some_and(|value| !is_word(value)) {
                return Err(format!("the {key} of a service is not a plain word"));
            }
        }
        let ca = text(fields, "ca")?;
        if ca.is_some_and(|ca| ca.len() > LONGEST_CA || !ca.contains(PEM)) {
            return Err(format!("the ca of a service is not PEM text of at most {LONGEST_CA} bytes"));
        }
        let owned = |value: Option<&str>| value.map(str::to_owned);
        Ok(Service {
            protocol,
            addresses: addresses(fields, &url, one_machine)?,
            url,
            data_set: data_set.to_owned(),
            region: owned(text(fields, "region")?),
            style,
            ca: owned(ca),
            credential_ref: owned(text(fields, "credential_ref")?),
        })
    }
}

/// Reads the addresses of the endpoint's host; a host that is an address is the only one.
fn addresses(fields: &Map<String, Value>, url: &Url, one_machine: fn(IpAddr) -> bool) -> Result<Vec<IpAddr>, String> {
    let given = match fields.get("addresses") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) if (1..=MOST_ADDRESSES).contains(&list.len()) => {
            let ip = |value: &Value| value.as_str()?.parse().ok().map(|ip: IpAddr| ip.to_canonical());
            let ips: Option<Vec<IpAddr>> = list.iter().map(ip).collect();
            ips.ok_or("the addresses of a service are not ips")?
        }
        Some(_) => return Err(format!("the addresses of a service are not a list of 1 to {MOST_ADDRESSES}")),
    };
    let all = match url.address() {
        Some(own) if given.iter().all(|&ip| ip == own) => vec![own],
        Some(_) => return Err("the addresses of a service differ from its endpoint's".into()),
        None if given.is_empty() => {
            return Err("a service with a name needs addresses: this agent resolves none".into());
        }
        None => given,
    };
    if all.iter().copied().all(one_machine) {
        Ok(all)
    } else {
        Err("an address of a service is not one machine's".into())
    }
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| format!("the {key} of a service is not a string")),
    }
}

/// Whether a text is a short word of letters, digits, `-`, `_` and `.`.
pub fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

/// Whether a text is one or more plain names with slashes between, none of which means another folder.
fn is_path(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.():".contains(&byte);
    let name = |part: &str| !["", ".", ".."].contains(&part) && part.bytes().all(plain);
    text.len() <= LONGEST_DATA_SET && text.split('/').all(name)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<Service, String> {
        Service::read(value.as_object().unwrap(), |ip| !ip.is_unspecified() && !ip.is_multicast())
    }

    fn named() -> Value {
        json!({
            "role": "service", "endpoint": "https://s3.example.org/", "protocol": "s3", "data_set": "cloudcmp-x",
            "region": "us-east-1", "style": "host", "addresses": ["192.0.2.7", "2001:db8::7"],
            "ca": format!("{PEM}\nMAo=\n"), "credential_ref": "reader",
        })
    }

    #[test]
    fn a_service_is_read_with_all_its_fields_and_with_few() {
        let service = read(&named()).unwrap();
        assert_eq!((service.protocol, service.style, service.stays()), (Protocol::S3, Style::Host, false));
        assert_eq!(service.addresses, ["192.0.2.7", "2001:db8::7"].map(|ip| ip.parse::<IpAddr>().unwrap()));
        let small =
            json!({"role": "service", "endpoint": "http://127.0.0.1:9000", "protocol": "sqs", "data_set": "0/q"});
        let service = read(&small).unwrap();
        assert_eq!((service.protocol, service.style, service.stays()), (Protocol::Sqs, Style::Path, true));
        assert_eq!((service.credential_ref, service.region, service.ca), (None, None, None));
        for name in ["projects/P/databases/(default)/documents/C", "0/q.fifo", "example.org:p"] {
            assert!(is_path(name), "{name}");
        }
        for protocol in Protocol::ALL {
            let mut one = small.clone();
            one["protocol"] = protocol.name().into();
            assert_eq!(read(&one).unwrap().protocol, protocol);
        }
    }

    #[test]
    fn a_malformed_service_is_refused_in_one_line_without_echoing_a_secret() {
        for (key, value) in [
            ("endpoint", Value::Null),
            ("endpoint", json!("https://me:5ec3e7@example.org")),
            ("endpoint", json!("https://192.0.2.8")),
            ("protocol", Value::Null),
            ("protocol", json!("ftp")),
            ("protocol", json!(3)),
            ("data_set", Value::Null),
            ("data_set", json!("")),
            ("data_set", json!("a//b")),
            ("data_set", json!("../etc")),
            ("data_set", json!("a?sig=5ec3e7")),
            ("data_set", json!("a/b")),
            ("data_set", json!("a".repeat(LONGEST_DATA_SET + 1))),
            ("region", json!("us east")),
            ("style", json!("both")),
            ("addresses", Value::Null),
            ("addresses", json!([])),
            ("addresses", json!(["example.org"])),
            ("addresses", json!(["0.0.0.0"])),
            ("addresses", json!(["192.0.2.7:80"])),
            ("addresses", json!(["192.0.2.0/24"])),
            ("addresses", json!(vec!["192.0.2.7"; MOST_ADDRESSES + 1])),
            ("ca", json!("5ec3e7")),
            ("ca", json!(format!("{PEM}{}", "a".repeat(LONGEST_CA)))),
            ("credential_ref", json!("5ec3e7+/=")),
            ("address", json!("192.0.2.7")),
            ("secret", json!("5ec3e7")),
        ] {
            let mut target = named();
            target[key] = value.clone();
            let fault = read(&target).expect_err(&format!("{key} {value}"));
            assert!(!fault.contains("5ec3e7") && !fault.contains('\n'), "{fault}");
        }
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_services_of_any_shape_never_panic(key in prop::sample::select(FIELDS.to_vec()), text in r"\PC{0,40}") {
            let mut target = named();
            target[key] = text.into();
            if let Ok(service) = read(&target) {
                prop_assert!(!service.addresses.is_empty() && !service.data_set.contains(".."));
            }
        }
    }
}
