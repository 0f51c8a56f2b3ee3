//! What the operations of a measured phase came to: latencies of those that succeeded, counts of the others.

use super::lane::Performed;
use super::outcome::{Failure, Kind};
use crate::record::Recorder;

/// An interval of which lanes had less than this share for operations has no rate.
const LEAST_SHARE: f64 = 0.05;

pub struct Tally {
    start_ns: u64,
    interval_ns: u64,
    pub latency: Recorder,
    pub first_byte: Recorder,
    /// Payload and operations that ended well, by interval; an operation that spans several is split by time.
    pub bytes: Vec<f64>,
    pub operations: Vec<f64>,
    /// Seconds of lanes by interval in which they did what operations had left to do.
    aside_s: Vec<f64>,
    /// Operations begun.
    pub begun: u64,
    pub done: u64,
    /// Operations that found nothing, such as receives from an empty queue: neither done nor failed.
    pub empty: u64,
    /// Rows that batches left out because there were too many.
    pub unwritten: u64,
    pub follow_ups: u64,
    pub follow_ups_failed: u64,
    pub failed: [u64; Kind::ALL.len()],
    /// The first failure of each kind.
    pub first: [Option<Failure>; Kind::ALL.len()],
    pub connections: u64,
    pub open: OpenLoop,
    pub cpu_ns: u64,
    pub spin_ns: u64,
    pub wall_ns: u64,
    pub threads: usize,
    pub lanes: usize,
}

/// Counts of an open loop.
#[derive(Default)]
pub struct OpenLoop {
    pub planned: u64,
    pub dropped: u64,
    /// How late starts were for which a lane was free.
    pub lateness: Option<Recorder>,
    /// The longest time that a start had waited for a lane when the measured phase ended, ns.
    pub waited_ns: u64,
}

impl Tally {
    pub fn new(start_ns: u64, interval_ns: u64, intervals: usize) -> Tally {
        Tally {
            start_ns,
            interval_ns,
            latency: Recorder::new(),
            first_byte: Recorder::new(),
            bytes: vec![0.0; intervals],
            operations: vec![0.0; intervals],
            aside_s: vec![0.0; intervals],
            begun: 0,
            done: 0,
            empty: 0,
            unwritten: 0,
            follow_ups: 0,
            follow_ups_failed: 0,
            failed: [0; 6],
            first: Default::default(),
            connections: 0,
            open: OpenLoop::default(),
            cpu_ns: 0,
            spin_ns: 0,
            wall_ns: 0,
            threads: 0,
            lanes: 0,
        }
    }

    /// Records an operation that was to begin at `from_ns`.
    pub fn record(&mut self, from_ns: u64, performed: Performed) {
        self.begun += 1;
        let done = match performed.result {
            Ok(done) => done,
            Err(failure) => {
                self.failed[failure.kind as usize] += 1;
                self.first[failure.kind as usize].get_or_insert(failure);
                return;
            }
        };
        self.unwritten += done.unwritten;
        if !done.there {
            self.empty += 1;
            return;
        }
        self.done += 1;
        self.latency.record_ns(performed.last_ns.saturating_sub(from_ns));
        self.first_byte.record_ns(performed.first_ns.saturating_sub(from_ns));
        self.spread(from_ns, performed.last_ns, done.bytes as f64);
    }

    /// Counts what an operation left to do.
    pub fn followed(&mut self, performed: Performed) {
        self.follow_ups += 1;
        self.follow_ups_failed += u64::from(performed.result.is_err());
    }

    /// Takes a lane's time out of the measured one.
    pub fn set_aside(&mut self, from_ns: u64, last_ns: u64) {
        for (i, share) in self.shares(from_ns, last_ns) {
            self.aside_s[i] += share * last_ns.saturating_sub(from_ns) as f64 * 1e-9;
        }
    }

    fn spread(&mut self, from_ns: u64, last_ns: u64, bytes: f64) {
        for (i, share) in self.shares(from_ns, last_ns) {
            self.bytes[i] += bytes * share;
            self.operations[i] += share;
        }
    }

    /// Returns the intervals that a time spans, and its share in each.
    fn shares(&self, from_ns: u64, last_ns: u64) -> impl Iterator<Item = (usize, f64)> + use<> {
        let (from, last) = (from_ns.saturating_sub(self.start_ns), last_ns.saturating_sub(self.start_ns));
        let (interval_ns, intervals) = (self.interval_ns, self.bytes.len());
        let (first, end) = ((from / interval_ns) as usize, (last / interval_ns) as usize);
        (first..=end.min(intervals.saturating_sub(1))).map(move |i| {
            let border = i as u64 * interval_ns;
            let part = (last.min(border + interval_ns)).saturating_sub(from.max(border));
            (i, if last > from { part as f64 / (last - from) as f64 } else { 1.0 })
        })
    }

