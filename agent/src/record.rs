//! A latency recorder: an HDR histogram of nanoseconds, sent as base64 of its V2 deflate form.

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::fault::{Fault, OrFault};

/// The largest recorded latency, ns; longer latencies count as this value.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// Latencies of one worker; recording neither allocates nor locks.
pub struct Recorder {
    histogram: Histogram<u64>,
}

impl Recorder {
    pub fn new() -> Recorder {
        let histogram = Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS).expect("bounds are constants");
        Recorder { histogram }
    }

    #[inline]
    pub fn record_ns(&mut self, ns: u64) {
        self.histogram.saturating_record(ns.max(1));
    }

    pub fn add(&mut self, other: &Recorder) {
        self.histogram.add(&other.histogram).expect("same bounds");
    }

    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.histogram.value_at_quantile(quantile)
    }

    /// Returns the number of latencies above a bound.
    pub fn above(&self, ns: u64) -> u64 {
        self.histogram.count_between(ns + 1, HIGHEST_NS)
    }

    #[cfg(test)]
    pub fn longest_ns(&self) -> u64 {
        self.histogram.max()
    }

    pub fn encode(&self) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        let written = V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes);
        written.map_err(|error| format!("{error:?}")).or_fault("cannot encode a histogram", "report this")?;
        Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_and_encodes() {
        let (mut a, mut b) = (Recorder::new(), Recorder::new());
        a.record_ns(0);
        b.record_ns(u64::MAX);
        a.add(&b);
        assert_eq!(a.len(), 2);
        assert!(a.encode().unwrap().starts_with("HISTF"), "the cookie of V2 deflate, in base64");
    }
}
