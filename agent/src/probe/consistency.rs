//! Time to consistency of a storage service: a change, then reads through other connections until they return it.
//!
//! One delay per change; a delay that outlasts the wait counts as the wait. The first read of each connection after a
//! change says whether it is stale. Reads come from this machine only, so a delay is one of the same data centre.

use std::rc::Rc;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use tokio::task::LocalSet;

use super::{Context, Kind, Metric, Param, Probe};
use crate::caps::{Caps, Item};
use crate::clock::{now_ns, seconds};
use crate::fault::Fault;
use crate::pin;
use crate::service::asker::{Asker, prepare_fault};
use crate::service::call::{Blob, Call, Message, Row, Set};
use crate::service::client::Client;
use crate::service::delivery::{self, Way};
use crate::service::load::runtime;
use crate::service::outcome::{Failure, Kind as Failed};
use crate::service::staleness::{Bench, Change, READERS, Round, Watch};
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, SENDER_DEPTH_S, Tolerance};

const CELL: &[&str] = &["change", "read", "service"];

pub const PROBE: Probe = Probe {
    name: "consistency",
    roles: &[Role::Client, Role::Service],
    params: &[
        Param { name: "service", default: "table", kind: Kind::Choice(&["table", "blob", "queue"]) },
        Param { name: "change", default: "write", kind: Kind::Choice(&["write", "update", "delete", "list"]) },
        Param { name: "read", default: "eventual", kind: Kind::Choice(&["eventual", "strong"]) },
        Param { name: "duration_s", default: "10", kind: Kind::Seconds(0.001, 86_400.0) },
    ],
    metrics: &[
        Metric { name: "consistency_time_s", unit: "s", params: CELL },
        Metric { name: "stale_read_ratio", unit: "ratio", params: CELL },
    ],
    run,
};

const SIZE: u64 = 64;
/// A trial has at most this many changes.
const MOST_ROUNDS: usize = 200;
/// Share of the time that a trial has left for emptying a queue.
const EMPTY_SHARE: f64 = 0.5;
/// Reads of one change go on for at most this share of the trial, s.
const WAIT_SHARE: f64 = 0.5;
/// Each change is watched for at least this time, s, or this share of the trial.
const LEAST_S: f64 = 0.1;
const LEAST_SHARE: f64 = 0.05;
const SILENCE_S: (f64, f64) = (0.2, 30.0);

fn run(context: &Context) -> Result<(), Fault> {
    let (of, kind) = (context.text("service"), context.text("change"));
    if of == "queue" && kind != "write" {
        return Err(Fault::bad_job(format!("bad job: a message in a queue has no {kind}"), "use change: write"));
    }
    let (service, credential) = context.service()?;
    let client = Arc::new(Client::new(service, credential)?);
    let tolerance = Tolerance { held_s: f64::INFINITY, warm_s: None, depth_s: SENDER_DEPTH_S };
    let caps = Caps { burst_s: None, ..context.job.caps };
    let limiter = Arc::new(Limiter::new(caps, Item { bytes: 1, packets: 0 }, tolerance));
    let left_s = context.job.deadline_s - context.seconds("duration_s");
    let silence_s = (left_s / 2.0).clamp(SILENCE_S.0, SILENCE_S.1);
    pin::to(&context.job.cpus[..1])?;
    let runtime = runtime()?;
    let asker = Asker { client, limiter: Arc::clone(&limiter), silence_s };
    let measured = match of {
        "queue" => {
            let (client, limiter) = (Arc::clone(&asker.client), Arc::clone(&asker.limiter));
            let emptied = delivery::empty(Asker { client, limiter, silence_s }, EMPTY_SHARE * left_s);
            emptied.and_then(|_| LocalSet::new().block_on(&runtime, follow(context, asker)))
        }
        _ => LocalSet::new().block_on(&runtime, measure(context, asker)),
    };
    limiter.note(context.out)?;
    measured.map_err(|fault| limiter.blame(fault))
}

async fn measure(context: &Context<'_>, asker: Asker) -> Result<(), Fault> {
    let mut bench = Bench::new(asker);
    let (duration_s, kind) = (context.seconds("duration_s"), context.text("change").to_owned());
    let start_ns = now_ns();
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    let watch = Watch { least_ns: ns(LEAST_S.min(LEAST_SHARE * duration_s)), most_ns: ns(WAIT_SHARE * duration_s) };
    // New in every trial, so that a write is never one of a blob that an earlier trial has left.
    let first = std::time::SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let strong = context.text("read") == "strong";
    let mut rounds = Vec::new();
    let mut failed = 0_usize;
    while seconds(now_ns() - start_ns) < duration_s && rounds.len() + failed < MOST_ROUNDS {
        let (of, n) = (context.text("service"), (rounds.len() + failed) as u64);
        // What is deleted must have been there.
        if kind == "delete" {
            let write = Rc::new(change(of, "write", strong, first, n));
            if bench.round(&write, watch).await?.is_none_or(|round| round.censored) {
                failed += 1;
                continue;
            }
        }
        let change = change(of, &kind, strong, first, n);
        match bench.round(&Rc::new(change), watch).await? {
            Some(round) => {
                context.sample("consistency_time_s", seconds(now_ns() - start_ns), seconds(round.delay_ns))?;
                rounds.push(round);
            }
            None => failed += 1,
        }
        if failed > 3 && rounds.is_empty() {
            break;
        }
    }
    report(context, &bench, &rounds, seconds(now_ns() - start_ns))
}

