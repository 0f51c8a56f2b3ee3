//! Messages from one connection to another: an empty queue, then one message at a time, polled for until it is there.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tokio::task::LocalSet;

use super::asker::{Asker, prepare_fault};
use super::call::{Call, Message};
use super::lane::Lane;
use super::load::runtime;
use super::outcome::{Failure, Kind};
use crate::clock::{now_ns, seconds};
use crate::fault::Fault;

/// The longest message that any of the services takes.
pub const MOST_BYTES: u64 = 1 << 20;
/// How long a received message is hidden from others, if it is not deleted before.
pub const HIDDEN_S: u64 = 60;
/// Connections that empty a queue.
const LANES: usize = 8;
/// Receives of nothing in a row after which a connection takes the queue for empty.
const EMPTY_RECEIVES: u32 = 3;
/// A receive that failed is tried again after this time.
const REST: Duration = Duration::from_millis(20);
const TRIES: u32 = 5;

/// Empties a queue within some seconds: a purge if it holds anything, then receives until there is nothing more.
/// Returns the number of messages that were received and deleted.
pub fn empty(asker: Asker, most_s: f64) -> Result<u64, Fault> {
    let (runtime, start_ns) = (runtime()?, now_ns());
    LocalSet::new().block_on(&runtime, async move {
        let (asker, removed, purges) = (Rc::new(asker), Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let lane = |number| {
            let (asker, removed, purges) = (Rc::clone(&asker), Rc::clone(&removed), Rc::clone(&purges));
            tokio::task::spawn_local(async move {
                let mut lane = Lane::new(&asker.client, number);
                let (mut nothing, mut failures) = (0, 0);
                while nothing < EMPTY_RECEIVES {
                    if seconds(now_ns() - start_ns) > most_s {
                        let what = format!("the queue was not empty after {most_s:.1} s");
                        return Err(Fault::failed(what, "empty it, or raise deadline_s"));
                    }
                    let receive = Call::Receive { size: 0, hidden_s: HIDDEN_S };
                    let received = match asker.ask(&mut lane, &receive).await?.result {
                        Ok(done) => done.received,
                        Err(failure) if failures == TRIES => return Err(prepare_fault(&failure)),
                        Err(_) => {
                            failures += 1;
                            tokio::time::sleep(REST).await;
                            continue;
                        }
                    };
                    let Some(received) = received else {
                        nothing += 1;
                        continue;
                    };
                    nothing = 0;
                    removed.set(removed.get() + 1);
                    asker.ask(&mut lane, &Call::DeleteMessage(received.handle)).await?;
                    // Some services refuse a purge soon after another; then all messages are received.
                    if purges.replace(1) == 0 {
                        asker.ask(&mut lane, &Call::Purge).await?;
                    }
                }
                Ok(())
            })
        };
        let lanes: Vec<_> = (0..LANES).map(lane).collect();
        for lane in lanes {
            lane.await.unwrap_or_else(|_| Err(Fault::failed("the emptying was stopped", "report this")))?;
        }
        Ok(removed.get())
    })
}

/// What one message's way through a queue took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Round {
    /// From the beginning of the send to the end of the receive that returned the message, ns.
    pub delay_ns: u64,
    /// From the answer to the send to the beginning of that receive, ns; 0 if it began before.
    pub after_answer_ns: u64,
    /// The message did not come within the wait, which then stands for both times.
    pub censored: bool,
    /// Whether a first receive began after the answer to the send or returned the message, and whether it was stale:
    /// it returned nothing.
    pub first_reads: u64,
    pub stale_first_reads: u64,
}

/// Operations and failures of all rounds.
#[derive(Default)]
pub struct Counts {
    pub operations: Cell<u64>,
    pub receives: Cell<u64>,
    pub empty: Cell<u64>,
    /// Messages that were received and not the one that was sent.
    pub strangers: Cell<u64>,
    pub failed: RefCell<[u64; Kind::ALL.len()]>,
    pub first: RefCell<Option<Failure>>,
}

/// A sender and a receiver, each with a connection of its own.
pub struct Way {
    asker: Rc<Asker>,
    sender: Option<Lane>,
    receiver: Lane,
    pub counts: Rc<Counts>,
}

/// What became of the send of a round.
#[derive(Clone, Copy)]
enum Sent {
    UnderWay,
    Answered(u64),
    Failed,
}

impl Way {
    /// Creates both and connects them, in the runtime that runs the caller.
    pub async fn new(asker: Rc<Asker>) -> Result<Way, Fault> {
        let mut sender = Lane::new(&asker.client, 0);
        connect(&asker, &mut sender).await?;
        let way = Way::receiving(asker).await?;
        Ok(Way { sender: Some(sender), ..way })
    }

