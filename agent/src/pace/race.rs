//! Fixed work instead of a fixed time: threads start together, and each runs its own task to the end.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use super::{can_start, check_cpu_time, note_cpu_time, note_share};
use crate::clock::{now_ns, seconds, thread_cpu_ns};
use crate::fault::Fault;
use crate::pace::board::Done;
use crate::wire::Out;
use crate::{disturbance, pin};

/// One thread's task. Memory and files are created before the race, and checked after it.
pub trait Task: Send {
    /// The same as in `Work`: whether the scheduler may move the thread among the job's CPUs.
    const ROAMS: bool = false;

    /// Runs the task once; only this is timed.
    fn run(&mut self) -> Result<(), Fault>;

    /// Refuses a wrong result, after the race.
    fn verify(&mut self) -> Result<(), Fault>;
}

/// The threads of a race and their CPUs.
pub struct Race<'a> {
    pub threads: usize,
    /// Thread i stays on `cpus[i % cpus.len()]`; a thread with `ROAMS` may run on all of them.
    pub cpus: &'a [usize],
    pub out: &'a Out,
}

/// The result of a race.
pub struct Finish<T> {
    pub tasks: Vec<T>,
    /// The finishing time of each task, s.
    pub each_s: Vec<f64>,
    /// Time from the common start until the last task ended, s.
    pub all_s: f64,
}

impl<T> Finish<T> {
    /// Returns the time per task, amortised over the concurrent tasks, s.
    pub fn amortised_s(&self) -> f64 {
        self.all_s / self.each_s.len() as f64
    }
}

/// Creates one task per thread, runs them all at once, verifies them, and returns them.
pub fn race<T: Task>(race: &Race, make: impl Fn(usize) -> Result<T, Fault> + Sync) -> Result<Finish<T>, Fault> {
    let most = race.cpus.len().min(race.threads);
    let used = if T::ROAMS { race.cpus } else { &race.cpus[..most] };
    can_start(race.threads)?;
    disturbance::wait(race.out, used)?;
    note_share(race.out, race.threads, used.len())?;
    let (ready, go, given_up) =
        (Barrier::new(race.threads + 1), Barrier::new(race.threads + 1), AtomicBool::new(false));
    let start_ns = AtomicU64::new(0);
    let one = |i: usize| -> Result<(Done<T>, u64), Fault> {
        let own = i % race.cpus.len();
        let made = pin::to(if T::ROAMS { race.cpus } else { &race.cpus[own..=own] }).and_then(|()| make(i));
        given_up.fetch_or(made.is_err(), Relaxed);
        ready.wait();
        go.wait();
        let mut task = made?;
        if given_up.load(Relaxed) {
            return Err(Fault::failed("another thread could not begin", "see the first fault"));
        }
        let (delay, cpu_ns) = (disturbance::run_delay_ns(), thread_cpu_ns());
        task.run()?;
        let took_ns = now_ns() - start_ns.load(Relaxed);
        let cpu_ns = thread_cpu_ns() - cpu_ns;
        // Read again, after the CPU time: an interrupt between the two reads counts as CPU time of this thread.
        let elapsed_ns = now_ns() - start_ns.load(Relaxed);
        let run_delay_ns = disturbance::run_delay_ns().zip(delay).map(|(after, before)| after.saturating_sub(before));
        Ok((Done { work: task, cpu_ns, run_delay_ns, elapsed_ns }, took_ns))
    };
    let (before, done) = thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = (0..race.threads).map(|i| scope.spawn(move || one(i))).collect();
        ready.wait();
        let before = disturbance::counts(used);
        start_ns.store(now_ns(), Relaxed);
        go.wait();
        let died = |_| Err(Fault::failed("a thread died", "report this"));
        (before, threads.into_iter().map(|thread| thread.join().unwrap_or_else(died)).collect::<Vec<_>>())
    });
    disturbance::counts(used).note_since(&before, race.out)?;
    let (done, took_ns): (Vec<_>, Vec<_>) = all_or_first_fault(done)?.into_iter().unzip();
    note_cpu_time(&done, race.out)?;
    check_cpu_time(&done, most)?;
    let each_s: Vec<f64> = took_ns.into_iter().map(seconds).collect();
    let mut tasks: Vec<T> = done.into_iter().map(|done| done.work).collect();
    tasks.iter_mut().try_for_each(Task::verify)?;
    Ok(Finish { all_s: each_s.iter().copied().fold(0.0, f64::max), tasks, each_s })
}

/// Returns the fault of the thread that failed first, not of those that stopped because of it.
fn all_or_first_fault<T>(done: Vec<Result<T, Fault>>) -> Result<Vec<T>, Fault> {
    let (done, mut faults): (Vec<_>, Vec<_>) = done.into_iter().partition(Result::is_ok);
    faults.sort_by_key(|fault| fault.as_ref().is_err_and(|fault| fault.what.starts_with("another thread")));
    match faults.into_iter().next() {
        Some(Err(fault)) => Err(fault),
        _ => Ok(done.into_iter().flatten().collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Sleep(u64, bool);

    impl Task for Sleep {
        fn run(&mut self) -> Result<(), Fault> {
            thread::sleep(Duration::from_millis(self.0));
            Ok(())
        }

        fn verify(&mut self) -> Result<(), Fault> {
            if self.1 { Ok(()) } else { Err(Fault::invalid("wrong", "report this")) }
        }
    }

    fn raced(make: impl Fn(usize) -> Result<Sleep, Fault> + Sync) -> Result<Finish<Sleep>, Fault> {
        let out = Out::new(Box::new(std::io::sink()));
        race(&Race { threads: 3, cpus: &pin::allowed(), out: &out }, make)
    }

    #[test]
    fn each_task_has_its_own_time_and_the_slowest_one_is_the_total() {
        let finish = raced(|i| Ok(Sleep(5 * (i as u64 + 1), true))).unwrap();
        assert_eq!(finish.tasks.len(), 3);
        // A busy machine may wake the shortest sleeper last.
        assert!(finish.each_s.iter().zip([0.005, 0.010, 0.015]).all(|(took_s, least_s)| *took_s >= least_s));
        assert_eq!(finish.all_s, finish.each_s.iter().copied().fold(0.0, f64::max));
        assert_eq!(finish.amortised_s(), finish.all_s / 3.0);
    }

    #[test]
    fn a_wrong_result_or_a_failed_creation_is_a_fault_and_no_thread_waits_for_ever() {
        assert_eq!(raced(|i| Ok(Sleep(1, i != 1))).err().unwrap().what, "wrong");
        let made = |i| if i == 2 { Err(Fault::failed("no room", "free some")) } else { Ok(Sleep(1, true)) };
        assert_eq!(raced(made).err().unwrap().what, "no room");
    }
}
