//! Limits on a trial's network traffic: caps from the job, and defaults between machines for caps the job omits.

use serde_json::{Map, Value};

use crate::fault::Fault;

/// Default caps between machines: bursts of one minute, 5 Gbit/s, half a million datagrams a second,
/// a million requests.
const BURST_S: f64 = 60.0;
const BYTES_PER_S: f64 = 5e9 / 8.0;
const PACKETS_PER_S: f64 = 5e5;
const OPERATIONS: u64 = 1_000_000;

const FIELDS: [&str; 5] = ["bytes", "bytes_per_s", "packets_per_s", "burst_s", "operations"];
const MOST_PER_S: f64 = 1e15;
const WEEK_S: f64 = 7.0 * 86_400.0;

/// Caps of one trial. The payload of both directions counts, headers and retransmissions do not. `None`: no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Caps {
    pub bytes: Option<u64>,
    pub bytes_per_s: Option<f64>,
    /// Counts datagrams and ping-pong messages, but not the segments of a bulk TCP stream.
    pub packets_per_s: Option<f64>,
    /// The longest time that `tcp` and `udp` may send without a break. Does not apply to ping-pong traffic.
    pub burst_s: Option<f64>,
    /// Counts requests to a service, because each may cost money.
    pub operations: Option<u64>,
}

/// The unit of traffic that a probe sends, both directions together.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub bytes: u64,
    pub packets: u64,
}

/// The traffic that the job's parameters request, as far as they state it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    pub items_per_s: Option<f64>,
    pub items: Option<f64>,
    pub burst_s: Option<f64>,
}

impl Caps {
    /// Reads the job's `caps` object strictly; the error describes the first mistake.
    pub fn read(given: &Map<String, Value>) -> Result<Caps, String> {
        if let Some(unknown) = given.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return Err(format!("unknown field caps.{unknown:?}"));
        }
        let whole = |key: &str| match given.get(key).map(Value::as_u64) {
            Some(None | Some(0)) => Err(format!("caps.{key} is not a whole number above 0")),
            other => Ok(other.flatten()),
        };
        let number = |key: &str, most: f64| match given.get(key).map(Value::as_f64) {
            None => Ok(None),
            Some(Some(value)) if value > 0.0 && value <= most => Ok(Some(value)),
            Some(_) => Err(format!("caps.{key} is not between 0 and {most}")),
        };
        Ok(Caps {
            bytes: whole("bytes")?,
            bytes_per_s: number("bytes_per_s", MOST_PER_S)?,
            packets_per_s: number("packets_per_s", MOST_PER_S)?,
            burst_s: number("burst_s", WEEK_S)?,
            operations: whole("operations")?,
        })
    }

    /// Returns the caps between machines: missing caps get defaults, and a missing byte cap follows from the other
    /// caps.
    pub fn between_machines(self) -> Caps {
        let burst_s = self.burst_s.unwrap_or(BURST_S);
        let bytes_per_s = self.bytes_per_s.unwrap_or(BYTES_PER_S);
        Caps {
            bytes: self.bytes.or(Some((burst_s * bytes_per_s).ceil() as u64)),
            bytes_per_s: Some(bytes_per_s),
            packets_per_s: self.packets_per_s.or(Some(PACKETS_PER_S)),
            burst_s: Some(burst_s),
            operations: self.operations.or(Some(OPERATIONS)),
        }
    }

    /// Returns the stricter of both rate caps for this item: items per second, and the cap's name and value.
    pub fn rate(&self, item: Item) -> Option<(f64, &'static str, f64)> {
        let bytes = self.bytes_per_s.map(|cap| (cap / item.bytes as f64, "bytes_per_s", cap));
        let packets = self.packets_per_s.filter(|_| item.packets > 0);
        let packets = packets.map(|cap| (cap / item.packets as f64, "packets_per_s", cap));
        bytes.into_iter().chain(packets).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Refuses a job that requests more than its caps allow, before a socket is opened.
    pub fn admit(&self, item: Item, demand: Demand) -> Result<(), Fault> {
        let refuse = |what: String, cap: &str| {
            let what = format!("bad job: its parameters ask for {what}");
            Err(Fault::bad_job(what, format!("ask for less, or raise caps.{cap}")))
        };
        if let (Some(wanted), Some(cap)) = (demand.burst_s, self.burst_s)
            && wanted > cap
        {
            let wanted = short(wanted);
            return refuse(format!("a burst of {wanted} s, and the cap is {cap} s"), "burst_s");
        }
        if let (Some(wanted), Some((most, name, cap))) = (demand.items_per_s, self.rate(item))
            && wanted > most * (1.0 + 1e-9)
        {
            let each = if name == "bytes_per_s" { item.bytes } else { item.packets };
            return refuse(format!("{name} {}, and the cap is {cap}", short(wanted * each as f64)), name);
        }
        if let (Some(wanted), Some(cap)) = (demand.items, self.bytes)
            && wanted * item.bytes as f64 > cap as f64
        {
            return refuse(format!("{} bytes, and the cap is {cap}", short(wanted * item.bytes as f64)), "bytes");
        }
        Ok(())
    }
}

