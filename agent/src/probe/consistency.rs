//! Time to consistency of a storage service: a change, then reads through other connections until they return it.
//!
//! One delay per change; a delay that outlasts the wait counts as the wait. The first read of each connection after a
//! change says whether it is stale. `writer: here` makes the changes through a connection of the same agent. Any other
//! value is the path to a second agent, which makes them at the reader's order: the delay then begins when its answer
//! arrives. `writer_way_s` and `writer_way_max_s` bound by how much that is late, in the middle and at most.

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
use crate::service::call::Call;
use crate::service::client::Client;
use crate::service::delivery::{self, Way};
use crate::service::lane::Lane;
use crate::service::load::runtime;
use crate::service::outcome::{Failure, Kind as Failed};
use crate::service::staleness::{Bench, READERS, Round, Watch};
use crate::service::writer::{Order, Other, Writer};
use crate::targets::{Link, Role};
use crate::traffic_limiter::{Limiter, SENDER_DEPTH_S, Tolerance};
use crate::wire::finite;

mod changes;
mod serve;

use changes::{change, message};

const CELL: &[&str] = &["change", "read", "service", "writer"];
const HERE: &str = "here";

pub const PROBE: Probe = Probe {
    name: "consistency",
    roles: &[Role::Server, Role::Client, Role::Service],
    params: &[
        Param { name: "service", default: "table", kind: Kind::Choice(&["table", "blob", "queue"]) },
        Param { name: "change", default: "write", kind: Kind::Choice(&["write", "update", "delete", "list"]) },
        Param { name: "read", default: "eventual", kind: Kind::Choice(&["eventual", "strong"]) },
        Param { name: "writer", default: HERE, kind: Kind::ImpliedLabel },
        Param { name: "duration_s", default: "10", kind: Kind::Seconds(0.001, 86_400.0) },
    ],
    metrics: &[
        Metric { name: "consistency_time_s", unit: "s", params: CELL },
        Metric { name: "stale_read_ratio", unit: "ratio", params: CELL },
    ],
    run,
};

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
    let is_shared = matches!(context.job.link, Link::Shared(..));
    if is_shared != (context.text("writer") != HERE) {
        let (writer, other) = (context.text("writer"), if is_shared { "another" } else { "no other" });
        let what = format!("bad job: writer is {writer}, and the targets name {other} agent");
        return Err(Fault::bad_job(what, "name a server and the service, or leave writer out"));
    }
    let (service, credential) = context.service()?;
    let client = Arc::new(Client::new(service, credential)?);
    let tolerance = Tolerance { held_s: f64::INFINITY, warm_s: None, depth_s: SENDER_DEPTH_S };
    let caps = Caps { burst_s: None, ..context.job.caps };
    let limiter = Arc::new(Limiter::new(caps, Item { bytes: 1, packets: 0 }, tolerance));
    let left_s = context.job.deadline_s - context.seconds("duration_s");
    // A writer may be silent twice in one change: while it connects, and while the service does not answer.
    let silence_s = (left_s / if is_shared { 4.0 } else { 2.0 }).clamp(SILENCE_S.0, SILENCE_S.1);
    // On one machine the writer uses the last CPU and the reader the first: two if there are two.
    let cpus = &context.job.cpus;
    let writes = context.job.role == Role::Server;
    pin::to(&cpus[if writes { cpus.len() - 1 } else { 0 }..][..1])?;
    let asker = Asker { client, limiter: Arc::clone(&limiter), silence_s };
    if writes {
        return serve::run(context, asker);
    }
    read(context, asker, is_shared, left_s)
}

/// Runs the part of the reader, which measures.
fn read(context: &Context, asker: Asker, is_shared: bool, left_s: f64) -> Result<(), Fault> {
    let (limiter, silence_s) = (Arc::clone(&asker.limiter), asker.silence_s);
    let ready = match context.text("service") {
        "queue" => {
            let (client, limiter) = (Arc::clone(&asker.client), Arc::clone(&limiter));
            delivery::empty(Asker { client, limiter, silence_s }, EMPTY_SHARE * left_s).map(|_| ())
        }
        _ => Ok(()),
    };
    // The writer waits for its reader; one that cannot be prepared leaves it to the controller.
    let connected = ready.and_then(|()| {
        is_shared.then(|| Ok(Other::new(context.connect(0)?.0, silence_s))).transpose().map(|other| (runtime(), other))
    });
    let (measured, other) = match connected {
        Ok((Ok(runtime), other)) => LocalSet::new().block_on(&runtime, async {
            let mut writer = other.map_or_else(|| Writer::Own(Box::new(Lane::new(&asker.client, 0))), Writer::Other);
            let measured = match context.text("service") {
                "queue" => follow(context, asker, &mut writer).await,
                _ => measure(context, asker, &mut writer).await,
            };
            (measured, writer.other())
        }),
        Ok((Err(fault), other)) => (Err(fault), other),
        Err(fault) => (Err(fault), None),
    };
    limiter.note(context.out)?;
    match (measured, other) {
        (Ok(()), Some(other)) => other.finish(),
        (Err(fault), Some(other)) => Err(other.blame(limiter.blame(fault))),
        (measured, None) => measured.map_err(|fault| limiter.blame(fault)),
    }
}

