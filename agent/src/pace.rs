//! Runs workers side by side for a time and turns what they did into one rate an interval.
//!
//! A worker's hot loop holds its own work, one clock read a batch and a compare. At an interval's end it stores two
//! numbers in a slot of its own; the last worker to do so wakes the main thread, which does the arithmetic and the
//! writing.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Barrier, Mutex};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::clock::{now_ns, seconds, thread_cpu_ns};
use crate::fault::Fault;
use crate::wire::{Out, finite};
use crate::{pin, quiet};

/// A stream holds a million frames at most, and an interval may give three.
const MOST_INTERVALS: usize = 100_000;

/// One thread's share of a probe.
pub trait Work: Send {
    /// Does a piece of work, best 50 us to 1 ms, and says how much it was.
    fn batch(&mut self) -> Result<f64, Fault>;

    /// Ends the work, in its own thread, after the measured phase.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// How long, in which steps, where.
pub struct Pace<'a> {
    pub duration_s: f64,
    pub interval_s: f64,
    pub threads: usize,
    /// Thread i runs on `cpus[i % cpus.len()]`.
    pub cpus: &'a [usize],
    /// Whether to wait for a quiet guest first: not where the peer is already at work on the same CPUs.
    pub wait: bool,
    pub out: &'a Out,
}

/// A worker's state at an interval's end: its own time since it began, and its work until then.
#[derive(Default)]
struct Slot {
    t_ns: AtomicU64,
    amount_bits: AtomicU64,
}

struct Board {
    ends_ns: Vec<u64>,
    /// `slots[worker][interval]`
    slots: Vec<Vec<Slot>>,
    missing: Vec<AtomicUsize>,
    stop: AtomicBool,
    fault: Mutex<Option<Fault>>,
    main: Thread,
}

/// Makes `threads` workers, each in its own pinned thread, runs them, and gives them back.
///
/// `emit(t_s, rate)` is called from the calling thread for each interval, in order.
pub fn run<W: Work>(
    pace: &Pace,
    make: impl Fn(usize) -> Result<W, Fault> + Sync,
    mut emit: impl FnMut(f64, f64) -> Result<(), Fault>,
) -> Result<Vec<W>, Fault> {
    let board = Board::new(pace)?;
    let used = &pace.cpus[..pace.cpus.len().min(pace.threads)];
    if pace.wait {
        quiet::wait(pace.out, used)?;
    }
    let barrier = Barrier::new(pace.threads + 1);
    thread::scope(|scope| {
        let (board, barrier, make) = (&board, &barrier, &make);
        let spawn = |i: usize| {
            let cpu = pace.cpus[i % pace.cpus.len()];
            scope.spawn(move || board.work(i, cpu, barrier, make))
        };
        let workers: Vec<_> = (0..pace.threads).map(spawn).collect();
        barrier.wait();
        let before = quiet::counts(used);
        let emitted = board.follow(&mut emit);
        board.stop.store(true, Relaxed);
        let joined: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        quiet::counts(used).note_since(&before, pace.out)?;
        if let Some(fault) = board.fault.lock().ok().and_then(|mut fault| fault.take()) {
            return Err(fault);
        }
        emitted?;
        let done: Vec<Done<W>> = joined.into_iter().filter_map(|worker| worker.ok().flatten()).collect();
        note_cpu_time(&done, pace.out)?;
        Ok(done.into_iter().map(|done| done.work).collect())
    })
}

struct Done<W> {
    work: W,
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
}

/// The CPU-time twin of the wall time, and what the workers waited for a CPU.
fn note_cpu_time<W>(done: &[Done<W>], out: &Out) -> Result<(), Fault> {
    out.note("cpu_time_s", finite(seconds(done.iter().map(|done| done.cpu_ns).sum())))?;
    match done.iter().map(|done| done.run_delay_ns).sum::<Option<u64>>() {
        Some(ns) => out.note("run_delay_s", finite(seconds(ns))),
        None => Ok(()),
    }
}

