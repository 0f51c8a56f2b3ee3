//! Estimates a token bucket from the bytes that came in each interval.
//!
//! A bucket of b bytes that is refilled at r bytes a second (RFC 2697 and 2698 meter by such buckets) lets traffic pass
//! as fast as it comes while it holds tokens, then at r. So the series has two levels. The fall between them is the
//! split that leaves the least squares within both; it counts if the lower level has lasted and the two are apart.
//! At a constant burst rate R for a time T, b = (R - r) T, because tokens are refilled meanwhile; here the tokens are
//! counted interval by interval, so a slow start does not matter.

use std::ops::Range;

/// Two levels are apart if the lower one is at least this share below the higher one.
const LEAST_FALL: f64 = 0.1;
/// The least share of intervals that lie on their own side of the middle between the levels: higher and lower level.
const SIDES: (f64, f64) = (0.8, 0.9);
/// Intervals before and after the split that belong to neither level: the fall itself, and what a receiver that missed
/// an interval there makes up for.
const FALL: (usize, usize) = (2, 3);
/// The fewest intervals of the higher level.
const LEAST_HIGH: usize = 4;
/// A slow start ends within this time, at an interval with this share of the fastest ones.
const RAMP_S: f64 = 5.0;
const RAMP_SHARE: f64 = 0.75;
/// Intervals of which the middle one counts when the fastest ones are sought: one that catches up is not fast.
const WINDOW: usize = 5;
/// A receiver that did not run misses an interval, and makes up for it in the next: shares of the usual rate.
const MISSED: f64 = 0.5;
const MADE_UP: f64 = 1.5;
/// The 95 % interval of the lower level: batches, and Student's t of one fewer.
const BATCHES: usize = 10;
const STUDENT: f64 = 2.262;
/// Of a longer series, each two intervals become one.
const MOST_INTERVALS: usize = 16_384;

/// A token bucket, as seen by a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket {
    pub burst_bytes_per_s: f64,
    /// Time from the first byte until the bucket was empty, s.
    pub burst_s: f64,
    pub bucket_bytes: f64,
    pub sustained_bytes_per_s: f64,
    /// Time for which the sustained rate was seen, s.
    pub sustained_s: f64,
    /// Half of the sustained rate's 95 % interval, as a share of the rate.
    pub sustained_error_ratio: f64,
}

/// Bytes in consecutive intervals of nearly equal length, from the first byte on.
#[derive(Debug, Default)]
pub struct Series {
    bytes: Vec<f64>,
    seconds: Vec<f64>,
}

impl Series {
    /// Adds an interval, which is longer than 0 s.
    pub fn push(&mut self, bytes: u64, seconds: f64) {
        if self.bytes.len() >= MOST_INTERVALS {
            for values in [&mut self.bytes, &mut self.seconds] {
                *values = values.chunks(2).map(|pair| pair.iter().sum()).collect();
            }
        }
        self.bytes.push(bytes as f64);
        self.seconds.push(seconds);
        self.make_up();
    }

