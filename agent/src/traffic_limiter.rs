//! Enforces the caps on a trial's traffic.
//!
//! A sender first takes a grant of many items and pays for all of them with one clock read and two atomic operations;
//! without caps, a grant has no end. A rate cap is a token bucket, which is small at the sender. If the bucket, and
//! not the network, held traffic back, the measurement does not match the job: such a trial ends as `aborted`, as soon
//! as this is certain.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::caps::{Caps, Item};
use crate::clock::{now_ns, seconds, wait_until};
use crate::fault::Fault;
use crate::reached_cap::ReachedCap;
use crate::wire::Out;

/// Burst that a rate cap allows after a pause, as time at that rate: small at a sender, larger at a receiver, so that
/// items that arrive in time do not wait twice.
pub const SENDER_DEPTH_S: f64 = 0.01;
pub const RECEIVER_DEPTH_S: f64 = 1.0;
/// Under a rate cap, a grant covers at most this much time.
const GRANT_S: f64 = 1e-3;
const GRANT_BYTES: u64 = 256 * 1024;
/// A waiting sender checks at this interval whether it may go on.
const LOOK_NS: u64 = 20_000_000;
/// A burst within the job's limit may end this late because of its start-up; after that it is cut.
const BURST_GRACE_NS: u64 = 1_000_000_000;

/// The amount of holding back that a measurement tolerates.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Worker-seconds held back after which the trial is aborted; infinite if the schedule itself stays below the cap.
    pub held_s: f64,
    /// Time after the first grant from which holding back counts; `None`: from the call of `begin`.
    pub warm_s: Option<f64>,
    pub depth_s: f64,
}

pub struct Limiter {
    caps: Caps,
    free: bool,
    most: u64,
    /// Time of an item at the rate cap, ns; 0 without one.
    gap_ns: f64,
    grant: u64,
    tolerance: Tolerance,
    taken: AtomicU64,
    begun: AtomicU64,
    /// Time at which everything taken is paid for.
    due_ns: AtomicU64,
    start_ns: OnceLock<u64>,
    /// Time from which holding back counts.
    count_ns: AtomicU64,
    held_ns: AtomicU64,
    stopped: AtomicBool,
    over: OnceLock<ReachedCap>,
    used_bytes: AtomicU64,
    rate_cap: Option<(&'static str, f64)>,
}

impl Limiter {
    pub fn new(caps: Caps, item: Item, tolerance: Tolerance) -> Limiter {
        let rate = caps.rate(item);
        let most_grant = (GRANT_BYTES / item.bytes).max(1);
        let grant = rate.map_or(most_grant, |(rate, ..)| ((rate * GRANT_S) as u64).clamp(1, most_grant));
        Limiter {
            caps,
            free: Caps { packets_per_s: None, ..caps } == Caps::default() && rate.is_none(),
            most: caps.bytes.map_or(u64::MAX, |bytes| bytes / item.bytes),
            gap_ns: rate.map_or(0.0, |(rate, ..)| 1e9 / rate),
            grant,
            tolerance,
            taken: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            due_ns: AtomicU64::new(0),
            start_ns: OnceLock::new(),
            count_ns: AtomicU64::new(u64::MAX),
            held_ns: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            over: OnceLock::new(),
            used_bytes: AtomicU64::new(0),
            rate_cap: rate.map(|(_, name, cap)| (name, cap)),
        }
    }

    /// Returns the items of a grant that costs little and overshoots little.
    pub fn grant(&self) -> u64 {
        self.grant
    }

    /// Whether there is no cap at all.
    pub fn free(&self) -> bool {
        self.free
    }

    /// Starts to count holding back.
    pub fn begin(&self) {
        self.count_ns.store(now_ns(), Relaxed);
    }

