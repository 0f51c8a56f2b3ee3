//! A common start and common borders: workers post their progress at interval ends, the main thread computes rates.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use super::{Pace, Work};
use crate::clock::{now_ns, seconds, thread_cpu_ns};
use crate::fault::Fault;
use crate::{disturbance, pin};

/// A stream holds at most a million frames, and an interval may need three.
const MOST_INTERVALS: usize = 100_000;

/// A worker's batch that spans an interval's end: its begin and end since the start, and the total work at each.
#[derive(Default)]
struct Slot {
    before: Mark,
    after: Mark,
}

#[derive(Default)]
struct Mark {
    t_ns: AtomicU64,
    amount_bits: AtomicU64,
}

impl Mark {
    fn set(&self, (t_ns, amount): (u64, f64)) {
        self.t_ns.store(t_ns, Relaxed);
        self.amount_bits.store(amount.to_bits(), Relaxed);
    }

    fn get(&self) -> (u64, f64) {
        (self.t_ns.load(Relaxed), f64::from_bits(self.amount_bits.load(Relaxed)))
    }
}

impl Slot {
    /// Returns the work done until `t_ns`, which lies within the batch; splits the batch in proportion to time.
    fn until(&self, t_ns: u64) -> f64 {
        let ((from_ns, from), (to_ns, to)) = (self.before.get(), self.after.get());
        if t_ns >= to_ns {
            return to;
        }
        from + (to - from) * (t_ns.saturating_sub(from_ns)) as f64 / (to_ns - from_ns) as f64
    }
}

/// The state shared by the workers and the main thread.
pub struct Board {
    ends_ns: Vec<u64>,
    /// `slots[worker][interval]`
    slots: Vec<Vec<Slot>>,
    missing: Vec<AtomicUsize>,
    /// The number of workers that are not ready yet.
    unready: AtomicUsize,
    start_ns: OnceLock<u64>,
    pub stop: AtomicBool,
    pub fault: Mutex<Option<Fault>>,
    main: Thread,
}

/// A worker that has ended.
pub struct Done<W> {
    pub work: W,
    pub cpu_ns: u64,
    pub run_delay_ns: Option<u64>,
    /// Time from the common start until this worker ended.
    pub elapsed_ns: u64,
}

impl Board {
    pub fn new(pace: &Pace) -> Result<Board, Fault> {
        let interval_s = pace.interval_s.min(pace.duration_s);
        let count = ((pace.duration_s / interval_s) - 1e-6).ceil().max(1.0) as usize;
        if count > MOST_INTERVALS {
            let what = format!("bad job: {count} intervals are more than {MOST_INTERVALS}");
            return Err(Fault::bad_job(what, "raise interval_s or lower duration_s"));
        }
        let end_ns = |k: usize| ((k as f64 * interval_s).min(pace.duration_s) * 1e9) as u64;
        let slots = || (0..count).map(|_| Slot::default()).collect();
        Ok(Board {
            ends_ns: (1..=count).map(end_ns).collect(),
            slots: (0..pace.threads).map(|_| slots()).collect(),
            missing: (0..count).map(|_| AtomicUsize::new(pace.threads)).collect(),
            unready: AtomicUsize::new(pace.threads),
            start_ns: OnceLock::new(),
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
            main: thread::current(),
        })
    }

    /// Waits until all workers are ready, then starts them all at once; returns the kernel's counters just before.
    pub fn begin(&self, used: &[usize]) -> disturbance::Counts {
        while self.unready.load(Acquire) > 0 {
            thread::park_timeout(Duration::from_secs(1));
        }
        let before = disturbance::counts(used);
        self.start_ns.get_or_init(now_ns);
        before
    }

