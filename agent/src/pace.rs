//! Runs parallel workers for a fixed time and computes one rate per interval from their work.
//!
//! All workers start at one time, read once when every worker is ready, and all work until each has passed the end of
//! the last interval: with more workers than CPUs, no worker's share grows because another has stopped. Work before
//! the start does not count. The border of an interval is one time for all workers: the first time at which any worker
//! ended a batch after the interval's end. The batches of the other workers that span the border are split in
//! proportion to time.
//!
//! A worker's hot loop contains its own work, and per batch one clock read and one compare. At an interval's end it
//! stores four numbers in its own slot; the last worker to do so wakes the main thread, which does the arithmetic and
//! the writing.

use std::sync::RwLock;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use crate::clock::seconds;
use crate::disturbance;
use crate::fault::{Fault, OrFault};
use crate::wire::{Out, finite};

mod board;
mod race;

use board::{Board, Done};
pub use race::{Finish, Race, Task, race};

/// Tolerance for the check that workers use no more CPU time than the wall time allows, as clocks may differ slightly.
const CLOCKS_DIFFER: f64 = 0.02;

/// One thread's share of a probe.
pub trait Work: Send {
    /// Whether the scheduler may move the thread among the job's CPUs, as it moves a program that waits for a device:
    /// a thread on a CPU other than the one that the device interrupts pays for each wake-up. Otherwise thread i stays
    /// on CPU i.
    const ROAMS: bool = false;

