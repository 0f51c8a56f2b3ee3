//! The one line in: a job, read strictly. Hostile bytes give a fault, never a panic.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::wire::LINE_LIMIT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Solo,
    Server,
    Client,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Solo, Role::Server, Role::Client];

    pub fn name(self) -> &'static str {
        match self {
            Role::Solo => "solo",
            Role::Server => "server",
            Role::Client => "client",
        }
    }
}

/// Where a network probe binds (server) or connects to (client), and whom a server admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub address: SocketAddr,
    /// The one address that a server admits; its own address unless the job names another.
    pub admitted: IpAddr,
}

/// A job as it was sent; the probe's table checks `params`.
#[derive(Debug)]
pub struct Job {
    pub probe: String,
    pub params: BTreeMap<String, String>,
    pub role: Role,
    pub cpus: Vec<usize>,
    pub dir: Option<PathBuf>,
    pub peer: Option<Peer>,
    pub secret: Option<[u8; 32]>,
    pub deadline_s: f64,
    pub seed: u64,
}

const FIELDS: [&str; 12] =
    ["v", "seq", "type", "probe", "params", "role", "cpus", "dir", "peer", "secret", "deadline_s", "seed"];
const NEXT: &str = "send one job line of wire version 1";

/// Reads one line, without its line feed.
pub fn parse(line: &[u8]) -> Result<Job, Fault> {
    if line.len() >= LINE_LIMIT {
        return Err(bad("a line of 64 KiB or more"));
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| bad(format!("not JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return Err(bad("not a JSON object"));
    };
    if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(bad(format!("unknown field {unknown:?}")));
    }
    if fields.get("v").and_then(Value::as_u64) != Some(1) {
        return Err(bad("v is not 1"));
    }
    if fields.get("seq").and_then(Value::as_u64) != Some(0) {
        return Err(bad("seq is not 0: a line is missing before it"));
    }
    if text(&fields, "type")? != "job" {
        return Err(bad("type is not \"job\""));
    }
    Ok(Job {
        probe: text(&fields, "probe")?.to_owned(),
        params: params(&fields)?,
        role: role(&fields)?,
        cpus: cpus(&fields)?,
        dir: optional_text(&fields, "dir")?.map(PathBuf::from),
        peer: optional_text(&fields, "peer")?.map(peer).transpose()?,
        secret: optional_text(&fields, "secret")?.map(secret).transpose()?,
        deadline_s: deadline(&fields)?,
        seed: fields.get("seed").and_then(Value::as_u64).ok_or_else(|| bad("seed is not a whole number"))?,
    })
}

fn bad(what: impl std::fmt::Display) -> Fault {
    Fault::bad_job(format!("bad job: {what}"), NEXT)
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<&'a str, Fault> {
    fields.get(key).and_then(Value::as_str).ok_or_else(|| bad(format!("{key} is not a string")))
}

fn optional_text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, Fault> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() && !text.contains('\0') => Ok(Some(text)),
        Some(_) => Err(bad(format!("{key} is neither a string nor null"))),
    }
}

fn params(fields: &Map<String, Value>) -> Result<BTreeMap<String, String>, Fault> {
    let Some(Value::Object(params)) = fields.get("params") else {
        return Err(bad("params is not an object"));
    };
    let one = |(key, value): (&String, &Value)| match value.as_str() {
        Some(text) => Ok((key.clone(), text.to_owned())),
        None => Err(bad(format!("params.{key} is not a string"))),
    };
    params.iter().map(one).collect()
}

fn role(fields: &Map<String, Value>) -> Result<Role, Fault> {
    let name = text(fields, "role")?;
    Role::ALL.into_iter().find(|role| role.name() == name).ok_or_else(|| bad(format!("unknown role {name:?}")))
}

fn cpus(fields: &Map<String, Value>) -> Result<Vec<usize>, Fault> {
    let Some(Value::Array(list)) = fields.get("cpus") else {
        return Err(bad("cpus is not a list"));
    };
    let one = |value: &Value| match value.as_u64() {
        Some(cpu) if cpu < libc::CPU_SETSIZE as u64 => Ok(cpu as usize),
        _ => Err(bad(format!("cpus holds {value}"))),
    };
    let mut cpus = list.iter().map(one).collect::<Result<Vec<usize>, Fault>>()?;
    let sent = cpus.len();
    let mut seen = std::collections::BTreeSet::new();
    cpus.retain(|&cpu| seen.insert(cpu));
    if cpus.is_empty() || cpus.len() != sent {
        return Err(bad("cpus is empty or names one twice"));
    }
    Ok(cpus)
}

