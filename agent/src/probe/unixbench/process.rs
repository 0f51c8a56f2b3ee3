//! What the tests and both sides of a pass share: this program as a file, an alarm, the count of loops, a tied life.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::score::Report;
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault, check};

/// The first argument of a worker.
pub const FLAG: &str = "--unixbench-copy";

static OVER: AtomicBool = AtomicBool::new(false);

/// This program, also where its file was removed or replaced.
pub const OWN: &str = "/proc/self/exe";

/// The program that the execl test starts again and again.
pub fn binary() -> Result<File, Fault> {
    File::open(OWN).or_fault("cannot open this program itself", "mount /proc")
}

/// Has the kernel kill the calling process when the process `parent`, which started it, ends.
pub fn die_with(parent: u32) -> std::io::Result<()> {
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }.into())?;
    // It may have ended before the call.
    if unsafe { libc::getppid() } as u32 == parent { Ok(()) } else { Err(std::io::ErrorKind::NotFound.into()) }
}

extern "C" fn ring(_: libc::c_int) {
    OVER.store(true, Relaxed);
}

/// Lets `again` say no after so many seconds. Calls that wait are interrupted then.
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

/// Whether there is to be another loop: until the alarm, but one in any case, however late this process had its turn.
#[inline(always)]
pub fn again(loops: u64) -> bool {
    loops == 0 || !OVER.load(Relaxed)
}

/// Loops that were done since then.
pub fn since(start_ns: u64, loops: u64) -> Report {
    Report { count: loops as f64, elapsed_s: seconds(now_ns() - start_ns) }
}
