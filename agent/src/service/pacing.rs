//! The starts of an open loop: each at its planned time, whatever became of the earlier ones.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::task::{Poll, Waker};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::clock::now_ns;
use crate::fault::{Fault, OrFault, check};

/// Longer waits sleep first and spin the rest, because a sleep ends late.
const SPIN_NS: u64 = 100_000;
/// A start that has waited longer for a lane, or behind more others, is dropped.
const LONGEST_WAIT_NS: u64 = 10_000_000_000;
const LONGEST_QUEUE: usize = 10_000;

/// Sleeps to the nanosecond inside an event loop, whose own timers count milliseconds.
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
}

impl Alarm {
    /// Creates an alarm of the runtime that runs the caller.
    pub fn new() -> Result<Alarm, Fault> {
        let next = "report this";
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        let fd = check(fd.into()).or_fault("cannot create a timer", next)?;
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        // The file stays open and the same for as long as the alarm lives.
        let timer = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
        Ok(Alarm { timer: timer.or_fault("cannot wait for a timer", next)? })
    }

    async fn sleep(&self, ns: u64) -> io::Result<()> {
        let mut spec: libc::itimerspec = unsafe { std::mem::zeroed() };
        spec.it_value = libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let fd = self.timer.as_raw_fd();
        check(unsafe { libc::timerfd_settime(fd, 0, &spec, std::ptr::null_mut()) }.into())?;
        self.timer
            .async_io(Interest::READABLE, |fd| {
                let mut count = [0_u8; 8];
                check(unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), 8) } as i64).map(drop)
            })
            .await
    }

    /// Waits until the clock reaches `due_ns`: sleeps the long part, spins the short one while other tasks work.
    /// `work` counts what the other tasks do; returns the time that was spun away while they did nothing, ns.
    pub async fn wait_until(&self, due_ns: u64, work: &Cell<u64>) -> u64 {
        let mut spun = 0;
        loop {
            let now = now_ns();
            if now >= due_ns {
                return spun;
            }
            match due_ns - now {
                left if left > SPIN_NS => {
                    if self.sleep(left - SPIN_NS).await.is_err() {
                        return spun;
                    }
                }
                _ => {
                    let before = work.get();
                    tokio::task::yield_now().await;
                    if work.get() == before {
                        spun += now_ns() - now;
                    }
                }
            }
        }
    }
}

/// Planned starts that wait for a lane.
pub struct Starts {
    due: RefCell<VecDeque<u64>>,
    idle: RefCell<Vec<Option<Waker>>>,
    closed: Cell<bool>,
    pub dropped: Cell<u64>,
}

impl Starts {
    pub fn new(lanes: usize) -> Starts {
        Starts {
            due: RefCell::default(),
            idle: RefCell::new(vec![None; lanes]),
            closed: Cell::new(false),
            dropped: Cell::new(0),
        }
    }

    /// Adds a start that is due now, or drops it if too many wait or have waited too long.
    pub fn push(&self, due_ns: u64, now: u64) {
        let mut due = self.due.borrow_mut();
        let oldest = due.front().map_or(0, |&first| now.saturating_sub(first));
        if due.len() >= LONGEST_QUEUE || oldest > LONGEST_WAIT_NS {
            self.dropped.set(self.dropped.get() + 1);
            return;
        }
        due.push_back(due_ns);
        if let Some(waker) = self.idle.borrow_mut().iter_mut().find_map(Option::take) {
            waker.wake();
        }
    }

    /// Returns how long the oldest start has waited, ns.
    pub fn waited_ns(&self, now: u64) -> u64 {
        self.due.borrow().front().map_or(0, |&first| now.saturating_sub(first))
    }

    /// Ends the wait of all lanes once no start is left.
    pub fn close(&self) {
        self.closed.set(true);
        for waker in self.idle.borrow_mut().iter_mut().filter_map(Option::take) {
            waker.wake();
        }
    }

    /// Drops the starts that still wait.
    pub fn drop_rest(&self) {
        let rest = self.due.borrow_mut().drain(..).count();
        self.dropped.set(self.dropped.get() + rest as u64);
    }

    /// Returns the planned time of the next start, and whether this lane was free for it; `None` after the last.
    pub async fn next(&self, lane: usize) -> Option<(u64, bool)> {
        let mut waited = false;
        poll_fn(|cx| {
            if let Some(due_ns) = self.due.borrow_mut().pop_front() {
                self.idle.borrow_mut()[lane] = None;
                return Poll::Ready(Some((due_ns, waited)));
            }
            if self.closed.get() {
                return Poll::Ready(None);
            }
            waited = true;
            self.idle.borrow_mut()[lane] = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}
