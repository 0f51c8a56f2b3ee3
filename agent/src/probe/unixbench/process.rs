//! Shared parts of the tests and both sides of a pass: this program as a file, an alarm, loop counts, death with the
//! parent.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::score::Report;
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault, check};

/// The first argument of a worker.
pub const FLAG: &str = "--unixbench-copy";

static OVER: AtomicBool = AtomicBool::new(false);

/// This program, even if its file was removed or replaced.
pub const OWN: &str = "/proc/self/exe";

/// Opens the program that the execl test starts repeatedly.
pub fn binary() -> Result<File, Fault> {
    File::open(OWN).or_fault("cannot open this program itself", "mount /proc")
}

/// Makes the kernel kill the calling process when its parent process `parent` ends.
pub fn die_with(parent: u32) -> std::io::Result<()> {
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }.into())?;
    // The parent may have ended before the call.
    if unsafe { libc::getppid() } as u32 == parent { Ok(()) } else { Err(std::io::ErrorKind::NotFound.into()) }
}

extern "C" fn ring(_: libc::c_int) {
    OVER.store(true, Relaxed);
}

/// Makes `again` return false after `length_s` seconds, and interrupts waiting calls at that time.
pub fn alarm(length_s: f64) -> Result<(), Fault> {
    OVER.store(false, Relaxed);
    let mut timer: libc::itimerval = unsafe { std::mem::zeroed() };
    timer.it_value.tv_sec = length_s as libc::time_t;
    timer.it_value.tv_usec = ((length_s.fract() * 1e6) as libc::suseconds_t).max(1);
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = ring as *const () as usize;
    let set = unsafe { libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()) };
    check(set.into()).or_fault("cannot catch an alarm", "report this")?;
    let set = unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
    check(set.into()).or_fault("cannot set an alarm", "report this").map(|_| ())
}

/// Whether to run another loop: true until the alarm, and for the first loop even if this process was scheduled late.
#[inline(always)]
pub fn again(loops: u64) -> bool {
    loops == 0 || !OVER.load(Relaxed)
}

/// Reports the loops done since `start_ns`.
pub fn since(start_ns: u64, loops: u64) -> Report {
    Report { count: loops as f64, elapsed_s: seconds(now_ns() - start_ns) }
}
