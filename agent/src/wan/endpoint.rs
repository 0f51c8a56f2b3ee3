//! The endpoint of a trial: its URL, the addresses to use in place of a look-up, and whom its certificate may be from.

use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::service::target::{LONGEST_CA, PEM};
use crate::service::url::Url;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub url: Url,
    /// Further addresses that answer for it, besides those that its name leads to from here.
    pub addresses: Vec<IpAddr>,
    /// PEM text of roots that are trusted besides the system's.
    pub ca: Option<String>,
}

const FIELDS: [&str; 4] = ["role", "endpoint", "addresses", "ca"];
const MOST_ADDRESSES: usize = 64;

impl Endpoint {
    /// Whether all traffic stays on this machine.
    pub fn stays(&self) -> bool {
        let own = self.url.host == "localhost" || self.url.address().is_some_and(|ip| ip.is_loopback());
        own && self.addresses.iter().all(IpAddr::is_loopback)
    }

    /// Reads the target strictly; the error describes the first mistake, and echoes nothing that may be a secret.
    pub fn read(fields: &Map<String, Value>, one_machine: fn(IpAddr) -> bool) -> Result<Endpoint, String> {
        if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return Err(format!("unknown field {unknown:?} of an endpoint"));
        }
        let url = fields.get("endpoint").and_then(Value::as_str).and_then(Url::parse);
        let url = url.ok_or("the endpoint is not a plain URL")?;
        if url.address().is_some_and(|ip| !one_machine(ip)) {
            return Err("the endpoint's address is not one machine's".into());
        }
        let ca = match fields.get("ca") {
            None | Some(Value::Null) => None,
            Some(Value::String(ca)) if ca.len() <= LONGEST_CA && ca.contains(PEM) => Some(ca.clone()),
            Some(_) => return Err(format!("the ca of an endpoint is not PEM text of at most {LONGEST_CA} bytes")),
        };
        Ok(Endpoint { url, addresses: addresses(fields, one_machine)?, ca })
    }
}

fn addresses(fields: &Map<String, Value>, one_machine: fn(IpAddr) -> bool) -> Result<Vec<IpAddr>, String> {
    let list = match fields.get("addresses") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MOST_ADDRESSES => list,
        Some(_) => return Err(format!("the addresses of an endpoint are not a list of at most {MOST_ADDRESSES}")),
    };
    let ip = |value: &Value| value.as_str()?.parse().ok().map(|ip: IpAddr| ip.to_canonical());
    let ips: Option<Vec<IpAddr>> = list.iter().map(ip).collect();
    let ips = ips.ok_or("the addresses of an endpoint are not ips")?;
    if ips.iter().copied().all(one_machine) {
        Ok(ips)
    } else {
        Err("an address of an endpoint is not one machine's".into())
    }
}