    pub fn work<W: Work>(
        &self,
        i: usize,
        cpus: &[usize],
        make: &(impl Fn(usize) -> Result<W, Fault> + Sync),
    ) -> Option<Done<W>> {
        let made = pin::to(cpus).and_then(|()| make(i));
        let made = made.map_err(|fault| self.give_up(fault));
        if self.unready.fetch_sub(1, AcqRel) == 1 {
            self.main.unpark();
        }
        let mut work = made.ok()?;
        let start = self.await_start(&mut work).map_err(|fault| self.give_up(fault)).ok()?;
        let (delay, cpu_ns) = (disturbance::run_delay_ns(), thread_cpu_ns());
        self.measure(i, start, &mut work).map_err(|fault| self.give_up(fault)).ok()?;
        let cpu_ns = thread_cpu_ns() - cpu_ns;
        let elapsed_ns = now_ns() - start;
        let run_delay_ns = disturbance::run_delay_ns().zip(delay).map(|(after, before)| after.saturating_sub(before));
        work.finish().map_err(|fault| self.give_up(fault)).ok()?;
        Some(Done { work, cpu_ns, run_delay_ns, elapsed_ns })
    }

    fn await_start(&self, work: &mut impl Work) -> Result<u64, Fault> {
        loop {
            if let Some(&start) = self.start_ns.get() {
                return Ok(start);
            }
            if self.stop.load(Relaxed) || !work.lead_in()? {
                return Ok(*self.start_ns.wait());
            }
        }
    }

    /// Works until every worker, not only this one, has passed the end of the last interval.
    fn measure(&self, i: usize, start: u64, work: &mut impl Work) -> Result<(), Fault> {
        let (mut before, mut next) = ((0, 0.0), 0);
        let last = self.ends_ns.len() - 1;
        while self.missing[last].load(Relaxed) > 0 && !self.stop.load(Relaxed) {
            let amount = before.1 + work.batch()?;
            let after = (now_ns() - start, amount);
            while next <= last && after.0 >= self.ends_ns[next] {
                self.post(i, next, before, after);
                next += 1;
            }
            before = after;
        }
        Ok(())
    }

    fn post(&self, i: usize, interval: usize, before: (u64, f64), after: (u64, f64)) {
        let slot = &self.slots[i][interval];
        slot.before.set(before);
        slot.after.set(after);
        if self.missing[interval].fetch_sub(1, AcqRel) == 1 {
            self.main.unpark();
        }
    }

    fn give_up(&self, fault: Fault) {
        if let Ok(mut first) = self.fault.lock() {
            first.get_or_insert(fault);
        }
        self.stop.store(true, Release);
        self.main.unpark();
    }

    /// Waits for each interval and emits its rate; stops early if a worker gave up.
    pub fn follow(&self, emit: &mut impl FnMut(f64, f64) -> Result<(), Fault>) -> Result<(), Fault> {
        let (mut t_last, mut work_last) = (0.0, 0.0);
        for k in 0..self.ends_ns.len() {
            while self.missing[k].load(Acquire) > 0 {
                if self.stop.load(Acquire) {
                    return Ok(());
                }
                thread::park_timeout(Duration::from_secs(1));
            }
            let (t_s, work) = self.total(k);
            let wanted_s = seconds(self.ends_ns[k] - if k == 0 { 0 } else { self.ends_ns[k - 1] });
            let last = k + 1 == self.ends_ns.len();
            // If one piece of work spans several intervals, they become one longer interval.
            if work > work_last && (t_s - t_last > 0.25 * wanted_s || (last && t_s > t_last)) {
                emit(t_s, (work - work_last) / (t_s - t_last))?;
                (t_last, work_last) = (t_s, work);
            }
        }
        Ok(())
    }

    /// Returns the border of interval `k`, and the total work until then; both increase with `k`.
    fn total(&self, k: usize) -> (f64, f64) {
        let slots = || self.slots.iter().map(|slots| &slots[k]);
        let border_ns = slots().map(|slot| slot.after.get().0).min().unwrap_or(0);
        (seconds(border_ns), slots().map(|slot| slot.until(border_ns)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_across_the_border_is_split_by_time() {
        let slot = Slot::default();
        slot.before.set((100, 4.0));
        slot.after.set((200, 6.0));
        assert_eq!([100, 150, 200, 300].map(|t_ns| slot.until(t_ns)), [4.0, 5.0, 6.0, 6.0]);
    }
}
