//! The cap that ended a trial, in words and in notes.

use crate::caps::Caps;
use crate::clock::seconds;
use crate::fault::{Fault, Outcome};
use crate::wire::{Out, finite};

/// The cap that ended a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReachedCap {
    /// All bytes are spent, after this many nanoseconds.
    Bytes(u64),
    /// All operations are spent, after this many nanoseconds.
    Operations(u64),
    Burst,
    /// The rate cap held the traffic back.
    Rate,
    /// The other side sends more than the rate cap.
    Flood,
}

impl ReachedCap {
    /// Returns the fault of a trial that this cap ended; `rate_cap` is the name and value of its rate cap.
    pub fn fault(self, caps: &Caps, rate_cap: Option<(&str, f64)>) -> Fault {
        let (name, cap) = rate_cap.unwrap_or(("bytes_per_s", 0.0));
        let (what, next) = match self {
            ReachedCap::Bytes(ns) => {
                let cap = caps.bytes.unwrap_or(0);
                let what = format!("the byte cap of {cap} was reached after {:.3} s", seconds(ns));
                (what, "raise caps.bytes, or ask for less time".into())
            }
            ReachedCap::Operations(ns) => {
                let cap = caps.operations.unwrap_or(0);
                let what = format!("the cap of {cap} operations was reached after {:.3} s", seconds(ns));
                (what, "raise caps.operations, or ask for less".into())
            }
            ReachedCap::Burst => {
                let cap = caps.burst_s.unwrap_or(0.0);
                (format!("the traffic outlasted its burst cap of {cap} s"), "raise caps.burst_s".into())
            }
            ReachedCap::Rate => {
                let what = format!("the cap of {cap} {name} held the traffic back: the network was not measured");
                (what, format!("raise caps.{name}, or ask for a lower rate where the probe has one"))
            }
            ReachedCap::Flood => {
                (format!("more came than the cap of {cap} {name}"), "give both sides of a trial the same caps".into())
            }
        };
        Fault { outcome: Outcome::Aborted, ..Fault::failed(what, next) }
    }

    /// Notes the cap.
    pub fn note(self, rate_cap: Option<(&str, f64)>, out: &Out) -> Result<(), Fault> {
        match (self, rate_cap) {
            (ReachedCap::Bytes(_), _) => out.note("capped", "bytes"),
            (ReachedCap::Operations(_), _) => out.note("capped", "operations"),
            (ReachedCap::Burst, _) => out.note("capped", "burst_s"),
            (ReachedCap::Flood, Some((name, _))) => out.note("capped", name),
            (ReachedCap::Rate, Some((name, cap))) => out.note(&format!("paced_to_{name}"), finite(cap)),
            _ => Ok(()),
        }
    }
}
