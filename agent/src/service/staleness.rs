//! Time to consistency: a change through one connection, and reads through others until they all return it.
//!
//! Readers begin when the change has been answered, or when another agent has said that it was (`writer.rs`). They read without a pause at first, then with pauses that grow with
//! the time since the change, so that a delay of any length is seen to a few percent with few reads. A round ends when
//! each reader has seen only right answers for a while, as long again as wrong ones came and the least time to watch, or
//! at a bound: then its delay is censored at the bound. The least time is there because a service may answer right and
//! wrong in turn, as different replicas do.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use super::asker::Asker;
use super::call::Call;
use super::lane::Lane;
use super::outcome::{Failure, Kind};
use super::writer::{Order, Writer};
use crate::clock::now_ns;
use crate::fault::Fault;

/// Connections that read.
pub const READERS: usize = 4;
/// Right answers in a row after which a reader may stop.
const RIGHT_READS: u32 = 3;
/// Pauses between reads, as a share of the time since the change.
const PAUSE_SHARE: u64 = 20;

/// One change, and how a read of it looks that returns it.
pub struct Change {
    pub order: Order,
    pub change: Call,
    pub read: Call,
    /// Whether a right read says that the blob is there.
    pub there: bool,
}

/// The times that readers watch a change, ns.
#[derive(Clone, Copy)]
pub struct Watch {
    pub least_ns: u64,
    pub most_ns: u64,
}

/// What one round saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Round {
    /// From the answer to the change, or its arrival here, until the first read from which on all were right, ns.
    pub delay_ns: u64,
    pub censored: bool,
    /// Reads that began first on their connection after the change, and those of them that did not return it.
    pub first_reads: u64,
    pub stale_first_reads: u64,
    pub reads: u64,
}

/// Operations and failures of all rounds.
#[derive(Default)]
pub struct Counts {
    pub operations: Cell<u64>,
    pub failed: RefCell<[u64; Kind::ALL.len()]>,
    pub first: RefCell<Option<Failure>>,
}

impl Counts {
    fn failed(&self, failure: Failure) {
        self.failed.borrow_mut()[failure.kind as usize] += 1;
        self.first.borrow_mut().get_or_insert(failure);
    }
}

/// A writer and its readers, each with a connection of its own.
pub struct Bench<'a> {
    asker: Rc<Asker>,
    pub writer: &'a mut Writer,
    readers: Vec<Lane>,
    pub counts: Rc<Counts>,
}

/// What the readers of one round share.
struct Shared {
    asker: Rc<Asker>,
    counts: Rc<Counts>,
    start_ns: u64,
    watch: Watch,
    /// The latest beginning of a read that was not right.
    stale_ns: Cell<u64>,
    /// Beginnings of right reads.
    right_ns: RefCell<Vec<u64>>,
    round: RefCell<Round>,
}

impl Bench<'_> {
    /// Creates a bench of the runtime that runs the caller.
    pub fn new(asker: Asker, writer: &mut Writer) -> Bench<'_> {
        let readers = (1..=READERS).map(|number| Lane::new(&asker.client, number)).collect();
        Bench { asker: Rc::new(asker), writer, readers, counts: Rc::default() }
    }

    pub fn connections(&self) -> u64 {
        self.readers.iter().map(|lane| lane.connections).sum::<u64>() + self.writer.connections()
    }

    /// Has the writer make a change; returns the time from which on it counts, `None` if it failed, which is counted.
    async fn make(&mut self, change: &Change) -> Result<Option<u64>, Fault> {
        self.counts.operations.set(self.counts.operations.get() + 1);
        match self.writer.make(&self.asker, &change.order, &change.change).await? {
            Ok(made_ns) => Ok(Some(made_ns)),
            Err(failure) => {
                self.counts.failed(failure);
                Ok(None)
            }
        }
    }

    /// Makes one change and reads until it is everywhere, `None` if the change failed.
    pub async fn round(&mut self, change: &Rc<Change>, watch: Watch) -> Result<Option<Round>, Fault> {
        let Some(start_ns) = self.make(change).await? else { return Ok(None) };
        let shared = Rc::new(Shared {
            asker: Rc::clone(&self.asker),
            counts: Rc::clone(&self.counts),
            start_ns,
            watch,
            stale_ns: Cell::new(0),
            right_ns: RefCell::default(),
            round: RefCell::default(),
        });
        let read = |mut lane: Lane| {
            let (shared, change) = (Rc::clone(&shared), Rc::clone(change));
            tokio::task::spawn_local(async move {
                let result = shared.read(&mut lane, &change).await;
                (lane, result)
            })
        };
        let tasks: Vec<_> = self.readers.drain(..).map(read).collect();
        let mut ended = Ok(());
        for task in tasks {
            let (lane, result) = task.await.map_err(|_| Fault::failed("a reader was stopped", "report this"))?;
            self.readers.push(lane);
            ended = ended.and(result);
        }
        ended?;
        Ok(Some(shared.sum_up()))
    }
}

impl Shared {
    async fn read(&self, lane: &mut Lane, change: &Change) -> Result<(), Fault> {
        let (mut is_first, mut right) = (true, 0);
        loop {
            let begin_ns = now_ns();
            if begin_ns - self.start_ns >= self.watch.most_ns {
                return Ok(());
            }
            self.counts.operations.set(self.counts.operations.get() + 1);
            let is_right = match self.asker.ask(lane, &change.read).await?.result {
                Ok(done) => done.there == change.there,
                Err(failure) => {
                    // Neither right nor stale; a pause keeps a dead service from being flooded.
                    self.counts.failed(failure);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            self.record(begin_ns, is_first, is_right);
            is_first = false;
            right = if is_right { right + 1 } else { 0 };
            let stale_for_ns = self.stale_ns.get().saturating_sub(self.start_ns);
            let now = now_ns();
            let (since_ns, right_for_ns) = (now - self.start_ns, now - self.stale_ns.get().max(self.start_ns));
            if right >= RIGHT_READS && right_for_ns >= stale_for_ns && since_ns >= self.watch.least_ns {
                return Ok(());
            }
            // Shorter sleeps than the event loop's timers can count would only be late.
            if since_ns / PAUSE_SHARE >= 1_000_000 {
                tokio::time::sleep(Duration::from_nanos(since_ns / PAUSE_SHARE)).await;
            }
        }
    }

    fn record(&self, begin_ns: u64, is_first: bool, is_right: bool) {
        let mut round = self.round.borrow_mut();
        round.reads += 1;
        round.first_reads += u64::from(is_first);
        round.stale_first_reads += u64::from(is_first && !is_right);
        if is_right {
            self.right_ns.borrow_mut().push(begin_ns);
        } else {
            self.stale_ns.set(self.stale_ns.get().max(begin_ns));
        }
    }

    fn sum_up(&self) -> Round {
        let mut round = *self.round.borrow();
        let stale_ns = self.stale_ns.get();
        if stale_ns > 0 {
            let after = self.right_ns.borrow().iter().copied().filter(|&ns| ns > stale_ns).min();
            round.censored = after.is_none();
            round.delay_ns = after.map_or(self.watch.most_ns, |ns| ns - self.start_ns);
        }
        round
    }
}
