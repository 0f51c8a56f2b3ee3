//! The job: the one line of input, read strictly. Hostile bytes cause a fault, never a panic.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::caps::Caps;
use crate::fault::Fault;
use crate::service::credential::{self, Credential, unhex};
use crate::targets::{self, Link, Role};
use crate::wire::{LINE_LIMIT, VERSION};

/// A job as it was sent. The probe's table checks `params`.
#[derive(Debug)]
pub struct Job {
    pub probe: String,
    pub params: BTreeMap<String, String>,
    pub role: Role,
    pub cpus: Vec<usize>,
    pub dir: Option<PathBuf>,
    pub link: Link,
    pub secret: Option<[u8; 32]>,
    /// By the name that a target's `credential_ref` says.
    pub credentials: BTreeMap<String, Credential>,
    pub deadline_s: f64,
    /// The longest lifetime of the process, counted from its start.
    pub lease_s: Option<f64>,
    /// The effective caps, including defaults.
    pub caps: Caps,
    pub seed: u64,
}

const FIELDS: [&str; 16] = [
    "v",
    "seq",
    "type",
    "probe",
    "params",
    "role",
    "cpus",
    "dir",
    "listen",
    "targets",
    "secret",
    "credentials",
    "deadline_s",
    "seed",
    "caps",
    "lease_s",
];
/// The longest deadline and the longest lease: a lease covers many trials.
const DEADLINE_S: f64 = 7.0 * 86_400.0;
const LEASE_S: f64 = 366.0 * 86_400.0;
const NEXT: &str = "send one job line of wire version 2";