    /// Ends all waits for a grant.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Grants at most `want` items, once they may be sent; `None` if nothing more may be sent.
    ///
    /// Calls `starved` after a wait, to learn whether the network had nothing left to send meanwhile.
    pub fn take(&self, want: u64, starved: impl Fn() -> bool) -> Option<u64> {
        if self.free {
            return Some(u64::MAX);
        }
        let now = self.open()?;
        let reserve = |taken: u64| (taken < self.most).then(|| taken + want.min(self.most - taken));
        match self.taken.fetch_update(Relaxed, Relaxed, reserve) {
            Ok(before) => {
                let granted = want.min(self.most - before);
                self.pay(granted, now, starved).map(|()| granted)
            }
            Err(_) => self.end(ReachedCap::Bytes(now - self.start_ns.get().unwrap_or(&now))),
        }
    }

    /// Grants one operation of `items` items, once it may begin; `None` if it may not, or only in part.
    pub fn take_operation(&self, items: u64) -> Option<()> {
        if self.free {
            return Some(());
        }
        let now = self.open()?;
        let elapsed_ns = now - self.start_ns.get().unwrap_or(&now);
        let most = self.caps.operations.unwrap_or(u64::MAX);
        if self.begun.fetch_update(Relaxed, Relaxed, |begun| (begun < most).then(|| begun + 1)).is_err() {
            return self.end(ReachedCap::Operations(elapsed_ns));
        }
        let reserve = |taken: u64| taken.checked_add(items).filter(|&taken| taken <= self.most);
        if self.taken.fetch_update(Relaxed, Relaxed, reserve).is_err() {
            return self.end(ReachedCap::Bytes(elapsed_ns));
        }
        self.pay(items, now, || true)
    }

    /// Counts received items, and slows their reader down to the rate cap; `None` if there were too many.
    pub fn count_received(&self, items: u64) -> Option<()> {
        if self.free {
            return Some(());
        }
        let now = self.open()?;
        self.count(items, now)?;
        self.pay(items, now, || true)
    }

    /// Counts received items as `count_received` does, for protocols where a slow reader does not slow the sender.
    pub fn check_flood(&self, items: u64) -> Option<()> {
        if self.free {
            return Some(());
        }
        let now = self.open()?;
        let total = self.count(items, now)?;
        let elapsed_ns = now - self.start_ns.get().unwrap_or(&now);
        if total as f64 * self.gap_ns > elapsed_ns as f64 + self.tolerance.depth_s * 1e9 {
            return self.end(ReachedCap::Flood);
        }
        Some(())
    }

    /// Returns the fault of a probe that gets no further grant.
    pub fn refusal(&self) -> Fault {
        self.blame(Fault::failed("the trial was stopped", "report this"))
    }

    /// Returns the fault of the cap that ended the trial.
    pub fn fault(&self) -> Option<Fault> {
        self.over.get().map(|over| over.fault(&self.caps, self.rate_cap))
    }

    /// Adds payload that a worker has sent or received.
    pub fn used(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Relaxed);
    }

    /// Whether the trial may still send.
    pub fn allows(&self) -> bool {
        self.free || self.open().is_some()
    }

    /// Returns the fault of the cap that ended the trial, otherwise the given fault: the cap is the root cause.
    pub fn blame(&self, fault: Fault) -> Fault {
        self.fault().unwrap_or(fault)
    }

    /// Returns a fault if the cap spoilt the whole measured phase, even if the phase ran to its end.
    pub fn spoilt(&self) -> Option<Fault> {
        self.over.get().filter(|over| matches!(over, ReachedCap::Rate | ReachedCap::Flood)).and_then(|_| self.fault())
    }

    /// Notes the cap that was reached, if any, and the payload of the trial in both directions together.
    pub fn note(&self, out: &Out) -> Result<(), Fault> {
        out.note("payload_bytes", self.used_bytes.load(Relaxed))?;
        self.over.get().map_or(Ok(()), |over| over.note(self.rate_cap, out))
    }