/// Returns the `n`-th change of a trial. Blobs have no weaker reads than strong ones.
fn change(of: &str, kind: &str, strong: bool, first: u64, n: u64) -> Change {
    if of == "table" {
        let new = Row::new(Set::Changing, first + n);
        let same = Row { version: n, ..Row::new(Set::Changing, first) };
        let look = |row| Call::LookRow { row, strong };
        return match kind {
            "update" => Change { change: Call::Put(same), read: look(same), there: true },
            "delete" => Change { change: Call::DeleteRow(new), read: look(new), there: false },
            "list" => Change { change: Call::Put(new), read: Call::FindRow { row: new, strong }, there: true },
            _ => Change { change: Call::Put(new), read: look(new), there: true },
        };
    }
    let blob = |index, version| Blob { version, ..Blob::new(Set::Changing, SIZE, index) };
    let new = blob(first + n, 0);
    match kind {
        "update" => Change { change: Call::Upload(blob(first, n)), read: Call::Look(blob(first, n)), there: true },
        "delete" => Change { change: Call::Delete(new), read: Call::Look(new), there: false },
        "list" => Change { change: Call::Upload(new), read: Call::Find(new), there: true },
        _ => Change { change: Call::Upload(new), read: Call::Look(new), there: true },
    }
}

/// Sends messages one at a time to an empty queue, and receives each through another connection.
async fn follow(context: &Context<'_>, asker: Asker) -> Result<(), Fault> {
    let mut way = Way::new(asker).await?;
    let duration_s = context.seconds("duration_s");
    let (start_ns, bound_ns) = (now_ns(), (WAIT_SHARE * duration_s * 1e9) as u64);
    let first = std::time::SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let (mut changes, mut censored, mut reads, mut stale, mut failed) = (0, 0_u64, 0, 0, 0);
    while seconds(now_ns() - start_ns) < duration_s && changes + failed < MOST_ROUNDS as u64 {
        match way.round(Message::new(SIZE, first + changes + failed), bound_ns).await? {
            Some(round) => {
                let t_s = seconds(now_ns() - start_ns);
                context.sample("consistency_time_s", t_s, seconds(round.after_answer_ns))?;
                changes += 1;
                censored += u64::from(round.censored);
                (reads, stale) = (reads + round.first_reads, stale + round.stale_first_reads);
            }
            None => failed += 1,
        }
        if failed > 3 && changes == 0 {
            break;
        }
    }
    let (out, counts) = (context.out, &way.counts);
    note(context, counts.operations.get(), &counts.failed.borrow()[..], way.connections())?;
    out.note("readers", 1)?;
    out.note("changes", changes)?;
    out.note("censored", censored)?;
    if changes == 0 {
        return Err(no_change(counts.first.borrow().as_ref()));
    }
    out.note("reads", counts.receives.get())?;
    share(context, stale, reads, seconds(now_ns() - start_ns))
}

fn note(context: &Context, operations: u64, failed: &[u64], connections: u64) -> Result<(), Fault> {
    let out = context.out;
    out.note("operations", operations)?;
    for kind in Failed::ALL {
        out.note(kind.note(), failed[kind as usize])?;
    }
    out.note("retries", 0)?;
    out.note("connections", connections)
}

fn no_change(failure: Option<&Failure>) -> Fault {
    match failure {
        Some(failure) => prepare_fault(failure),
        None => Fault::failed("no change was made within the time", "raise duration_s"),
    }
}

/// Writes the share of stale reads among the first reads after each change.
fn share(context: &Context, stale: u64, reads: u64, t_s: f64) -> Result<(), Fault> {
    if reads == 0 {
        return Err(Fault::failed("no read was answered", "see the notes of the trial"));
    }
    context.sample("stale_read_ratio", t_s, stale as f64 / reads as f64)
}

fn report(context: &Context, bench: &Bench, rounds: &[Round], t_s: f64) -> Result<(), Fault> {
    let (out, counts) = (context.out, &bench.counts);
    note(context, counts.operations.get(), &counts.failed.borrow()[..], bench.connections())?;
    out.note("readers", READERS as u64)?;
    out.note("changes", rounds.len() as u64)?;
    out.note("censored", rounds.iter().filter(|round| round.censored).count() as u64)?;
    if rounds.is_empty() {
        return Err(no_change(counts.first.borrow().as_ref()));
    }
    out.note("reads", rounds.iter().map(|round| round.reads).sum::<u64>())?;
    let (reads, stale) = rounds
        .iter()
        .fold((0, 0), |(reads, stale), round| (reads + round.first_reads, stale + round.stale_first_reads));
    share(context, stale, reads, t_s)
}