    /// Creates a receiver alone and connects it: another one sends.
    pub async fn receiving(asker: Rc<Asker>) -> Result<Way, Fault> {
        let mut receiver = Lane::new(&asker.client, 1);
        connect(&asker, &mut receiver).await?;
        Ok(Way { asker, sender: None, receiver, counts: Rc::default() })
    }

    pub fn connections(&self) -> u64 {
        self.receiver.connections + self.sender.as_ref().map_or(0, |lane| lane.connections)
    }

    /// Sends one message and polls for it from the beginning of the send on, at most for `bound_ns`, then deletes it;
    /// `None` if the send failed.
    pub async fn round(&mut self, message: Message, bound_ns: u64) -> Result<Option<Round>, Fault> {
        let Some(mut sender) = self.sender.take() else { return Ok(None) };
        let (asker, counts, sent) =
            (Rc::clone(&self.asker), Rc::clone(&self.counts), Rc::new(Cell::new(Sent::UnderWay)));
        let ends = Rc::clone(&sent);
        let start_ns = now_ns();
        let sending = tokio::task::spawn_local(async move {
            counts.operations.set(counts.operations.get() + 1);
            let performed = asker.ask(&mut sender, &Call::Send(message)).await;
            ends.set(match &performed {
                Ok(performed) if performed.result.is_ok() => Sent::Answered(performed.last_ns),
                _ => Sent::Failed,
            });
            let failed = performed.map(|performed| performed.result.err());
            (sender, failed.map(|failure| failure.map(|failure| counts.count(failure))))
        });
        // The send begins first.
        tokio::task::yield_now().await;
        let polled = self.poll(message, start_ns, bound_ns, &sent).await;
        let (sender, ended) = sending.await.map_err(|_| Fault::failed("the sender was stopped", "report this"))?;
        self.sender = Some(sender);
        ended?;
        polled
    }

    /// Polls for a message that another one has sent, from the time at which that was known here.
    pub async fn receive(&mut self, message: Message, sent_ns: u64, bound_ns: u64) -> Result<Option<Round>, Fault> {
        self.poll(message, sent_ns, bound_ns, &Cell::new(Sent::Answered(sent_ns))).await
    }

    async fn poll(
        &mut self,
        message: Message,
        start_ns: u64,
        bound_ns: u64,
        sent: &Cell<Sent>,
    ) -> Result<Option<Round>, Fault> {
        let mut round = Round::default();
        let receive = Call::Receive { size: message.size, hidden_s: HIDDEN_S };
        loop {
            let begin_ns = now_ns();
            let answered_ns = match sent.get() {
                Sent::Failed => return Ok(None),
                Sent::Answered(ns) => Some(ns),
                Sent::UnderWay => None,
            };
            if begin_ns - start_ns >= bound_ns {
                return Ok(Some(Round { delay_ns: bound_ns, after_answer_ns: bound_ns, censored: true, ..round }));
            }
            let counts = &self.counts;
            counts.operations.set(counts.operations.get() + 1);
            counts.receives.set(counts.receives.get() + 1);
            let performed = self.asker.ask(&mut self.receiver, &receive).await?;
            let done = match performed.result {
                Ok(done) => done,
                Err(failure) => {
                    counts.count(failure);
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            let Some(received) = done.received else {
                counts.empty.set(counts.empty.get() + 1);
                if answered_ns.is_some() && round.first_reads == 0 {
                    (round.first_reads, round.stale_first_reads) = (1, 1);
                }
                continue;
            };
            counts.operations.set(counts.operations.get() + 1);
            let deleted = self.asker.ask(&mut self.receiver, &Call::DeleteMessage(received.handle)).await?;
            if let Err(failure) = deleted.result {
                counts.count(failure);
            }
            if received.message == message {
                round.first_reads = 1;
                round.delay_ns = performed.last_ns - start_ns;
                round.after_answer_ns = answered_ns.map_or(0, |ns| begin_ns.saturating_sub(ns));
                if round.stale_first_reads == 0 {
                    round.after_answer_ns = 0;
                }
                return Ok(Some(round));
            }
            counts.strangers.set(counts.strangers.get() + 1);
        }
    }
}

/// Connects a lane by a receive.
async fn connect(asker: &Asker, lane: &mut Lane) -> Result<(), Fault> {
    let receive = Call::Receive { size: 0, hidden_s: HIDDEN_S };
    let done = asker.ask(lane, &receive).await?.result.map_err(|failure| prepare_fault(&failure))?;
    if let Some(received) = done.received {
        asker.ask(lane, &Call::DeleteMessage(received.handle)).await?;
    }
    Ok(())
}

impl Counts {
    pub fn count(&self, failure: Failure) {
        self.failed.borrow_mut()[failure.kind as usize] += 1;
        self.first.borrow_mut().get_or_insert(failure);
    }
}