    /// Returns the current time if the trial may still send.
    fn open(&self) -> Option<u64> {
        let now = now_ns();
        let start = *self.start_ns.get_or_init(|| {
            if let Some(warm_s) = self.tolerance.warm_s {
                self.count_ns.store(now + (warm_s * 1e9) as u64, Relaxed);
            }
            now
        });
        if let Some(burst_s) = self.caps.burst_s
            && now.saturating_sub(start) > (burst_s * 1e9) as u64 + BURST_GRACE_NS
        {
            return self.end(ReachedCap::Burst);
        }
        // The start time of another thread may be slightly later than this thread's reading.
        (self.over.get().is_none() && !self.stopped.load(Relaxed)).then(|| now.max(start))
    }

    fn count(&self, items: u64, now: u64) -> Option<u64> {
        let total = self.taken.fetch_add(items, Relaxed).saturating_add(items);
        if total > self.most {
            return self.end(ReachedCap::Bytes(now - self.start_ns.get().unwrap_or(&now)));
        }
        Some(total)
    }

    /// Waits until the rate cap allows these items; `None` if the trial ends meanwhile.
    fn pay(&self, items: u64, mut now: u64, starved: impl Fn() -> bool) -> Option<()> {
        if self.gap_ns == 0.0 {
            return Some(());
        }
        let floor = now.saturating_sub((self.tolerance.depth_s * 1e9) as u64);
        let cost = (items as f64 * self.gap_ns) as u64;
        let add = |due: u64| Some(due.max(floor).saturating_add(cost));
        let due = self.due_ns.fetch_update(Relaxed, Relaxed, add).unwrap_or(floor).max(floor);
        while now < due {
            if self.stopped.load(Relaxed) || self.over.get().is_some() {
                return None;
            }
            let from = now.max(self.count_ns.load(Relaxed));
            now = wait_until(due.min(now + LOOK_NS));
            let held = now.saturating_sub(from);
            if held > 0 && starved() && !self.tolerates(held) {
                return self.end(ReachedCap::Rate);
            }
        }
        Some(())
    }

    fn tolerates(&self, held_ns: u64) -> bool {
        let all = self.held_ns.fetch_add(held_ns, Relaxed) + held_ns;
        seconds(all) <= self.tolerance.held_s
    }

