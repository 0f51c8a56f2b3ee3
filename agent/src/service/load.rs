//! Load on a service: lanes on pinned threads, each with one operation in flight, in a closed or an open loop.
//!
//! Closed: each lane begins its next operation when its last has ended, until the time is over. Open: operations begin
//! at planned times, whether or not earlier ones have ended; a start that finds every lane busy waits for one, and its
//! latency counts from the planned time. Whatever began or was planned within the time is waited for, counted as
//! dropped, or timed out: nothing is left out because it was slow.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime};

use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use super::asker::Asker;
use super::body::Body;
use super::call::{Call, Reading};
use super::client::Client;
use super::lane::{Lane, Patience, Performed};
use super::outcome::Done;
use super::pacing::{Alarm, Starts};
use super::tally::Tally;
use crate::clock::{now_ns, thread_cpu_ns};
use crate::fault::{Fault, OrFault};
use crate::pin;
use crate::record::Recorder;
use crate::rng::Rng;
use crate::traffic_limiter::Limiter;

/// A lane that cannot connect tries again after this time.
const REST: Duration = Duration::from_millis(100);
/// A request that has waited longer for its start is built again: services refuse old signatures.
const FRESH_NS: u64 = 60_000_000_000;
/// Starts of an open loop that were planned are served for at most this long after the time is over.
const DRAIN_NS: u64 = 2_000_000_000;

/// Chooses the next operation.
pub type Choose = Arc<dyn Fn(&mut Rng) -> Call + Send + Sync>;
/// Says what an operation leaves to do on its lane, outside its time.
pub type FollowUps = Arc<dyn Fn(&Done) -> Vec<Call> + Send + Sync>;

/// One measured phase.
pub struct Load {
    pub client: Arc<Client>,
    pub cpus: Vec<usize>,
    pub lanes: usize,
    /// Whether connections are kept for later operations.
    pub reuse: bool,
    pub waits_for_consent: bool,
    /// Starts per second; `None`: a closed loop.
    pub rate_per_s: Option<f64>,
    pub duration_s: f64,
    pub interval_s: f64,
    /// The longest time without a byte of an answer.
    pub silence_s: f64,
    pub seed: u64,
    pub limiter: Arc<Limiter>,
    pub next: Choose,
    pub follow_ups: Option<FollowUps>,
}

/// What the threads of one phase share.
struct Common {
    load: Arc<Load>,
    barrier: Barrier,
    start_ns: OnceLock<u64>,
    stop: AtomicBool,
    fault: Mutex<Option<Fault>>,
}

/// What the lanes of one thread share.
struct Worker {
    common: Arc<Common>,
    tally: RefCell<Tally>,
    starts: Starts,
    /// Counts the steps of all lanes.
    work: Cell<u64>,
    spin_ns: Cell<u64>,
    end_ns: u64,
    patience: Patience,
}

/// Creates the event loop of one thread. It looks for answers at each turn, because a start that spins is always ready.
pub fn runtime() -> Result<Runtime, Fault> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().event_interval(1).build();
    runtime.or_fault("cannot create an event loop", "raise the limit of open files")
}

impl Load {
    /// Runs the phase; a fault only if it could not be run, not because operations failed.
    pub fn run(self) -> Result<Tally, Fault> {
        let threads = self.lanes.min(self.cpus.len());
        let common = Arc::new(Common {
            load: Arc::new(self),
            barrier: Barrier::new(threads),
            start_ns: OnceLock::new(),
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
        });
        let tallies: Vec<Tally> = thread::scope(|scope| {
            let spawn = |i: usize| {
                let common = Arc::clone(&common);
                scope.spawn(move || work(&common, i, threads))
            };
            let workers: Vec<_> = (0..threads).map(spawn).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).collect()
        });
        if let Some(fault) = common.fault.lock().ok().and_then(|mut fault| fault.take()) {
            return Err(fault);
        }
        let mut tallies = tallies.into_iter();
        let mut sum = tallies.next().ok_or_else(|| Fault::failed("no thread measured", "report this"))?;
        tallies.for_each(|tally| sum.add(tally));
        Ok(sum)
    }

    fn silence_ns(&self) -> u64 {
        (self.silence_s * 1e9) as u64
    }
}

impl Common {
    fn end(&self, fault: Fault) {
        if let Ok(mut first) = self.fault.lock() {
            first.get_or_insert(fault);
        }
        self.stop.store(true, Relaxed);
    }
}

