//! Operations on a queue service: send and receive, in a closed or an open loop.
//!
//! A trial of receives begins with a queue that holds messages of the trial's size alone, and keeps it as full: each
//! lane deletes what it received and sends another message, outside the timed operation; a closed loop's operations
//! per second leave this time out as well. A receive of nothing is counted apart, and is neither a success nor a
//! failure. What is left is deleted after the trial.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::service_trial::ServiceTrial;
use super::{Context, Kind, Metric, Param, Probe};
use crate::fault::Fault;
use crate::rng::Rng;
use crate::service::call::{Call, Message};
use crate::service::climb::MOST_LANES;
use crate::service::delivery::{self, HIDDEN_S};
use crate::service::fill;
use crate::service::load::{Choose, FollowUps};
use crate::service::outcome::Done;
use crate::service::tally::Tally;
use crate::targets::Role;

const CELL: &[&str] = &["client", "concurrency", "op", "rate_per_s", "reuse", "size_bytes"];
/// Requests of one receive: itself, a deletion, and a message in the place of the one that was received.
const REQUESTS: u64 = 3;
/// Messages in the queue of a trial of receives: some, and more for each lane.
const MESSAGES: (u64, u64) = (256, 4);
/// Lanes that are assumed where the probe raises them until throughput stops growing.
const ASSUMED_LANES: u64 = 256;
/// Share of the time that a trial has left for emptying the queue.
const EMPTY_SHARE: f64 = 0.5;

pub const PROBE: Probe = Probe {
    name: "queue",
    roles: &[Role::Client, Role::Service],
    params: &[
        Param { name: "op", default: "send", kind: Kind::Choice(&["send", "receive"]) },
        Param { name: "size_bytes", default: "50", kind: Kind::Whole(1, delivery::MOST_BYTES) },
        Param { name: "concurrency", default: "1", kind: Kind::WholeOr(1, MOST_LANES as u64, "max") },
        Param { name: "rate_per_s", default: "closed", kind: Kind::WholeOr(1, 1_000_000, "closed") },
        Param { name: "reuse", default: "yes", kind: Kind::Choice(&["yes", "no"]) },
        Param { name: "client", default: "native", kind: Kind::Choice(&["native", "sdk-python", "cli"]) },
        Param { name: "duration_s", default: "10", kind: Kind::Seconds(0.001, 86_400.0) },
    ],
    metrics: &[
        Metric { name: "queue_latency_s", unit: "s", params: CELL },
        Metric { name: "queue_op_per_s", unit: "op/s", params: CELL },
        Metric { name: "queue_throttled_ratio", unit: "ratio", params: CELL },
        Metric { name: "queue_failed_ratio", unit: "ratio", params: CELL },
    ],
    run,
};

fn run(context: &Context) -> Result<(), Fault> {
    let receives = context.text("op") == "receive";
    let trial = ServiceTrial::new(context, if receives { REQUESTS } else { 1 })?;
    let size = context.whole("size_bytes").unwrap_or(1);
    let measured = if receives { receive(&trial, size) } else { send(&trial, size) };
    let tally = trial.end(measured)?;
    // Whether or not the service allows it now: a later trial empties the queue as well.
    context.out.note("purged", fill::once(&trial.asker(), &Call::Purge).is_ok())?;
    context.out.note("empty_receives", tally.empty)?;
    context.out.note("follow_ups", tally.follow_ups)?;
    context.out.note("follow_ups_failed", tally.follow_ups_failed)?;
    trial.report("queue_latency_s", "queue_throttled_ratio", "queue_failed_ratio", &tally)?;
    trial.report_rates("queue_op_per_s", &tally)
}

fn send(trial: &ServiceTrial, size: u64) -> Result<Tally, Fault> {
    let next: Choose = Arc::new(move |rng: &mut Rng| Call::Send(Message::new(size, rng.next())));
    trial.measure(&next, None)
}

fn receive(trial: &ServiceTrial, size: u64) -> Result<Tally, Fault> {
    let out = trial.context.out;
    out.note("removed_before", delivery::empty(trial.asker(), EMPTY_SHARE * trial.left_s())?)?;
    let lanes = trial.context.whole("concurrency").unwrap_or(ASSUMED_LANES);
    let mut rng = Rng::new(trial.context.job.seed, u64::MAX);
    let messages = MESSAGES.0 + MESSAGES.1 * lanes;
    let sends = (0..messages).map(|_| Call::Send(Message::new(size, rng.next()))).collect();
    out.note("messages_written", fill::write(trial.asker(), sends)? as u64)?;
    let next: Choose = Arc::new(move |_: &mut Rng| Call::Receive { size, hidden_s: HIDDEN_S });
    let number = AtomicU64::new(rng.next());
    let follow_ups: FollowUps = Arc::new(move |done: &Done| {
        let another = Call::Send(Message::new(size, number.fetch_add(1, Relaxed)));
        let delete = done.received.as_ref().map(|received| Call::DeleteMessage(received.handle.clone()));
        delete.into_iter().chain([another]).collect()
    });
    trial.measure(&next, Some(&follow_ups))
}