    /// Does uncounted work while other workers get ready; returns `false` if the worker may wait instead.
    fn lead_in(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Does one piece of work, ideally 50 us to 1 ms long, and returns its amount.
    fn batch(&mut self) -> Result<f64, Fault>;

    /// Ends the work, in its own thread, after the measured phase.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// The duration, the interval and the CPUs of a run.
pub struct Pace<'a> {
    pub duration_s: f64,
    pub interval_s: f64,
    pub threads: usize,
    /// Thread i stays on `cpus[i % cpus.len()]`; a thread with `ROAMS` may run on all of them.
    pub cpus: &'a [usize],
    /// Whether to wait first until the guest is quiet; `false` if the peer already works on the same CPUs.
    pub wait: bool,
    pub out: &'a Out,
}

/// Creates `threads` workers, each in its own thread, runs them, and returns them.
///
/// Calls `emit(t_s, rate)` from the calling thread for each interval, in order.
pub fn run<W: Work>(
    pace: &Pace,
    make: impl Fn(usize) -> Result<W, Fault> + Sync,
    mut emit: impl FnMut(f64, f64) -> Result<(), Fault>,
) -> Result<Vec<W>, Fault> {
    can_start(pace.threads)?;
    let board = Board::new(pace)?;
    let most = pace.cpus.len().min(pace.threads);
    let used = if W::ROAMS { pace.cpus } else { &pace.cpus[..most] };
    if pace.wait {
        disturbance::wait(pace.out, used)?;
    }
    note_share(pace.out, pace.threads, used.len())?;
    thread::scope(|scope| {
        let (board, make) = (&board, &make);
        let spawn = |i: usize| {
            let own = i % pace.cpus.len();
            let cpus = if W::ROAMS { pace.cpus } else { &pace.cpus[own..=own] };
            scope.spawn(move || board.work(i, cpus, make))
        };
        let workers: Vec<_> = (0..pace.threads).map(spawn).collect();
        let before = board.begin(used);
        let emitted = board.follow(&mut emit);
        board.stop.store(true, Relaxed);
        let joined: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        disturbance::counts(used).note_since(&before, pace.out)?;
        if let Some(fault) = board.fault.lock().ok().and_then(|mut fault| fault.take()) {
            return Err(fault);
        }
        emitted?;
        let done: Vec<Done<W>> = joined.into_iter().filter_map(|worker| worker.ok().flatten()).collect();
        note_cpu_time(&done, pace.out)?;
        check_cpu_time(&done, most)?;
        Ok(done.into_iter().map(|done| done.work).collect())
    })
}

/// Refuses more threads than the system allows for one process, with advice, before any thread waits for the others.
pub fn can_start(threads: usize) -> Result<(), Fault> {
    let gate = RwLock::new(());
    let closed = gate.write();
    let started = thread::scope(|scope| {
        let one = |_| thread::Builder::new().spawn_scoped(scope, || drop(gate.read())).map(drop);
        let started = (0..threads).try_for_each(one);
        drop(closed);
        started
    });
    let next = "lower threads, or raise the limits of processes and of memory";
    started.or_fault(format!("cannot start {threads} threads"), next)
}

/// Notes how many threads share how many CPUs: with more threads than CPUs, threads always wait.
pub fn note_share(out: &Out, threads: usize, cpus_used: usize) -> Result<(), Fault> {
    out.note("threads", threads as u64)?;
    out.note("cpus_used", cpus_used as u64)
}

/// Refuses a trial whose workers used more CPU time than the wall time on these CPUs allows.
fn check_cpu_time<W>(done: &[Done<W>], cpus: usize) -> Result<(), Fault> {
    let used_s = seconds(done.iter().map(|done| done.cpu_ns).sum());
    let there_s = cpus as f64 * seconds(done.iter().map(|done| done.elapsed_ns).max().unwrap_or(0));
    if used_s <= there_s * (1.0 + CLOCKS_DIFFER) {
        return Ok(());
    }
    let what = format!("more CPU time than there was: {used_s:.6} s of {there_s:.6} s on {cpus} CPUs");
    Err(Fault::invalid(what, "do not trust this machine's clocks, or report this"))
}

/// Notes the wall time until the last worker ended, the CPU time over the same period, and the workers' run delay.
fn note_cpu_time<W>(done: &[Done<W>], out: &Out) -> Result<(), Fault> {
    out.note("elapsed_s", finite(seconds(done.iter().map(|done| done.elapsed_ns).max().unwrap_or(0))))?;
    out.note("cpu_time_s", finite(seconds(done.iter().map(|done| done.cpu_ns).sum())))?;
    match done.iter().map(|done| done.run_delay_ns).sum::<Option<u64>>() {
        Some(ns) => out.note("run_delay_s", finite(seconds(ns))),
        None => Ok(()),
    }
}

/// Does the same for members of a team that worked between two clock reads, from each one's CPU time and run delay.
pub fn note_and_check_cpu_time(
    out: &Out,
    elapsed_ns: u64,
    used: &[(u64, Option<u64>)],
    cpus: usize,
) -> Result<(), Fault> {
    let done = |&(cpu_ns, run_delay_ns): &(u64, Option<u64>)| Done { work: (), cpu_ns, run_delay_ns, elapsed_ns };
    let done: Vec<Done<()>> = used.iter().map(done).collect();
    note_cpu_time(&done, out)?;
    check_cpu_time(&done, cpus)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pin;

    /// Works in steps of given lengths, one unit each, then in steps of one millisecond.
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
        // Three threads, one step per millisecond or slightly longer.
        assert!(work > 3.0 && work <= 3.0 * last * 1000.0 + 1e-6, "{work}");
    }

    #[test]
    fn a_stall_makes_one_longer_interval_and_never_a_zero() {
        let shown = paced(1, &[25]).unwrap();
        assert!(shown[0].0 >= 0.025 && shown.len() <= 3, "{shown:?}");
        assert!((shown[0].1 * shown[0].0 - 1.0).abs() < 1e-9, "one unit in all that time");
    }

    #[test]
    fn more_cpu_time_than_wall_time_is_refused() {
        let done = |cpu_ns| Done { work: (), cpu_ns, run_delay_ns: None, elapsed_ns: 1_000_000 };
        assert!(check_cpu_time(&[done(1_000_000), done(1_000_000)], 2).is_ok());
        assert!(check_cpu_time(&[done(500_000), done(519_000)], 1).is_ok());
        let fault = check_cpu_time(&[done(500_000), done(521_000)], 1).unwrap_err();
        assert!(fault.outcome.name() == "invalid" && fault.what.starts_with("more CPU time than there was"));
    }

    #[test]
    fn a_fault_of_any_worker_ends_the_run_and_is_returned() {
        assert_eq!(paced(2, &[0, 1, 1]).unwrap_err().what, "broken");
    }
}
