//! The parallel clients: created, warmed up, measured, ended, and verified.
//!
//! A client is a thread with its own table of open files, like a process: descriptors of different clients neither
//! contend nor count towards one limit. If the kernel refuses this, the clients share one table, and the notes say so.
//! No client is pinned: the kernel moves the clients as it moves those of a file server.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

use super::client::{Client, END, MEASURE, Place, Shared, Tally};
use super::files::Durability;
use crate::clock::{now_ns, seconds, thread_cpu_ns};
use crate::disturbance;
use crate::fault::{Fault, OrFault, check};
use crate::pace::{note_and_check_cpu_time, note_share};
use crate::wire::Out;

const STACK_BYTES: usize = 512 << 10;
const LOOK: Duration = Duration::from_millis(1);
/// Descriptors of the agent itself, with a margin.
const OWN_FILES: u64 = 64;

/// The result of the measurement.
pub struct Measured {
    pub tally: Tally,
    pub elapsed_s: f64,
    /// The place where each client stopped, by its number.
    pub places: Vec<Place>,
}

pub struct Fleet<'a> {
    pub clients: usize,
    pub cpus: &'a [usize],
    pub durability: Durability,
    /// The parent of the clients' own folders.
    pub folder: &'a Path,
    pub warm_up_s: f64,
    pub duration_s: f64,
    pub out: &'a Out,
}

/// Returns the folder of client `i`.
pub fn home(folder: &Path, i: usize) -> PathBuf {
    folder.join(format!("client{i}"))
}

/// The point where clients wait for each other, and their shared error state.
#[derive(Default)]
struct Gate {
    ready: AtomicUsize,
    door: RwLock<()>,
    broken: AtomicBool,
    fault: Mutex<Option<Fault>>,
}

impl Gate {
    /// Keeps the first fault only, because others may follow from it.
    fn give_up(&self, first: Fault) {
        if let Ok(mut fault) = self.fault.lock() {
            fault.get_or_insert(first);
        }
        self.broken.store(true, Relaxed);
    }

    fn wait_until(&self, done: impl Fn() -> bool) {
        while !done() && !self.broken.load(Relaxed) {
            thread::sleep(LOOK);
        }
    }
}

struct Ended {
    tally: Tally,
    place: Place,
    used: (u64, Option<u64>),
}

impl Fleet<'_> {
    pub fn run(&self, shared: &Shared) -> Result<Measured, Fault> {
        let used = self.cpus; // clients are not pinned
        self.allow_files(shared.load.slots)?;
        disturbance::wait(self.out, used)?;
        note_share(self.out, self.clients, used.len())?;
        let gate = Gate::default();
        let closed = gate.door.write();
        let gate = &gate;
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for i in 0..self.clients {
                let builder = thread::Builder::new().stack_size(STACK_BYTES);
                match builder.spawn_scoped(scope, move || self.one(i, shared, gate)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => gate.give_up(Fault::failed(
                        format!("cannot start client {i}: {error}"),
                        "raise the limit of threads (ulimit -u, pids.max), or use fewer clients",
                    )),
                }
            }
            while gate.ready.load(Acquire) < threads.len() {
                thread::sleep(LOOK);
            }
            let (before, start) = (disturbance::counts(used), now_ns());
            drop(closed);
            let elapsed_s = self.measure(shared, gate);
            let ended: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
            disturbance::counts(used).note_since(&before, self.out)?;
            if let Some(fault) = gate.fault.lock().ok().and_then(|mut fault| fault.take()) {
                return Err(fault);
            }
            let times: Vec<_> = ended.iter().map(|ended| ended.used).collect();
            note_and_check_cpu_time(self.out, now_ns() - start, &times, self.cpus.len().min(self.clients))?;
            Ok(summed(&ended, elapsed_s))
        })
    }

    /// Warms up until the time is over and every client has moved data, then measures.
    fn measure(&self, shared: &Shared, gate: &Gate) -> f64 {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let start = now_ns();
        let moving = || shared.moving.load(Relaxed) == self.clients;
        gate.wait_until(|| now_ns() - start >= ns(self.warm_up_s) && moving());
        let from = now_ns();
        shared.phase.store(MEASURE, Relaxed);
        gate.wait_until(|| now_ns() - from >= ns(self.duration_s));
        let to = now_ns();
        shared.phase.store(END, Relaxed);
        seconds(to - from)
    }

    /// Creates and opens a client's own folder, in its own table of open files.
    fn make(&self, i: usize) -> Result<File, Fault> {
        let own = unsafe { libc::unshare(libc::CLONE_FILES) } == 0;
        if i == 0 {
            self.out.note("own_file_tables", own)?;
        }
        let (home, next) = (home(self.folder, i), "name a directory that you may write to");
        std::fs::create_dir(&home).or_fault("cannot create a client's folder", next)?;
        File::open(&home).or_fault("cannot open a client's folder", "raise the limit of open files (ulimit -n)")
    }

    /// Runs one client from its folder to its end; `None` after a fault of any client.
    fn one(&self, i: usize, shared: &Shared, gate: &Gate) -> Option<Ended> {
        let made = self.make(i).map_err(|fault| gate.give_up(fault));
        gate.ready.fetch_add(1, Release);
        drop(gate.door.read());
        let home = made.ok().filter(|_| !gate.broken.load(Relaxed))?;
        let mut client = Client::new(shared, home.as_raw_fd(), self.durability);
        let (delay, cpu_ns) = (disturbance::run_delay_ns(), thread_cpu_ns());
        let replayed = client.replay();
        let cpu_ns = thread_cpu_ns() - cpu_ns;
        let run_delay_ns = disturbance::run_delay_ns().zip(delay).map(|(after, before)| after.saturating_sub(before));
        client.close_all();
        replayed.map_err(|fault| gate.give_up(fault)).ok()?;
        Some(Ended { tally: client.tally, place: client.place, used: (cpu_ns, run_delay_ns) })
    }

    /// Raises the limit of open files to the clients' needs, in case they must share one table.
    fn allow_files(&self, slots: usize) -> Result<(), Fault> {
        let next = "raise the limit of open files (ulimit -n), or use fewer clients";
        let needed = (self.clients * (slots + 4)) as u64 + OWN_FILES;
        let alone = slots as u64 + 4 + OWN_FILES;
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }.into())
            .or_fault("cannot read the limit of open files", next)?;
        if limit.rlim_cur < needed {
            limit.rlim_cur = needed.min(limit.rlim_max);
            check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }.into())
                .or_fault("cannot raise the limit of open files", next)?;
        }
        if limit.rlim_cur < alone {
            let what = format!("a client needs up to {alone} open files, {} are allowed", limit.rlim_cur);
            return Err(Fault::failed(what, next));
        }
        Ok(())
    }
}

fn summed(ended: &[Ended], elapsed_s: f64) -> Measured {
    let mut tally = Tally::default();
    ended.iter().for_each(|ended| tally.merge(&ended.tally));
    Measured { tally, elapsed_s, places: ended.iter().map(|ended| ended.place).collect() }
}
