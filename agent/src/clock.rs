//! Clocks, and the cost of reading them.
//!
//! Every duration in the agent comes from `CLOCK_MONOTONIC_RAW` of one host: neither NTP nor a wall-clock step changes
//! it.

use std::hint::black_box;
use std::time::Duration;

/// Returns nanoseconds of `CLOCK_MONOTONIC_RAW`.
#[inline]
pub fn now_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// Returns the CPU time of the calling thread, ns.
pub fn thread_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns seconds since this machine booted, including suspends.
pub fn since_boot_s() -> f64 {
    seconds(read_ns(libc::CLOCK_BOOTTIME))
}

#[inline]
fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Converts nanoseconds to seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// Longer waits sleep first and spin the rest, because a sleep ends late.
const SPIN_NS: u64 = 100_000;

/// Waits until the clock reaches `due_ns`: sleeps the long part, spins the short one. Returns the time after the wait.
pub fn wait_until(due_ns: u64) -> u64 {
    loop {
        let now = now_ns();
        if now >= due_ns {
            return now;
        }
        match due_ns - now {
            left if left > SPIN_NS => std::thread::sleep(Duration::from_nanos(left - SPIN_NS)),
            _ => std::hint::spin_loop(),
        }
    }
}

/// The measured cost of a clock read, and the smallest step of the clock.
pub struct Calibration {
    pub resolution_s: f64,
    pub cost_s: f64,
}

/// Measures the clock: the cost is the best of eight bursts, the resolution is the smallest step above zero.
pub fn calibrate() -> Calibration {
    const READS: u64 = 256;
    let mut cost_ns = f64::INFINITY;
    let mut step_ns = u64::MAX;
    for _ in 0..8 {
        let start = now_ns();
        let mut last = start;
        for _ in 0..READS {
            let now = black_box(now_ns());
            if now > last {
                step_ns = step_ns.min(now - last);
            }
            last = now;
        }
        cost_ns = cost_ns.min((last - start) as f64 / READS as f64);
    }
    Calibration { resolution_s: seconds(step_ns), cost_s: cost_ns * 1e-9 }
}

/// Measures the clock of the core that runs the calling thread, Hz: dependent register adds retire one per cycle.
///
/// Takes the best of several short bursts, so that an interrupt or a stolen time slice does not lower it. `None` on an
/// architecture for which no chain of adds is written here.
pub fn core_hz() -> Option<f64> {
    const ROUNDS: u64 = 1_000;
    let mut best = 0.0_f64;
    for _ in 0..12 {
        let start = now_ns();
        let adds = dependent_adds(ROUNDS)?;
        let ns = now_ns() - start;
        if ns > 0 {
            best = best.max(adds as f64 / seconds(ns));
        }
    }
    (best > 0.0).then_some(best)
}

/// Runs `rounds` times 64 dependent adds; the loop counter runs in parallel with the chain. Returns the number of
/// adds.
#[cfg(target_arch = "x86_64")]
fn dependent_adds(rounds: u64) -> Option<u64> {
    // Register to register, because newer cores fold chains of immediate adds in the renamer.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64", "add {sum}, {step}", ".endr",
            "dec {count}",
            "jnz 2b",
            sum = inout(reg) 1_u64 => _, step = in(reg) black_box(3_u64), count = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
    Some(rounds * 64)
}

/// Runs `rounds` times 64 dependent adds; the loop counter runs in parallel with the chain. Returns the number of
/// adds.
#[cfg(target_arch = "aarch64")]
fn dependent_adds(rounds: u64) -> Option<u64> {
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64", "add {sum}, {sum}, {step}", ".endr",
            "subs {count}, {count}, #1",
            "b.ne 2b",
            sum = inout(reg) 1_u64 => _, step = in(reg) black_box(3_u64), count = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
    Some(rounds * 64)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn dependent_adds(_rounds: u64) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_moves_forward_and_costs_something() {
        let before = now_ns();
        let calibration = calibrate();
        assert!(now_ns() > before);
        assert!(calibration.cost_s > 0.0 && calibration.cost_s < 1e-4);
        assert!(calibration.resolution_s > 0.0 && calibration.resolution_s < 1e-2);
    }

    #[test]
    fn core_clock_is_of_this_century() {
        if let Some(hz) = core_hz() {
            assert!((2e8..2e10).contains(&hz), "{hz}");
        }
    }
}