    fn end<T>(&self, over: ReachedCap) -> Option<T> {
        let _ = self.over.set(over); // keeps the first reason
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Outcome;

    const BYTE: Item = Item { bytes: 1, packets: 0 };
    const PATIENT: Tolerance = Tolerance { held_s: f64::INFINITY, warm_s: Some(0.0), depth_s: SENDER_DEPTH_S };

    fn sent(limiter: &Limiter, want: u64, for_ns: u64) -> u64 {
        let start = now_ns();
        let mut sent = 0;
        while now_ns() - start < for_ns {
            match limiter.take(want, || true) {
                Some(granted) => sent += granted,
                None => break,
            }
        }
        sent
    }

    #[test]
    fn p15_a_byte_cap_is_exact_however_many_share_it() {
        for item in [BYTE, Item { bytes: 1000, packets: 1 }] {
            let limiter = Limiter::new(Caps { bytes: Some(10_000_999), ..Caps::default() }, item, PATIENT);
            let all: u64 = std::thread::scope(|scope| {
                let one = || sent(&limiter, limiter.grant(), 5_000_000_000);
                let workers: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
                workers.into_iter().map(|worker| worker.join().unwrap()).sum()
            });
            assert_eq!(all, 10_000_999 / item.bytes);
            let fault = limiter.fault().unwrap();
            assert!(fault.what.starts_with("the byte cap of 10000999 was reached after "), "{}", fault.what);
            assert_eq!(fault.outcome, Outcome::Aborted);
        }
    }

    #[test]
    fn p15_a_cap_of_operations_is_exact_and_none_is_granted_in_part() {
        let limiter = Limiter::new(Caps { operations: Some(1000), ..Caps::default() }, BYTE, PATIENT);
        let one = || std::iter::from_fn(|| limiter.take_operation(5)).count();
        let all: usize = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(all, 1000);
        assert!(limiter.fault().unwrap().what.starts_with("the cap of 1000 operations was reached after "));
        let limiter = Limiter::new(Caps { bytes: Some(12), ..Caps::default() }, BYTE, PATIENT);
        assert_eq!(std::iter::from_fn(|| limiter.take_operation(5)).count(), 2);
        assert!(limiter.fault().unwrap().what.starts_with("the byte cap of 12 was reached"));
    }

    #[test]
    fn p15_a_rate_cap_holds_from_the_start_and_after_a_pause() {
        let caps = Caps { bytes_per_s: Some(1e8), packets_per_s: Some(2e6), ..Caps::default() };
        for (item, rate) in [(BYTE, 1e8), (Item { bytes: 100, packets: 4 }, 5e5)] {
            let limiter = Limiter::new(caps, item, PATIENT);
            for _ in 0..2 {
                let start = now_ns();
                let items = sent(&limiter, limiter.grant(), 100_000_000) as f64;
                let most = rate * (seconds(now_ns() - start) + SENDER_DEPTH_S + 2.0 * GRANT_S);
                assert!(items <= most && items > 0.5 * most, "{items} of {most}");
                std::thread::sleep(std::time::Duration::from_millis(30));
            }
            assert!(limiter.fault().is_none());
        }
    }

    #[test]
    fn p15_traffic_that_the_cap_held_back_is_aborted_and_traffic_that_the_network_held_back_is_not() {
        let caps = Caps { bytes_per_s: Some(1e6), ..Caps::default() };
        let tolerance = Tolerance { held_s: 0.01, warm_s: Some(0.02), depth_s: SENDER_DEPTH_S };
        let limiter = Limiter::new(caps, BYTE, tolerance);
        let start = now_ns();
        sent(&limiter, 1000, 5_000_000_000);
        let took_s = seconds(now_ns() - start);
        assert!((0.03..1.0).contains(&took_s), "the warm-up does not count, then it is soon sure: {took_s}");
        assert!(limiter.fault().unwrap().what.contains("the cap of 1000000 bytes_per_s held the traffic back"));
        let limiter = Limiter::new(caps, BYTE, tolerance);
        for _ in 0..100 {
            limiter.take(1000, || false).unwrap();
        }
        assert!(limiter.fault().is_none());
    }

    #[test]
    fn p15_a_burst_is_cut_soon_after_its_cap_and_a_reader_stops_a_sender_that_does_not() {
        let limiter = Limiter::new(Caps { burst_s: Some(0.05), ..Caps::default() }, BYTE, PATIENT);
        let start = now_ns();
        sent(&limiter, 1, 5_000_000_000);
        assert!((1.05..2.0).contains(&seconds(now_ns() - start)));
        assert!(limiter.fault().unwrap().what.contains("burst cap of 0.05 s"));
        let caps = Caps { bytes: Some(1000), bytes_per_s: Some(500.0), ..Caps::default() };
        let limiter = Limiter::new(caps, BYTE, PATIENT);
        assert!(limiter.count_received(5).is_some() && limiter.count_received(996).is_none());
        assert!(limiter.fault().unwrap().what.contains("byte cap of 1000"));
        let limiter = Limiter::new(caps, BYTE, Tolerance { depth_s: RECEIVER_DEPTH_S, ..PATIENT });
        assert!(limiter.check_flood(500).is_some() && limiter.check_flood(500).is_none());
        assert!(limiter.fault().unwrap().what.contains("more came than the cap of 500 bytes_per_s"));
    }

    #[test]
    fn without_caps_a_grant_has_no_end_and_a_stop_wakes_waiting_threads() {
        let limiter = Limiter::new(Caps::default(), BYTE, PATIENT);
        assert_eq!(limiter.take(1, || true), Some(u64::MAX));
        let limiter = Limiter::new(Caps { bytes_per_s: Some(1.0), ..Caps::default() }, BYTE, PATIENT);
        limiter.take(1000, || true).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| limiter.take(1, || true));
            std::thread::sleep(std::time::Duration::from_millis(30));
            limiter.stop();
            let start = now_ns();
            assert_eq!(waiter.join().unwrap(), None);
            assert!(seconds(now_ns() - start) < 0.5);
        });
    }
}
