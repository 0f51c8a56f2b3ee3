//! Propagation delay of a queue service: a message to an empty queue, polled for until it can be received.
//!
//! The delay is from the beginning of the send to the end of the first receive that returns the message. Receives go
//! through another connection, one after the other without a pause, from the beginning of the send on: the delay
//! exceeds the time at which the message became available by one receive on average and two at most. A message that
//! outlasts the wait counts as the wait. Each message is deleted before the next one is sent.

use std::rc::Rc;
use std::time::UNIX_EPOCH;

use tokio::task::LocalSet;

use super::service_trial::ServiceTrial;
use super::{Context, Kind, Metric, Param, Probe};
use crate::clock::{now_ns, seconds};
use crate::fault::Fault;
use crate::pin;
use crate::record::Recorder;
use crate::service::asker::prepare_fault;
use crate::service::call::Message;
use crate::service::delivery::{self, Way};
use crate::service::load::runtime;
use crate::service::outcome::Kind as Failed;
use crate::targets::Role;
use crate::wire::finite;

pub const PROBE: Probe = Probe {
    name: "propagation",
    roles: &[Role::Client, Role::Service],
    params: &[
        Param { name: "size_bytes", default: "50", kind: Kind::Whole(1, delivery::MOST_BYTES) },
        Param { name: "duration_s", default: "10", kind: Kind::Seconds(0.001, 86_400.0) },
    ],
    metrics: &[Metric { name: "queue_propagation_s", unit: "s", params: &["size_bytes"] }],
    run,
};

/// A message is waited for during at most this share of the trial.
const WAIT_SHARE: f64 = 0.5;
/// Share of the time that a trial has left for emptying the queue.
const EMPTY_SHARE: f64 = 0.5;
/// Sends that fail in a row before the first message comes.
const MOST_FAILURES: u32 = 5;

fn run(context: &Context) -> Result<(), Fault> {
    let trial = ServiceTrial::new(context, 1)?;
    let removed = trial.end(delivery::empty(trial.asker(), EMPTY_SHARE * trial.left_s()))?;
    context.out.note("removed_before", removed)?;
    pin::to(&context.job.cpus[..1])?;
    let runtime = runtime()?;
    trial.limiter.begin();
    let measured = LocalSet::new().block_on(&runtime, measure(&trial));
    trial.end(measured)
}

async fn measure(trial: &ServiceTrial<'_>) -> Result<(), Fault> {
    let context = trial.context;
    let size = context.whole("size_bytes").unwrap_or(1);
    let mut way = Way::new(Rc::new(trial.asker())).await?;
    let (start_ns, bound_ns) = (now_ns(), (WAIT_SHARE * trial.duration_s * 1e9) as u64);
    // New in every trial, so that no message of an earlier one is taken for its own.
    let first = std::time::SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let (mut delays, mut censored, mut failed) = (Recorder::new(), 0_u64, 0_u32);
    for number in first.. {
        if seconds(now_ns() - start_ns) >= trial.duration_s || (failed >= MOST_FAILURES && delays.len() == 0) {
            break;
        }
        match way.round(Message::new(size, number), bound_ns).await? {
            Some(round) => {
                delays.record_ns(round.delay_ns);
                censored += u64::from(round.censored);
            }
            None => failed += 1,
        }
    }
    let (out, counts, end_s) = (context.out, &way.counts, seconds(now_ns() - start_ns));
    out.note("operations", counts.operations.get())?;
    for kind in Failed::ALL {
        out.note(kind.note(), counts.failed.borrow()[kind as usize])?;
    }
    out.note("retries", 0)?;
    out.note("connections", way.connections())?;
    out.note("messages", delays.len())?;
    out.note("censored", censored)?;
    out.note("receives", counts.receives.get())?;
    out.note("empty_receives", counts.empty.get())?;
    out.note("strangers", counts.strangers.get())?;
    out.note("receive_every_s", finite(end_s / counts.receives.get().max(1) as f64))?;
    if delays.len() == censored {
        return Err(match counts.first.borrow().as_ref() {
            Some(failure) => prepare_fault(failure),
            None => Fault::failed("no message came within the wait", "raise duration_s"),
        });
    }
    context.hist("queue_propagation_s", end_s, &delays)
}