/// Rounds a number for a sentence, to hide floating-point noise.
fn short(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Caps, String> {
        Caps::read(value.as_object().unwrap())
    }

    #[test]
    fn caps_are_read_strictly() {
        let caps =
            read(json!({"bytes": 5, "bytes_per_s": 1.5, "packets_per_s": 2, "burst_s": 3, "operations": 4})).unwrap();
        let rates = Caps { bytes_per_s: Some(1.5), packets_per_s: Some(2.0), burst_s: Some(3.0), ..Caps::default() };
        let right = Caps { bytes: Some(5), operations: Some(4), ..rates };
        assert_eq!((caps, read(json!({})).unwrap()), (right, Caps::default()));
        for wrong in [
            json!({"bytes": 0}),
            json!({"bytes": 1.5}),
            json!({"bytes": -1}),
            json!({"bytes": null}),
            json!({"bytes_per_s": 0}),
            json!({"bytes_per_s": "1"}),
            json!({"packets_per_s": 1e16}),
            json!({"burst_s": 1e9}),
            json!({"operations": 0}),
            json!({"operations": 1e3}),
            json!({"seconds": 1}),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn p15_between_machines_missing_caps_get_defaults_and_bytes_follow() {
        let caps = Caps::default().between_machines();
        assert_eq!((caps.burst_s, caps.bytes_per_s, caps.packets_per_s), (Some(60.0), Some(6.25e8), Some(5e5)));
        assert_eq!((caps.bytes, caps.operations), (Some(37_500_000_000), Some(1_000_000)));
        let raised = Caps { burst_s: Some(1800.0), packets_per_s: Some(1e6), ..Caps::default() }.between_machines();
        assert_eq!((raised.bytes, raised.packets_per_s), (Some(1_125_000_000_000), Some(1e6)));
        assert_eq!(Caps { bytes: Some(7), ..Caps::default() }.between_machines().bytes, Some(7));
    }

    #[test]
    fn p15_a_job_beyond_a_cap_is_refused_with_both_numbers() {
        let rates = Caps { bytes_per_s: Some(200.0), packets_per_s: Some(10.0), burst_s: Some(5.0), ..Caps::default() };
        let caps = Caps { bytes: Some(1000), ..rates };
        let item = Item { bytes: 10, packets: 2 };
        assert_eq!(caps.rate(item), Some((5.0, "packets_per_s", 10.0)));
        assert_eq!(caps.rate(Item { bytes: 100, packets: 2 }), Some((2.0, "bytes_per_s", 200.0)));
        assert_eq!(caps.rate(Item { bytes: 1, packets: 0 }), Some((200.0, "bytes_per_s", 200.0)));
        let most = Demand { items_per_s: Some(5.0), items: Some(100.0), burst_s: Some(5.0) };
        caps.admit(item, most).unwrap();
        for (more, words) in [
            (Demand { items_per_s: Some(5.1), ..most }, "packets_per_s 10.2, and the cap is 10"),
            (Demand { items: Some(101.0), ..most }, "1010 bytes, and the cap is 1000"),
            (Demand { burst_s: Some(5.5), ..most }, "a burst of 5.5 s, and the cap is 5 s"),
        ] {
            let fault = caps.admit(item, more).unwrap_err();
            assert!(fault.exit_code == 2 && fault.what.contains(words), "{}", fault.what);
            Caps::default().admit(item, more).unwrap();
        }
    }
}