    pub fn add(&mut self, other: Tally) {
        self.latency.add(&other.latency);
        self.first_byte.add(&other.first_byte);
        for (sum, more) in self.bytes.iter_mut().zip(other.bytes) {
            *sum += more;
        }
        for (sum, more) in self.operations.iter_mut().zip(other.operations) {
            *sum += more;
        }
        for (sum, more) in self.aside_s.iter_mut().zip(other.aside_s) {
            *sum += more;
        }
        for (sum, more) in self.failed.iter_mut().zip(other.failed) {
            *sum += more;
        }
        for (own, more) in self.first.iter_mut().zip(other.first) {
            if own.is_none() {
                *own = more;
            }
        }
        self.begun += other.begun;
        self.done += other.done;
        self.empty += other.empty;
        self.unwritten += other.unwritten;
        self.follow_ups += other.follow_ups;
        self.follow_ups_failed += other.follow_ups_failed;
        self.connections += other.connections;
        self.open.planned += other.open.planned;
        self.open.dropped += other.open.dropped;
        self.open.waited_ns = self.open.waited_ns.max(other.open.waited_ns);
        match (&mut self.open.lateness, other.open.lateness) {
            (Some(own), Some(more)) => own.add(&more),
            (own, more) => *own = own.take().or(more),
        }
        self.cpu_ns += other.cpu_ns;
        self.spin_ns += other.spin_ns;
        self.wall_ns += other.wall_ns;
        self.threads += other.threads;
        self.lanes += other.lanes;
    }

    pub fn failures(&self) -> u64 {
        self.failed.iter().sum()
    }

    pub fn throttled(&self) -> u64 {
        self.failed[Kind::Throttled as usize]
    }

    /// Returns the first failure of the most frequent kind.
    pub fn main_failure(&self) -> Option<&Failure> {
        let most = (0..self.failed.len()).max_by_key(|&kind| self.failed[kind])?;
        self.first[most].as_ref()
    }

    pub fn interval_s(&self) -> f64 {
        self.interval_ns as f64 * 1e-9
    }

    /// Returns the operations that ended well per second of the measured phase.
    pub fn rate(&self) -> f64 {
        let time_s: f64 = (0..self.operations.len()).map(|i| self.time_s(i)).sum();
        self.operations.iter().sum::<f64>() / time_s.max(1e-9)
    }

    /// Returns the operations that ended well per second, by interval; none of an interval without time for any.
    pub fn rates(&self) -> impl Iterator<Item = Option<f64>> {
        let enough_s = LEAST_SHARE * self.interval_s();
        self.operations.iter().enumerate().map(move |(i, operations)| {
            let time_s = self.time_s(i);
            (time_s >= enough_s).then(|| operations / time_s)
        })
    }

    /// Returns the time of an interval that lanes had for operations, s.
    fn time_s(&self, interval: usize) -> f64 {
        (self.interval_s() - self.aside_s[interval] / self.lanes.max(1) as f64).max(0.0)
    }

    /// Returns the CPU seconds of the worker threads per wall second and thread, without waits that spin.
    pub fn cpu_ratio(&self) -> f64 {
        self.cpu_ns.saturating_sub(self.spin_ns) as f64 / self.wall_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Done;
    use super::*;

    fn performed(last_ns: u64, result: Result<Done, Failure>) -> Performed {
        Performed { result, first_ns: last_ns - 1, last_ns }
    }

    #[test]
    fn an_operation_is_split_over_the_intervals_that_it_spans() {
        let mut tally = Tally::new(1000, 100, 3);
        tally.record(1050, performed(1250, Ok(Done::new(400, true))));
        assert_eq!((&tally.bytes[..], &tally.operations[..]), (&[100.0, 200.0, 100.0][..], &[0.25, 0.5, 0.25][..]));
        tally.record(1250, performed(1350, Ok(Done::new(100, true))));
        assert_eq!(tally.bytes, [100.0, 200.0, 150.0], "what comes after the end does not count");
        tally.record(1299, performed(1299, Ok(Done::new(5, true))));
        assert_eq!(tally.bytes[2], 155.0);
        tally.record(5000, performed(6000, Ok(Done::new(5, true))));
        assert_eq!(tally.bytes[2], 155.0);
    }

    #[test]
    fn what_is_left_to_do_takes_no_time_of_a_rate_and_nothing_found_is_no_operation() {
        let mut tally = Tally::new(0, 1_000_000_000, 2);
        tally.lanes = 2;
        for from_ns in [0, 500_000_000] {
            tally.record(from_ns, performed(from_ns + 500_000_000, Ok(Done::new(1, true))));
        }
        tally.record(0, performed(10, Ok(Done::new(0, false))));
        tally.set_aside(0, 500_000_000);
        tally.set_aside(500_000_000, 1_000_000_000);
        tally.set_aside(1_000_000_000, 2_000_000_000);
        tally.set_aside(1_000_000_000, 2_000_000_000);
        // Two lanes, one second of which one lane was aside: two operations in half a second.
        assert_eq!(tally.rates().collect::<Vec<_>>(), [Some(4.0), None]);
        assert_eq!((tally.rate(), tally.done, tally.empty, tally.begun, tally.latency.len()), (4.0, 2, 1, 3, 2));
    }

    #[test]
    fn a_failure_is_counted_by_its_kind_and_is_never_a_latency() {
        let mut tally = Tally::new(0, 100, 1);
        for (kind, times) in [(Kind::Throttled, 2), (Kind::ServerError, 3), (Kind::WrongBody, 1)] {
            for i in 0..times {
                tally.record(0, performed(10, Err(Failure::new(kind, format!("{} {i}", kind.note())))));
            }
        }
        let mut sum = Tally::new(0, 100, 1);
        sum.add(tally);
        assert_eq!((sum.begun, sum.done, sum.latency.len(), sum.failures(), sum.throttled()), (6, 0, 0, 6, 2));
        assert_eq!(sum.main_failure().unwrap().what, "server_errors 0");
    }
}
