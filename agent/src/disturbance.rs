//! Checks whether the guest is quiet before a trial and while it runs.
//!
//! Before: each CPU spins for a moment and adds up the time it lost, either waiting for other threads (the scheduler's
//! run delay) or in gaps between two clock reads (steal by the hypervisor). While the trial runs: stolen ticks, run
//! delay of the workers, CPU pressure, and throttling by a quota of CPU time are read before and after, never in
//! between.

use std::thread;

use crate::clock::{now_ns, seconds};
use crate::fault::Fault;
use crate::wire::{Out, finite};
use crate::{host, pin};

const LOOK_NS: u64 = 3_000_000;
const BOUND_NS: u64 = 250_000_000;
const HOLE_NS: u64 = 20_000;
/// A check counts as quiet if no CPU lost more than this share of it.
const LOST_SHARE: f64 = 0.02;

/// Waits until the CPUs are quiet, at most a quarter of a second; notes the wait and whether the CPUs became quiet.
pub fn wait(out: &Out, cpus: &[usize]) -> Result<(), Fault> {
    let start = now_ns();
    let mut quiet = false;
    while !quiet && now_ns() - start < BOUND_NS {
        quiet = thread::scope(|scope| {
            let looks: Vec<_> = cpus.iter().map(|&cpu| scope.spawn(move || lost_share(cpu))).collect();
            looks.into_iter().all(|look| look.join().is_ok_and(|lost| lost < LOST_SHARE))
        });
    }
    out.note("quiet_wait_s", finite(seconds(now_ns() - start)))?;
    out.note("disturbed", !quiet)
}

/// Returns the share of a short spin on `cpu` that the spin lost.
fn lost_share(cpu: usize) -> f64 {
    if pin::to(&[cpu]).is_err() {
        return 1.0;
    }
    let delay_before = run_delay_ns();
    let start = now_ns();
    let (mut last, mut holes) = (start, 0);
    while last - start < LOOK_NS {
        let now = now_ns();
        if now - last > HOLE_NS {
            holes += now - last;
        }
        last = now;
    }
    let delay = run_delay_ns().zip(delay_before).map_or(0, |(after, before)| after.saturating_sub(before));
    holes.max(delay) as f64 / (last - start) as f64
}

/// Returns the time that the calling thread has waited on a run queue, ns.
pub fn run_delay_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// Kernel counters at one moment.
pub struct Counts {
    steal_ticks: Option<u64>,
    pressure_us: Option<u64>,
    throttled: Option<(u64, f64)>,
}

/// Reads the counters of these CPUs; `None` for a counter that the kernel does not keep.
pub fn counts(cpus: &[usize]) -> Counts {
    Counts { steal_ticks: steal_ticks(cpus), pressure_us: pressure_us(), throttled: host::throttled() }
}

impl Counts {
    /// Writes notes about the changes since `before`.
    pub fn note_since(&self, before: &Counts, out: &Out) -> Result<(), Fault> {
        if let (Some(after), Some(before)) = (self.steal_ticks, before.steal_ticks) {
            let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
            out.note("steal_s", finite(after.saturating_sub(before) as f64 / ticks_per_s))?;
        }
        if let (Some(after), Some(before)) = (self.pressure_us, before.pressure_us) {
            out.note("cpu_pressure_s", finite(after.saturating_sub(before) as f64 * 1e-6))?;
        }
        if let (Some((periods, held_s)), Some((periods_before, held_s_before))) = (self.throttled, before.throttled) {
            out.note("throttled_periods", periods.saturating_sub(periods_before))?;
            out.note("throttled_s", finite((held_s - held_s_before).max(0.0)))?;
        }
        Ok(())
    }
}

fn steal_ticks(cpus: &[usize]) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let mut total = 0;
    for cpu in cpus {
        let name = format!("cpu{cpu}");
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
        total += line.split_whitespace().nth(8)?.parse::<u64>().ok()?;
    }
    Some(total)
}

/// Returns the time in which some thread of the machine waited for a CPU, us.
fn pressure_us() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split("total=").nth(1)?.trim().parse().ok()
}
