//! The offset between two clocks, from requests for the other clock's time.
//!
//! F. Cristian, Probabilistic clock synchronization, Distributed Computing 3 (1989), 146-158: the other clock was read
//! between the request and its answer, so the midpoint of both is off by at most half of the round trip, and the
//! fastest of many exchanges is the most precise. Clocks of two machines also run at slightly different speeds: the
//! offset at a time between two such exchanges lies on the straight line between their offsets, and its error is at
//! most the larger of both.

/// A request for the other clock's time: sent and answered by our clock, read on theirs, ns.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub sent: u64,
    pub back: u64,
    pub seen: u64,
}

impl Exchange {
    fn error_ns(&self) -> u64 {
        self.back.saturating_sub(self.sent).div_ceil(2)
    }

    /// Returns our clock minus theirs.
    fn offset_ns(&self) -> i128 {
        (i128::from(self.sent) + i128::from(self.back)) / 2 - i128::from(self.seen)
    }
}

/// The speeds of two clocks differ by less than this share; those of crystals differ by a ten-thousandth.
const SPEEDS_DIFFER: f64 = 0.01;

/// Our clock minus theirs, at any time between two exchanges.
#[derive(Clone, Copy, Debug)]
pub struct Offset {
    before: Exchange,
    after: Exchange,
    /// The largest error of the offset, ns.
    pub error_ns: u64,
}

impl Offset {
    /// Uses the fastest exchange of each list; `None` if the offsets differ more than real clocks could.
    pub fn between(before: &[Exchange], after: &[Exchange]) -> Option<Offset> {
        let fastest = |list: &[Exchange]| list.iter().copied().min_by_key(Exchange::error_ns);
        let (before, after) = (fastest(before)?, fastest(after)?);
        let passed = after.seen.checked_sub(before.seen)?;
        let apart = (after.offset_ns() - before.offset_ns()).unsigned_abs() as f64;
        let error_ns = before.error_ns().max(after.error_ns());
        let tolerance = SPEEDS_DIFFER * passed as f64 + 2.0 * error_ns as f64 + 1000.0;
        (apart <= tolerance).then_some(Offset { before, after, error_ns })
    }

    /// Converts a time of their clock to ours.
    pub fn ours(&self, theirs: u64) -> i128 {
        let (from, to) = (self.before.offset_ns(), self.after.offset_ns());
        let passed = self.after.seen.saturating_sub(self.before.seen).max(1) as f64;
        let share = theirs.saturating_sub(self.before.seen) as f64 / passed;
        i128::from(theirs) + from + ((to - from) as f64 * share.min(1.0)).round() as i128
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Simulates an exchange: it begins at `at` on our clock, takes `there` and `back`, and their clock is `ahead` of
    /// ours.
    fn exchange(at: u64, there: u64, back: u64, ahead: i64) -> Exchange {
        Exchange { sent: at, back: at + there + back, seen: (at + there).checked_add_signed(ahead).unwrap() }
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn the_offset_is_off_by_no_more_than_half_the_fastest_round_trip(
            ahead in -1_000_000_000_000..1_000_000_000_000_i64, drift_ppm in -100..100_i64,
            ways in proptest::collection::vec((0..1_000_000_u64, 0..1_000_000_u64), 8), at in 0.0..1.0_f64
        ) {
            let base = 10_000_000_000_000_u64;
            let clock = |ours: u64| ahead + (ours - base) as i64 * drift_ppm / 1_000_000;
            let one = |(i, &(there, back)): (usize, &(u64, u64))| {
                let from = base + i as u64 * 10_000_000 + if i < 4 { 0 } else { 1_000_000_000 };
                exchange(from, there, back, clock(from + there))
            };
            let all: Vec<Exchange> = ways.iter().enumerate().map(one).collect();
            let offset = Offset::between(&all[..4], &all[4..]).unwrap();
            let half = |ways: &[(u64, u64)]| ways.iter().map(|(there, back)| (there + back).div_ceil(2)).min().unwrap();
            prop_assert_eq!(offset.error_ns, half(&ways[..4]).max(half(&ways[4..])));
            let ours = base + 50_000_000 + (at * 900_000_000.0) as u64;
            let converted = offset.ours(ours.checked_add_signed(clock(ours)).unwrap());
            let off = (converted - i128::from(ours)).unsigned_abs();
            // Tolerance for rounding and for the drift within an exchange.
            prop_assert!(off <= u128::from(offset.error_ns) + 300, "{} of {}", off, offset.error_ns);
        }

        #[test]
        fn p28_hostile_times_never_panic(times in proptest::collection::vec(any::<u64>(), 7)) {
            let one = |times: &[u64]| Exchange { sent: times[0], back: times[1], seen: times[2] };
            if let Some(offset) = Offset::between(&[one(&times[..3])], &[one(&times[3..6])]) {
                let _ = offset.ours(times[6]);
            }
        }
    }
}