/// Runs the lanes of one thread through the phase.
fn work(common: &Arc<Common>, thread: usize, threads: usize) -> Option<Tally> {
    let load = &common.load;
    let ready = pin::to(&[load.cpus[thread]]).and_then(|()| runtime());
    // Without this, a sleep may end another 50 us late.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let runtime = ready.map_err(|fault| common.end(fault)).ok();
    let numbers: Vec<usize> = (thread..load.lanes).step_by(threads).collect();
    // The same for both: what a connection of HTTP/2 runs beside its lane lives there.
    let local = LocalSet::new();
    let lanes = runtime.as_ref().map(|runtime| local.block_on(runtime, connect(load, &numbers)));
    common.barrier.wait();
    let (runtime, lanes) = (runtime?, lanes?);
    let start_ns = *common.start_ns.get_or_init(|| now_ns() + 1_000_000);
    let duration_ns = (load.duration_s * 1e9) as u64;
    let intervals = (load.duration_s / load.interval_s).floor().max(1.0) as usize;
    let (end_ns, silence_ns) = (start_ns + duration_ns, load.silence_ns());
    let worker = Rc::new(Worker {
        common: Arc::clone(common),
        tally: RefCell::new(Tally::new(start_ns, duration_ns / intervals as u64, intervals)),
        starts: Starts::new(lanes.len()),
        work: Cell::new(0),
        spin_ns: Cell::new(0),
        end_ns,
        patience: Patience { silence_ns, until_ns: end_ns + silence_ns },
    });
    let cpu_before = thread_cpu_ns();
    local.block_on(&runtime, run(&worker, lanes, &numbers, (thread, threads, start_ns)));
    let cpu_ns = thread_cpu_ns() - cpu_before;
    drop((local, runtime));
    let worker = Rc::into_inner(worker)?;
    let mut tally = worker.tally.into_inner();
    (tally.cpu_ns, tally.spin_ns) = (cpu_ns, worker.spin_ns.get());
    (tally.wall_ns, tally.threads, tally.lanes) = (now_ns().saturating_sub(start_ns), 1, numbers.len());
    tally.open.dropped = worker.starts.dropped.get();
    Some(tally)
}

/// Creates the lanes; connects those whose connections are kept. A lane that cannot connect says why when it works.
async fn connect(load: &Load, numbers: &[usize]) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = numbers.iter().map(|&number| Lane::new(&load.client, number)).collect();
    let patience = Patience { silence_ns: load.silence_ns(), until_ns: now_ns() + load.silence_ns() };
    for lane in lanes.iter_mut().filter(|_| load.reuse) {
        if lane.ready(patience).await.is_err() {
            break;
        }
    }
    lanes
}

/// Runs the lanes, and in an open loop the starts of this thread, until all have ended.
async fn run(
    worker: &Rc<Worker>,
    lanes: Vec<Lane>,
    numbers: &[usize],
    (thread, threads, start_ns): (usize, usize, u64),
) {
    let rate = worker.common.load.rate_per_s;
    let tasks: Vec<_> = lanes
        .into_iter()
        .enumerate()
        .map(|(own, lane)| {
            let (worker, number) = (Rc::clone(worker), numbers[own]);
            match rate {
                None => tokio::task::spawn_local(async move { worker.closed(lane, number, start_ns).await }),
                Some(_) => tokio::task::spawn_local(async move { worker.open(lane, own, number).await }),
            }
        })
        .collect();
    if let Some(rate) = rate {
        worker.plan(rate, (thread, threads, start_ns)).await;
    }
    for task in tasks {
        let _ = task.await; // a panic has ended the process
    }
    worker.starts.drop_rest();
}

impl Worker {
    async fn closed(&self, mut lane: Lane, number: usize, start_ns: u64) {
        let mut rng = Rng::new(self.common.load.seed, number as u64);
        while now_ns() < start_ns {
            tokio::task::yield_now().await;
        }
        while now_ns() < self.end_ns && !self.common.stop.load(Relaxed) {
            let Some(next) = self.build(&mut rng) else { break };
            if !self.perform(&mut lane, next, None).await {
                break;
            }
        }
        self.tally.borrow_mut().connections += lane.connections;
    }

    async fn open(&self, mut lane: Lane, own: usize, number: usize) {
        let mut rng = Rng::new(self.common.load.seed, number as u64);
        // Built before it is due, so that it can leave at once.
        while let Some(mut next) = self.build(&mut rng) {
            let Some((due_ns, was_free)) = self.starts.next(own).await else { break };
            let now = now_ns();
            if now > self.end_ns + DRAIN_NS.min(self.patience.silence_ns) || self.common.stop.load(Relaxed) {
                self.starts.dropped.set(self.starts.dropped.get() + 1);
                break;
            }
            if now - next.built_ns > FRESH_NS {
                let Some(fresh) = self.build(&mut rng) else { break };
                next = fresh;
            }
            let begin = if was_free { Begin::Free(due_ns) } else { Begin::Waited(due_ns) };
            if !self.perform(&mut lane, next, Some(begin)).await {
                break;
            }
        }
        self.tally.borrow_mut().connections += lane.connections;
    }

