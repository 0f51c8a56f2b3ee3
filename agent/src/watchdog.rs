//! The guard thread: ends the process at the deadline, at the end of the lease, or when the controller is gone.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::fault::{Fault, Outcome};
use crate::supervisor;
use crate::wire::Out;
use crate::workdir;

/// Time for the last frames; after it, the process ends without them.
pub const LAST_WORDS: Duration = Duration::from_secs(3);

/// Ends the process with `timeout` when the deadline passes, with `aborted` when the lease or stdin ends.
///
/// Nothing remains after such an end: files have no name or are in a folder that is removed, commands end with their
/// supervisor, and sockets close with the process.
pub fn start(out: Arc<Out>, deadline: Instant, lease: Option<Instant>) {
    let guard = move || {
        let fault = wait(deadline, lease);
        leave_at(Instant::now() + LAST_WORDS); // a reader that does not read must not keep the process alive
        let finished = out.finish_within(Duration::from_secs(1), &Err(fault));
        supervisor::end_own_and_wait();
        workdir::remove_own();
        // Skips destructors, because a probe thread may be anywhere.
        unsafe { libc::_exit(if finished { 0 } else { 1 }) }
    };
    thread::Builder::new().name("watch".into()).spawn(guard).expect("a thread for the deadline");
}

/// Ends the process at that time, without any output.
pub fn leave_at(time: Instant) {
    let leave = move || {
        while let Some(left) = time.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            thread::sleep(left);
        }
        unsafe { libc::_exit(1) }
    };
    thread::Builder::new().name("leave".into()).spawn(leave).expect("a thread for the end");
}

fn wait(deadline: Instant, lease: Option<Instant>) -> Fault {
    let aborted = |what: &str, next: &str| Fault { outcome: Outcome::Aborted, ..Fault::failed(what, next) };
    loop {
        let now = Instant::now();
        if lease.is_some_and(|lease| now >= lease) {
            return aborted("the lease has ended", "give a longer lease, or do less in it");
        }
        if now >= deadline {
            return Fault {
                outcome: Outcome::Timeout,
                ..Fault::failed("the deadline has passed", "raise deadline_s or shorten duration_s")
            };
        }
        let left = lease.map_or(deadline, |lease| lease.min(deadline)).saturating_duration_since(now);
        let mut stdin = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        let patience_ms = left.as_millis().saturating_add(1).min(i32::MAX as u128) as i32;
        if unsafe { libc::poll(&mut stdin, 1, patience_ms) } > 0 && ended(&stdin) {
            return aborted("stdin has ended: the controller is gone", "keep stdin open while the run is wanted");
        }
    }
}

/// Discards input after the job; returns whether stdin is at its end.
fn ended(stdin: &libc::pollfd) -> bool {
    let mut scrap = [0_u8; 512];
    if stdin.revents & libc::POLLIN != 0 {
        return unsafe { libc::read(0, scrap.as_mut_ptr().cast(), scrap.len()) } <= 0;
    }
    stdin.revents != 0
}