impl Board {
    fn new(pace: &Pace) -> Result<Board, Fault> {
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
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
            main: thread::current(),
        })
    }

    fn work<W: Work>(
        &self,
        i: usize,
        cpu: usize,
        barrier: &Barrier,
        make: &(impl Fn(usize) -> Result<W, Fault> + Sync),
    ) -> Option<Done<W>> {
        let made = pin::to(&[cpu]).and_then(|()| make(i));
        if made.is_err() {
            self.stop.store(true, Release);
        }
        barrier.wait();
        let mut work = made.map_err(|fault| self.give_up(fault)).ok()?;
        let (delay, cpu_ns) = (quiet::run_delay_ns(), thread_cpu_ns());
        self.measure(i, &mut work).map_err(|fault| self.give_up(fault)).ok()?;
        let cpu_ns = thread_cpu_ns() - cpu_ns;
        let run_delay_ns = quiet::run_delay_ns().zip(delay).map(|(after, before)| after.saturating_sub(before));
        work.finish().map_err(|fault| self.give_up(fault)).ok()?;
        Some(Done { work, cpu_ns, run_delay_ns })
    }

    fn measure(&self, i: usize, work: &mut impl Work) -> Result<(), Fault> {
        let (mut amount, mut next) = (0.0, 0);
        let start = now_ns();
        while next < self.ends_ns.len() && !self.stop.load(Relaxed) {
            amount += work.batch()?;
            let t_ns = now_ns() - start;
            while next < self.ends_ns.len() && t_ns >= self.ends_ns[next] {
                self.post(i, next, t_ns, amount);
                next += 1;
            }
        }
        Ok(())
    }

    fn post(&self, i: usize, interval: usize, t_ns: u64, amount: f64) {
        let slot = &self.slots[i][interval];
        slot.t_ns.store(t_ns, Relaxed);
        slot.amount_bits.store(amount.to_bits(), Relaxed);
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

    /// Waits for each interval and emits its rate; stops early when a worker gave up.
    fn follow(&self, emit: &mut impl FnMut(f64, f64) -> Result<(), Fault>) -> Result<(), Fault> {
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
            // One piece of work that outlived several intervals makes one longer interval of them.
            if work > work_last && (t_s - t_last > 0.25 * wanted_s || (last && t_s > t_last)) {
                emit(t_s, (work - work_last) / (t_s - t_last))?;
                (t_last, work_last) = (t_s, work);
            }
        }
        Ok(())
    }

    /// The workers' mean time at the end of interval `k`, and all their work until then; both only ever grow.
    fn total(&self, k: usize) -> (f64, f64) {
        let read = |slots: &Vec<Slot>| {
            (seconds(slots[k].t_ns.load(Relaxed)), f64::from_bits(slots[k].amount_bits.load(Relaxed)))
        };
        let done: Vec<(f64, f64)> = self.slots.iter().map(read).collect();
        let mean_s = done.iter().map(|(t_s, _)| t_s).sum::<f64>() / done.len() as f64;
        (mean_s, done.iter().map(|(_, amount)| amount).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works in steps of given lengths, one unit each, then in steps of a millisecond.
    struct Steps(Vec<u64>);

    impl Work for Steps {
        fn batch(&mut self) -> Result<f64, Fault> {
            let ms = self.0.pop().unwrap_or(1);
            if ms == 0 {
                return Err(Fault::failed("broken", "nothing"));
            }
            thread::sleep(Duration::from_millis(ms));
            Ok(1.0)
        }
    }

    fn paced(threads: usize, steps: &[u64]) -> Result<Vec<(f64, f64)>, Fault> {
        let out = Out::new(Box::new(std::io::sink()));
        let cpus = pin::allowed();
        let pace = Pace { duration_s: 0.04, interval_s: 0.01, threads, cpus: &cpus, wait: false, out: &out };
        let mut shown = Vec::new();
        run(
            &pace,
            |_| Ok(Steps(steps.to_vec())),
            |t_s, rate| {
                shown.push((t_s, rate));
                Ok(())
            },
        )?;
        Ok(shown)
    }

    #[test]
    fn rates_of_the_intervals_add_up_to_the_work() {
        let shown = paced(3, &[]).unwrap();
        let (mut last, mut work) = (0.0, 0.0);
        for &(t_s, rate) in &shown {
            assert!(t_s > last && rate > 0.0);
            work += rate * (t_s - last);
            last = t_s;
        }
        assert!(last >= 0.04 && shown.len() <= 4);
        // Three threads, a step in a millisecond or a little more.
        assert!(work > 3.0 && work <= 3.0 * last * 1000.0 + 1e-6, "{work}");
    }

    #[test]
    fn a_stall_makes_one_longer_interval_and_never_a_zero() {
        let shown = paced(1, &[25]).unwrap();
        assert!(shown[0].0 >= 0.025 && shown.len() <= 3, "{shown:?}");
        assert!((shown[0].1 * shown[0].0 - 1.0).abs() < 1e-9, "one unit in all that time");
    }

    #[test]
    fn a_fault_of_any_worker_ends_the_run_and_is_told() {
        assert_eq!(paced(2, &[0, 1, 1]).unwrap_err().what, "broken");
    }
}
