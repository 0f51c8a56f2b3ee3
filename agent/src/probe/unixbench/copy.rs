//! A copy's side of a pass: a fresh process with one thread, an alarm, one loop, and one line of what came of it.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::score::Report;
use super::{calls, dhrystone, files, shell, whetstone};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault, Outcome, check};

/// The first argument of a copy.
pub const FLAG: &str = "--unixbench-copy";

static OVER: AtomicBool = AtomicBool::new(false);

/// The whole life of a copy: test, length in seconds and, where `execl` began earlier, its start and its count.
pub fn main(arguments: &[OsString]) -> i32 {
    let words: Option<Vec<&str>> = arguments.iter().map(|word| word.to_str()).collect();
    let length_s = |text: &str| text.parse::<f64>().ok().filter(|value| (0.001..=86_400.0).contains(value));
    let result = match words.as_deref() {
        Some([test, text]) => length_s(text).map(|length_s| ready().and_then(|()| measure(test, length_s))),
        Some(["execl", text, start_ns, count]) => {
            let again = length_s(text).zip(start_ns.parse().ok()).zip(count.parse().ok());
            again.map(|((length_s, start_ns), count)| calls::execl(length_s, start_ns, count))
        }
        _ => None,
    };
    let line = match result {
        Some(Ok(report)) => format!("ok {} {}", report.count, report.elapsed_s),
        Some(Err(fault)) if fault.outcome == Outcome::Invalid => format!("invalid {}\t{}", fault.what, fault.next),
        Some(Err(fault)) => format!("failed {}\t{}", fault.what, fault.next),
        None => return 2,
    };
    i32::from(writeln!(std::io::stdout(), "{line}").is_err())
}

fn measure(test: &str, length_s: f64) -> Result<Report, Fault> {
    match test {
        "dhry2reg" => dhrystone::run(length_s),
        "whetstone-double" => whetstone::run(length_s),
        "execl" => calls::execl(length_s, now_ns(), 0),
        "fstime" => files::copy(length_s, 1024, 2000),
        "fsbuffer" => files::copy(length_s, 256, 500),
        "fsdisk" => files::copy(length_s, 4096, 8000),
        "pipe" => calls::pipe(length_s),
        "context1" => calls::context(length_s),
        "spawn" => calls::spawn(length_s),
        "shell1" => shell::run(length_s, 1),
        "shell8" => shell::run(length_s, 8),
        "syscall" => calls::syscalls(length_s),
        _ => Err(Fault::failed("no such test", "see the table of tests")),
    }
}

/// Says that it is ready, and waits for the others.
fn ready() -> Result<(), Fault> {
    let next = "run it from the agent";
    writeln!(std::io::stdout(), "ready").or_fault("cannot write to stdout", next)?;
    std::io::stdin().read_to_end(&mut Vec::new()).or_fault("cannot read stdin", next).map(|_| ())
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
