//! The guard beside the probe: a deadline, and a controller that must stay.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::fault::{Fault, Outcome};
use crate::wire::Out;

/// Ends the process with `timeout` when the deadline passes, with `aborted` when stdin ends.
///
/// Nothing is left behind by such an end: files are unlinked once open, sockets die with the process.
pub fn start(out: Arc<Out>, deadline: Instant) {
    let guard = move || {
        let fault = wait(deadline);
        let said = out.finish_within(Duration::from_secs(1), &Err(fault));
        // Skips destructors: a probe thread may be anywhere.
        unsafe { libc::_exit(if said { 0 } else { 1 }) }
    };
    std::thread::Builder::new().name("watch".into()).spawn(guard).expect("a thread for the deadline");
}

fn wait(deadline: Instant) -> Fault {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Fault {
                outcome: Outcome::Timeout,
                ..Fault::failed("the deadline has passed", "raise deadline_s or shorten duration_s")
            };
        }
        let mut stdin = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        let patience_ms = left.as_millis().saturating_add(1).min(i32::MAX as u128) as i32;
        if unsafe { libc::poll(&mut stdin, 1, patience_ms) } > 0 && ended(&stdin) {
            return Fault {
                outcome: Outcome::Aborted,
                ..Fault::failed("stdin has ended: the controller is gone", "keep stdin open while the run is wanted")
            };
        }
    }
}

/// Drops what comes after the job; says whether stdin is at its end.
fn ended(stdin: &libc::pollfd) -> bool {
    let mut scrap = [0_u8; 512];
    if stdin.revents & libc::POLLIN != 0 {
        return unsafe { libc::read(0, scrap.as_mut_ptr().cast(), scrap.len()) } <= 0;
    }
    stdin.revents != 0
}