/// Parses one line without its line feed.
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
    if fields.get("v").and_then(Value::as_u64) != Some(VERSION) {
        return Err(bad(format!("v is not {VERSION}")));
    }
    if fields.get("seq").and_then(Value::as_u64) != Some(0) {
        return Err(bad("seq is not 0: a line is missing before it"));
    }
    if text(&fields, "type")? != "job" {
        return Err(bad("type is not \"job\""));
    }
    let role = role(&fields)?;
    let link = targets::read(role, optional_text(&fields, "listen")?, fields.get("targets")).map_err(bad)?;
    Ok(Job {
        probe: text(&fields, "probe")?.to_owned(),
        params: params(&fields)?,
        role,
        cpus: cpus(&fields)?,
        dir: optional_text(&fields, "dir")?.map(PathBuf::from),
        secret: optional_text(&fields, "secret")?.map(secret).transpose()?,
        credentials: credentials(&fields, &link)?,
        deadline_s: time(&fields, "deadline_s", DEADLINE_S)?.ok_or_else(|| bad("deadline_s is missing"))?,
        lease_s: time(&fields, "lease_s", LEASE_S)?,
        caps: caps(&fields, &link)?,
        link,
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
    Role::PLAYED.into_iter().find(|role| role.name() == name).ok_or_else(|| bad(format!("unknown role {name:?}")))
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

/// Reads the job's caps; between machines, missing caps get defaults.
fn caps(fields: &Map<String, Value>, link: &Link) -> Result<Caps, Fault> {
    let given = match fields.get("caps") {
        None | Some(Value::Null) => Caps::default(),
        Some(Value::Object(given)) => Caps::read(given).map_err(bad)?,
        Some(_) => return Err(bad("caps is not an object")),
    };
    Ok(if link.stays() { given } else { given.between_machines() })
}

fn secret(text: &str) -> Result<[u8; 32], Fault> {
    unhex(text).ok_or_else(|| bad("secret is not 64 hexadecimal digits")) // never echo it
}

/// Reads the credentials; the one that the service's target names must be there.
fn credentials(fields: &Map<String, Value>, link: &Link) -> Result<BTreeMap<String, Credential>, Fault> {
    let credentials = credential::read(fields.get("credentials")).map_err(bad)?;
    let named = link.service().and_then(|service| service.credential_ref.as_deref());
    match named.filter(|&name| !credentials.contains_key(name)) {
        Some(name) => Err(bad(format!("credentials has no {name:?}, which a target names"))),
        None => Ok(credentials),
    }
}

/// Reads a positive number of seconds; `None` if the field is missing or null.
fn time(fields: &Map<String, Value>, key: &str, longest_s: f64) -> Result<Option<f64>, Fault> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(seconds) if seconds > 0.0 && seconds <= longest_s => Ok(Some(seconds)),
            _ => Err(bad(format!("{key} is not between 0 and {} days", longest_s / 86_400.0))),
        },
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
        assert_eq!(last.link, Link::Connects { to: "10.0.0.5:4711".parse().unwrap(), others: Vec::new() });
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
    fn p15_caps_hold_by_default_only_where_traffic_leaves_the_machine() {
        let job = |(at, client): (&str, &str), more: &str| {
            let line = format!(
                r#"{{"v":2,"seq":0,"type":"job","probe":"tcp","params":{{}},"role":"server","cpus":[0],"listen":"{at}","targets":[{{"role":"client","address":"{client}"}}],"deadline_s":9,"seed":7{more}}}"#
            );
            parse(line.as_bytes())
        };
        for inside in [
            ("127.0.0.1:0", "127.0.0.1"),
            ("127.9.9.9:0", "127.0.0.1"),
            ("[::1]:0", "::1"),
            ("[::ffff:127.0.0.1]:0", "127.0.0.1"),
        ] {
            assert_eq!(job(inside, "").unwrap().caps, Caps::default(), "{inside:?}");
            let named = job(inside, r#","caps":{"bytes":5}"#).unwrap().caps;
            assert_eq!(named, Caps { bytes: Some(5), ..Caps::default() });
        }
        for outside in [
            ("10.0.0.5:0", "10.0.0.5"),
            ("127.0.0.1:0", "10.0.0.9"),
            ("10.0.0.5:0", "127.0.0.1"),
            ("[fe80::1]:0", "fe80::2"),
        ] {
            assert_eq!(job(outside, "").unwrap().caps, Caps::default().between_machines(), "{outside:?}");
            let raised = job(outside, r#","caps":{"burst_s":1800}"#).unwrap().caps;
            assert_eq!((raised.burst_s, raised.bytes_per_s), (Some(1800.0), Some(6.25e8)));
        }
        let own = ("127.0.0.1:0", "127.0.0.1");
        assert_eq!(job(own, r#","lease_s":1.5,"caps":null"#).unwrap().lease_s, Some(1.5));
        for wrong in [r#""caps":[]"#, r#""caps":{"byte":1}"#, r#""lease_s":0"#, r#""lease_s":"1""#, r#""lease_s":1e9"#]
        {
            assert!(job(own, &format!(",{wrong}")).is_err(), "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn p28_a_changed_job_never_panics(
            line in any::<prop::sample::Index>(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
        ) {
            let mut bytes = line.get(&GOOD.lines().collect::<Vec<_>>()).as_bytes().to_vec();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = parse(&bytes);
        }

        #[test]
        fn p28_numbers_out_of_range_never_panic(
            deadline in any::<f64>(), seed in any::<i64>(), cpu in any::<i64>(), cap in any::<f64>(), bytes in any::<i64>()
        ) {
            let line = format!(
                r#"{{"v":2,"seq":0,"type":"job","probe":"fma","params":{{}},"role":"solo","cpus":[{cpu}],"deadline_s":{deadline},"seed":{seed},"lease_s":{cap},"caps":{{"bytes":{bytes},"burst_s":{cap}}}}}"#
            );
            if let Ok(job) = parse(line.as_bytes()) {
                prop_assert!(job.deadline_s > 0.0 && job.deadline_s.is_finite() && cpu >= 0 && seed >= 0);
                prop_assert!(job.caps.bytes.unwrap() > 0 && job.caps.burst_s.unwrap() > 0.0);
            }
        }
    }
}