/// `ip:port`, or for a server `ip:port,ip`: the address to bind, and the one address to admit.
fn peer(text: &str) -> Result<Peer, Fault> {
    let (address, admitted) = text.split_once(',').map_or((text, None), |(address, ip)| (address, Some(ip)));
    let address: SocketAddr = address.parse().map_err(|_| bad(format!("peer {text:?} is not ip:port")))?;
    if address.ip().is_unspecified() || address.ip().is_multicast() {
        return Err(bad(format!("peer {text:?} is not one address")));
    }
    let admitted = match admitted {
        None => address.ip(),
        Some(ip) => ip.parse().map_err(|_| bad(format!("peer {text:?} admits no ip")))?,
    };
    Ok(Peer { address, admitted })
}

fn secret(text: &str) -> Result<[u8; 32], Fault> {
    let mut bytes = [0_u8; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(bad("secret is not 64 hexadecimal digits")); // never echo it
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(pair).map_err(|_| bad("secret is not text"))?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| bad("secret is not hexadecimal"))?;
    }
    Ok(bytes)
}

fn deadline(fields: &Map<String, Value>) -> Result<f64, Fault> {
    match fields.get("deadline_s").and_then(Value::as_f64) {
        Some(seconds) if seconds > 0.0 && seconds <= 7.0 * 86_400.0 => Ok(seconds),
        _ => Err(bad("deadline_s is not between 0 and a week")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = include_str!("../tests/golden/job-ok.ndjson");
    const BAD: &str = include_str!("../tests/golden/job-bad.ndjson");

    #[test]
    fn reads_every_golden_job() {
        let jobs: Vec<Job> = GOOD.lines().map(|line| parse(line.as_bytes()).unwrap()).collect();
        assert!(jobs.len() >= 9);
        let last = jobs.last().unwrap();
        assert_eq!((last.probe.as_str(), last.role, last.cpus.as_slice()), ("rtt", Role::Client, &[2, 3][..]));
        assert_eq!(last.peer.unwrap().admitted.to_string(), "10.0.0.5");
        assert_eq!(last.secret.unwrap()[31], 0x1f);
        assert_eq!(last.seed, u64::MAX);
    }

    #[test]
    fn refuses_every_bad_golden_job_in_one_line_without_its_secret() {
        for line in BAD.lines() {
            let fault = parse(line.as_bytes()).expect_err(line);
            assert_eq!(fault.exit_code, 2);
            assert!(fault.what.starts_with("bad job: ") && !fault.what.contains("5ec3e7"), "{}", fault.what);
        }
        assert!(parse(&vec![b' '; LINE_LIMIT]).is_err());
    }

    #[test]
    fn a_server_may_admit_another_address() {
        let named = peer("10.0.0.5:0,10.0.0.9").unwrap();
        assert_eq!((named.address.port(), named.admitted.to_string()), (0, "10.0.0.9".into()));
        assert!(peer("10.0.0.5:0,").is_err() && peer("10.0.0.5:0,x").is_err());
        assert!(peer("[::1]:5").is_ok() && peer("0.0.0.0:5").is_err() && peer("host:5").is_err());
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_changed_job_never_panics(line in 0..9_usize, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = GOOD.lines().nth(line).unwrap().as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = parse(&bytes);
        }

        #[test]
        fn numbers_out_of_range_never_panic(deadline in any::<f64>(), seed in any::<i64>(), cpu in any::<i64>()) {
            let line = format!(
                r#"{{"v":1,"seq":0,"type":"job","probe":"fma","params":{{}},"role":"solo","cpus":[{cpu}],"deadline_s":{deadline},"seed":{seed}}}"#
            );
            if let Ok(job) = parse(line.as_bytes()) {
                prop_assert!(job.deadline_s > 0.0 && job.deadline_s.is_finite() && cpu >= 0 && seed >= 0);
            }
        }
    }
}