    /// Shares the bytes of the last two intervals out if the receiver missed the first and made up for it in the other.
    fn make_up(&mut self) {
        let Some(last) = self.bytes.len().checked_sub(1).filter(|&last| last >= 2) else { return };
        let usual = self.rate(last - 2..last - 1);
        if self.rate(last - 1..last) < MISSED * usual && self.rate(last..last + 1) > MADE_UP * usual {
            let both = self.rate(last - 1..last + 1);
            for i in [last - 1, last] {
                self.bytes[i] = both * self.seconds[i];
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the rate of the whole series, without a slow start.
    pub fn level(&self) -> f64 {
        self.rate(self.ramp()..self.bytes.len())
    }

    /// Returns the token bucket, once its sustained rate has lasted `hold_s`; `None` if no fall has.
    pub fn find(&self, hold_s: f64) -> Option<TokenBucket> {
        let (start, all) = (self.ramp(), self.bytes.len());
        let split = self.split(start)?;
        let (high, low) = (start..split - FALL.0, split + FALL.1..all);
        let sustained_s: f64 = self.seconds.get(low.clone())?.iter().sum();
        let (burst, sustained) = (self.rate(high.clone()), self.rate(low.clone()));
        if sustained_s < hold_s || low.len() < BATCHES || sustained > burst * (1.0 - LEAST_FALL) {
            return None;
        }
        let middle = (burst + sustained) / 2.0;
        let share = |range: Range<usize>, below: bool| {
            let count = range.len() as f64;
            range.filter(|&i| (self.rate(i..i + 1) < middle) == below).count() as f64 / count
        };
        if share(high, false) < SIDES.0 || share(low.clone(), true) < SIDES.1 {
            return None;
        }
        let sustained_error_ratio = self.error_ratio(low).filter(|_| sustained > 0.0)?;
        Some(TokenBucket {
            burst_bytes_per_s: burst,
            burst_s: self.seconds[..split].iter().sum(),
            bucket_bytes: self.tokens(split + FALL.1, sustained),
            sustained_bytes_per_s: sustained,
            sustained_s,
            sustained_error_ratio,
        })
    }

    fn rate(&self, range: Range<usize>) -> f64 {
        let (bytes, seconds) = (&self.bytes[range.clone()], &self.seconds[range]);
        bytes.iter().sum::<f64>() / seconds.iter().sum::<f64>()
    }

    /// Returns the first interval that is no longer of a slow start.
    fn ramp(&self) -> usize {
        let soon = |elapsed_s: &mut f64, seconds: &f64| {
            *elapsed_s += seconds;
            (*elapsed_s <= RAMP_S).then_some(())
        };
        let within = self.seconds.iter().scan(0.0, soon).count();
        let rates: Vec<f64> = (0..within).map(|i| self.rate(i..i + 1)).collect();
        let middle = |window: &[f64]| {
            let mut sorted = window.to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            sorted[WINDOW / 2]
        };
        let fastest = rates.windows(WINDOW).map(middle).fold(0.0, f64::max);
        rates.iter().position(|&rate| rate >= RAMP_SHARE * fastest).unwrap_or(0)
    }

    /// Returns the first interval after the fall that leaves the least squares; `None` if nothing fell.
    fn split(&self, start: usize) -> Option<usize> {
        let (all, mut best) = (self.bytes.len(), (0.0, None));
        let (bytes, seconds) = (self.bytes[start..].iter().sum::<f64>(), self.seconds[start..].iter().sum::<f64>());
        let (mut before, mut before_s) = (0.0, 0.0);
        for i in start..all.saturating_sub(1) {
            before += self.bytes[i];
            before_s += self.seconds[i];
            let after_s = seconds - before_s;
            let fall = before / before_s - (bytes - before) / after_s;
            // The squares that a split takes away: Σ T (m - mean)² of its two means m.
            let gain = fall * fall * before_s * after_s / seconds;
            if i + 1 - start >= LEAST_HIGH + FALL.0 && fall > 0.0 && gain > best.0 {
                best = (gain, Some(i + 1));
            }
        }
        best.1
    }

    /// Returns the tokens that the first intervals took from a bucket that was full, and is refilled at this rate.
    fn tokens(&self, intervals: usize, refill: f64) -> f64 {
        let first = self.bytes.iter().zip(&self.seconds).take(intervals);
        first.fold(0.0, |taken: f64, (bytes, seconds)| (taken + bytes - refill * seconds).max(0.0))
    }

    /// Returns half of the 95 % interval of a level by its batch means, as a share of the level; `None` if it is 0.
    fn error_ratio(&self, range: Range<usize>) -> Option<f64> {
        let each = range.len() / BATCHES;
        let first = range.end - each * BATCHES;
        let means: Vec<f64> = (0..BATCHES).map(|i| self.rate(first + i * each..first + (i + 1) * each)).collect();
        let mean = means.iter().sum::<f64>() / BATCHES as f64;
        let squares = means.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        let half = STUDENT * (squares / (BATCHES - 1) as f64 / BATCHES as f64).sqrt();
        (mean > 0.0).then(|| half / mean)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::Rng;

    const INTERVAL_S: f64 = 0.05;
    const HOLD_S: f64 = 2.0;
    const PRECISION: f64 = 0.02;

    /// A token bucket behind a link whose rate is noisy.
    struct Path {
        burst: f64,
        bucket: f64,
        refill: f64,
        noise: f64,
        rng: Rng,
    }

    impl Path {
        /// Returns a number around 1 with this standard deviation.
        fn noisy(&mut self) -> f64 {
            1.0 + self.noise * (0..12).map(|_| self.rng.centred()).sum::<f64>()
        }

        /// Returns the bytes of each of the next intervals.
        fn play(&mut self, intervals: usize) -> Vec<u64> {
            let mut tokens = self.bucket;
            let one = |_| {
                let wanted = self.burst * self.noisy() * INTERVAL_S;
                let refill = self.refill * INTERVAL_S;
                let sent = if tokens + refill > wanted { wanted } else { tokens + refill * self.noisy() };
                tokens = (tokens + refill - sent).clamp(0.0, self.bucket);
                sent as u64
            };
            (0..intervals).map(one).collect()
        }
    }

    fn path(burst: f64, bucket: f64, refill: f64, noise: f64, seed: u64) -> Path {
        Path { burst, bucket, refill, noise, rng: Rng::new(seed, 0) }
    }

    /// Looks after each interval, as the probe does; returns what is found, and the intervals that it took.
    fn look(bytes: &[u64]) -> (Option<TokenBucket>, usize) {
        let mut series = Series::default();
        for (i, &one) in bytes.iter().enumerate() {
            series.push(one, INTERVAL_S);
            let found = series.find(HOLD_S).filter(|found| found.sustained_error_ratio <= PRECISION);
            if found.is_some() {
                return (found, i + 1);
            }
        }
        (None, bytes.len())
    }

    fn near(found: f64, planted: f64) -> bool {
        (found / planted - 1.0).abs() < 0.03
    }

    /// Has a receiver miss an interval now and then, which the next one makes up for.
    fn with_gaps(mut bytes: Vec<u64>, every: usize) -> Vec<u64> {
        for i in (every..bytes.len() - 1).step_by(every) {
            bytes[i + 1] += std::mem::take(&mut bytes[i]);
        }
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]
        #[test]
        fn a_planted_bucket_is_found_within_3_percent_in_few_bytes(
            ratio in 2.0..20.0_f64,
            burst_s in 2.0..10.0_f64,
            noise in 0.0..0.03_f64,
            gaps in 15..60_usize,
            seed in any::<u64>(),
        ) {
            let (burst, refill) = (1e9, 1e9 / ratio);
            let bucket = (burst - refill) * burst_s;
            let bytes = with_gaps(path(burst, bucket, refill, noise, seed).play(500), gaps);
            let (found, intervals) = look(&bytes);
            let found = found.unwrap();
            prop_assert!(near(found.burst_bytes_per_s, burst), "{found:?}");
            prop_assert!(near(found.sustained_bytes_per_s, refill), "{found:?} {refill}");
            prop_assert!(near(found.bucket_bytes, bucket), "{found:?} {bucket}");
            prop_assert!((found.burst_s - burst_s).abs() < 0.2, "{found:?}");
            let sent: u64 = bytes[..intervals].iter().sum();
            let most = bucket + refill * (burst_s + HOLD_S + 3.0);
            prop_assert!((sent as f64) < most * 1.01, "{sent} of {most}: {found:?}");
        }

        #[test]
        fn one_level_is_no_throttle_however_noisy(noise in 0.0..0.3_f64, seed in any::<u64>()) {
            let bytes = path(1e8, 1e18, 1e8, noise, seed).play(400);
            prop_assert_eq!(look(&bytes).0, None);
            let mut series = Series::default();
            bytes.iter().for_each(|&one| series.push(one, INTERVAL_S));
            prop_assert!((series.level() / 1e8 - 1.0).abs() < 0.01 + noise / 3.0, "{}", series.level());
        }

        #[test]
        fn any_series_gives_finite_figures(bytes in proptest::collection::vec(any::<u32>(), 1..200)) {
            let mut series = Series::default();
            for &one in &bytes {
                series.push(u64::from(one), INTERVAL_S);
                prop_assert!(series.level().is_finite());
                if let Some(found) = series.find(0.5) {
                    prop_assert!(found.burst_bytes_per_s > found.sustained_bytes_per_s);
                    prop_assert!(found.bucket_bytes.is_finite() && found.bucket_bytes >= 0.0);
                }
            }
        }
    }

    #[test]
    fn a_stall_shorter_than_the_hold_is_no_fall() {
        for stall in [1, 10, 35] {
            let mut bytes = path(1e8, 1e18, 1e8, 0.02, 1).play(400);
            bytes[60..60 + stall].fill(1_000_000);
            assert_eq!(look(&bytes).0, None, "{stall}");
        }
    }

    #[test]
    fn a_slow_start_takes_nothing_from_any_figure() {
        let mut path = path(1e8, 3e8, 2e7, 0.0, 1);
        // Doubles each interval; until 2e7 the bucket stays full.
        let ramp: Vec<u64> = (0..7).map(|i| 50_000 << i).collect();
        let took: f64 = ramp.iter().map(|&bytes| (bytes as f64 - 2e7 * INTERVAL_S).max(0.0)).sum();
        path.bucket -= took;
        let bytes = [ramp, path.play(300)].concat();
        let found = look(&bytes).0.unwrap();
        assert!(near(found.burst_bytes_per_s, 1e8) && near(found.sustained_bytes_per_s, 2e7), "{found:?}");
        assert!(near(found.bucket_bytes, 3e8), "{found:?}");
    }

    #[test]
    fn a_bucket_that_was_empty_is_one_level() {
        let bytes = path(1e8, 0.0, 2e7, 0.02, 1).play(400);
        assert_eq!(look(&bytes).0, None);
    }

    #[test]
    fn a_dead_path_is_no_sustained_rate() {
        let mut bytes = path(1e8, 1e18, 1e8, 0.02, 1).play(60);
        bytes.resize(300, 0);
        assert_eq!(look(&bytes).0, None);
    }

    #[test]
    fn a_long_series_takes_bounded_memory_and_keeps_its_figures() {
        let bytes = path(1e8, 8e10, 2e7, 0.02, 1).play(25_000);
        let mut series = Series::default();
        bytes.iter().for_each(|&one| series.push(one, INTERVAL_S));
        assert!(series.bytes.len() <= MOST_INTERVALS);
        let found = series.find(HOLD_S).unwrap();
        assert!(near(found.burst_bytes_per_s, 1e8) && near(found.sustained_bytes_per_s, 2e7), "{found:?}");
        assert!(near(found.bucket_bytes, 8e10) && near(found.burst_s, 1000.0), "{found:?}");
    }
}