async fn measure(context: &Context<'_>, asker: Asker, writer: &mut Writer) -> Result<(), Fault> {
    let mut bench = Bench::new(asker, writer);
    let (duration_s, kind) = (context.seconds("duration_s"), context.text("change").to_owned());
    let start_ns = now_ns();
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    let watch = Watch { least_ns: ns(LEAST_S.min(LEAST_SHARE * duration_s)), most_ns: ns(WAIT_SHARE * duration_s) };
    // New in every trial, so that a write is never one of a blob that an earlier trial has left.
    let first = unused();
    let strong = context.text("read") == "strong";
    let mut rounds = Vec::new();
    let mut failed = 0_usize;
    while seconds(now_ns() - start_ns) < duration_s && rounds.len() + failed < MOST_ROUNDS {
        let (of, n) = (context.text("service"), (rounds.len() + failed) as u64);
        let order = |kind: &str| Order { kind: kind.to_owned(), first, n };
        // What is deleted must have been there.
        if kind == "delete" {
            let write = Rc::new(change(of, order("write"), strong));
            if bench.round(&write, watch).await?.is_none_or(|round| round.censored) {
                failed += 1;
                continue;
            }
        }
        let change = Rc::new(change(of, order(&kind), strong));
        match bench.round(&change, watch).await? {
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
    report(context, &bench, &rounds, seconds(now_ns() - start_ns), watch)
}

/// Returns the number of a change that no earlier trial has made: the time, us.
fn unused() -> u64 {
    std::time::SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Sends messages one at a time to an empty queue, and receives each through another connection.
async fn follow(context: &Context<'_>, asker: Asker, writer: &mut Writer) -> Result<(), Fault> {
    let asker = Rc::new(asker);
    let mut way = match writer {
        Writer::Own(_) => Way::new(Rc::clone(&asker)).await?,
        Writer::Other(_) => Way::receiving(Rc::clone(&asker)).await?,
    };
    let duration_s = context.seconds("duration_s");
    let (start_ns, bound_ns) = (now_ns(), (WAIT_SHARE * duration_s * 1e9) as u64);
    let first = unused();
    let (mut changes, mut censored, mut reads, mut stale, mut failed) = (0, 0_u64, 0, 0, 0);
    while seconds(now_ns() - start_ns) < duration_s && changes + failed < MOST_ROUNDS as u64 {
        let order = Order { kind: "write".to_owned(), first, n: changes + failed };
        let round = match writer {
            Writer::Own(_) => way.round(message(&order), bound_ns).await?,
            Writer::Other(_) => sent_by(writer, &asker, &order, &mut way, bound_ns).await?,
        };
        match round {
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
    note_writer(context, writer)?;
    out.note("readers", 1)?;
    out.note("changes", changes)?;
    out.note("censored", censored)?;
    out.note("wait_s", finite(seconds(bound_ns)))?;
    if changes == 0 {
        return Err(no_change(counts.first.borrow().as_ref()));
    }
    out.note("reads", counts.receives.get())?;
    share(context, stale, reads, seconds(now_ns() - start_ns))
}

/// Has another agent send a message, then polls for it; `None` if it could not be sent, which is counted.
async fn sent_by(
    writer: &mut Writer,
    asker: &Asker,
    order: &Order,
    way: &mut Way,
    bound_ns: u64,
) -> Result<Option<delivery::Round>, Fault> {
    way.counts.operations.set(way.counts.operations.get() + 1);
    let message = message(order);
    match writer.make(asker, order, &Call::Send(message)).await? {
        Ok(sent_ns) => way.receive(message, sent_ns, bound_ns).await,
        Err(failure) => {
            way.counts.count(failure);
            Ok(None)
        }
    }
}

/// Notes what another agent's part in the changes was, and how late its answers can have been.
fn note_writer(context: &Context, writer: &Writer) -> Result<(), Fault> {
    let (out, Writer::Other(other)) = (context.out, writer) else { return Ok(()) };
    out.note("writer_operations", other.orders)?;
    out.note("writer_failures", other.failures)?;
    let Some((middle_ns, most_ns)) = other.ways_ns() else { return Ok(()) };
    out.note("writer_way_s", finite(seconds(middle_ns)))?;
    out.note("writer_way_max_s", finite(seconds(most_ns)))
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

fn report(context: &Context, bench: &Bench, rounds: &[Round], t_s: f64, watch: Watch) -> Result<(), Fault> {
    let (out, counts) = (context.out, &bench.counts);
    note(context, counts.operations.get(), &counts.failed.borrow()[..], bench.connections())?;
    note_writer(context, bench.writer)?;
    out.note("readers", READERS as u64)?;
    out.note("changes", rounds.len() as u64)?;
    out.note("censored", rounds.iter().filter(|round| round.censored).count() as u64)?;
    out.note("wait_s", finite(seconds(watch.most_ns)))?;
    if rounds.is_empty() {
        return Err(no_change(counts.first.borrow().as_ref()));
    }
    out.note("reads", rounds.iter().map(|round| round.reads).sum::<u64>())?;
    let (reads, stale) = rounds
        .iter()
        .fold((0, 0), |(reads, stale), round| (reads + round.first_reads, stale + round.stale_first_reads));
    share(context, stale, reads, t_s)
}