    /// Plans the starts of this thread: every `threads`-th of all.
    async fn plan(&self, rate: f64, (thread, threads, start_ns): (usize, usize, u64)) {
        let alarm = match Alarm::new() {
            Ok(alarm) => alarm,
            Err(fault) => return self.common.end(fault),
        };
        let mut planned = 0;
        for i in (thread as u64..).step_by(threads) {
            let due_ns = start_ns + (i as f64 * 1e9 / rate) as u64;
            if due_ns >= self.end_ns || self.common.stop.load(Relaxed) {
                break;
            }
            let spun = alarm.wait_until(due_ns, &self.work).await;
            self.spin_ns.set(self.spin_ns.get() + spun);
            self.starts.push(due_ns, now_ns());
            planned += 1;
            // Lanes begin before the next start is looked at, also where it is due already.
            tokio::task::yield_now().await;
        }
        alarm.wait_until(self.end_ns, &self.work).await;
        let mut tally = self.tally.borrow_mut();
        (tally.open.planned, tally.open.waited_ns) = (planned, self.starts.waited_ns(self.end_ns));
        self.starts.close();
    }

    /// Builds the request of the next operation; `None` ends the trial.
    fn build(&self, rng: &mut Rng) -> Option<Next> {
        let load = &self.common.load;
        let call = (load.next)(rng);
        let request = load.client.protocol.request(&call, SystemTime::now());
        let request = request.map_err(|fault| self.common.end(fault)).ok()?;
        Some(Next { call, request, built_ns: now_ns() })
    }

    /// Performs one operation and records it; `false` if there may be no other.
    async fn perform(&self, lane: &mut Lane, next: Next, begin: Option<Begin>) -> bool {
        let load = &self.common.load;
        if load.limiter.take_operation(next.call.bytes()).is_none() {
            self.common.stop.store(true, Relaxed);
            return false;
        }
        self.work.set(self.work.get() + 1);
        if !load.reuse {
            lane.close();
        }
        // A connection that is kept is made outside the measured time; one for each operation is part of it.
        let before = now_ns();
        let ready = lane.ready(self.patience).await;
        let now = now_ns();
        let from_ns = match begin {
            Some(begin) => begin.due_ns(),
            None if load.reuse => now,
            None => before,
        };
        if let Some(Begin::Free(due_ns)) = begin {
            let mut tally = self.tally.borrow_mut();
            tally.open.lateness.get_or_insert_with(Recorder::new).record_ns(before.saturating_sub(due_ns));
        }
        if let Err(failure) = ready {
            self.record(from_ns, Performed { result: Err(failure), first_ns: now, last_ns: now });
            tokio::time::sleep(REST).await;
            return true;
        }
        let performed = lane.perform(&next.call, next.request, load.waits_for_consent, self.patience).await;
        if let Ok(done) = &performed.result {
            load.limiter.used(done.bytes);
        }
        let follow_ups = match (&performed.result, &load.follow_ups) {
            (Ok(done), Some(follow_ups)) => follow_ups(done),
            _ => Vec::new(),
        };
        self.record(from_ns, performed);
        self.follow(lane, follow_ups).await
    }

    /// Performs what an operation left to do; its time is no part of a closed loop. `false` if there may be no other.
    async fn follow(&self, lane: &mut Lane, calls: Vec<Call>) -> bool {
        let (load, from_ns) = (&self.common.load, now_ns());
        let (client, limiter) = (Arc::clone(&load.client), Arc::clone(&load.limiter));
        let asker = Asker { client, limiter, silence_s: load.silence_s };
        for call in &calls {
            match asker.ask(lane, call).await {
                Ok(performed) => self.tally.borrow_mut().followed(performed),
                Err(fault) => {
                    self.common.end(fault);
                    return false;
                }
            }
        }
        if !calls.is_empty() && load.rate_per_s.is_none() {
            self.tally.borrow_mut().set_aside(from_ns, now_ns());
        }
        true
    }

    fn record(&self, from_ns: u64, performed: Performed) {
        self.work.set(self.work.get() + 1);
        self.tally.borrow_mut().record(from_ns, performed);
    }
}

/// An operation that can begin.
struct Next {
    call: Call,
    request: (http::Request<Body>, Reading),
    built_ns: u64,
}

/// The planned time of a start, and whether a lane was free for it.
#[derive(Clone, Copy)]
enum Begin {
    Free(u64),
    Waited(u64),
}

impl Begin {
    fn due_ns(self) -> u64 {
        match self {
            Begin::Free(due_ns) | Begin::Waited(due_ns) => due_ns,
        }
    }
}
