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
use crate::service::call::{Blob, Call, Set};
use crate::service::client::Client;
use crate::service::load::runtime;
use crate::service::outcome::Kind as Failed;
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
/// Reads of one change go on for at most this share of the trial, s.
const WAIT_SHARE: f64 = 0.5;
/// Each change is watched for at least this time, s, or this share of the trial.
const LEAST_S: f64 = 0.1;
const LEAST_SHARE: f64 = 0.05;
const SILENCE_S: (f64, f64) = (0.2, 30.0);

fn run(context: &Context) -> Result<(), Fault> {
    if context.text("service") != "blob" {
        let what = format!("bad job: this agent measures no consistency of a {}", context.text("service"));
        return Err(Fault::bad_job(what, "use service: blob"));
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
    let measured = LocalSet::new().block_on(&runtime, measure(context, asker));
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
    let mut rounds = Vec::new();
    let mut failed = 0_usize;
    while seconds(now_ns() - start_ns) < duration_s && rounds.len() + failed < MOST_ROUNDS {
        let change = change(&kind, first, (rounds.len() + failed) as u64);
        // What is deleted must have been there.
        if kind == "delete" && !settle(&mut bench, &change, watch).await? {
            failed += 1;
            continue;
        }
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

/// Returns the `n`-th change of a trial.
fn change(kind: &str, first: u64, n: u64) -> Change {
    let blob = |index, version| Blob { version, ..Blob::new(Set::Changing, SIZE, index) };
    let new = blob(first + n, 0);
    match kind {
        "update" => Change { change: Call::Upload(blob(first, n)), read: Call::Look(blob(first, n)), there: true },
        "delete" => Change { change: Call::Delete(new), read: Call::Look(new), there: false },
        "list" => Change { change: Call::Upload(new), read: Call::Find(new), there: true },
        _ => Change { change: Call::Upload(new), read: Call::Look(new), there: true },
    }
}

/// Writes what a change deletes, and waits until every reader has seen it.
async fn settle(bench: &mut Bench, change: &Change, watch: Watch) -> Result<bool, Fault> {
    let Call::Delete(blob) = change.change else { return Ok(true) };
    let write = Change { change: Call::Upload(blob), read: Call::Look(blob), there: true };
    Ok(bench.round(&Rc::new(write), watch).await?.is_some_and(|round| !round.censored))
}

fn report(context: &Context, bench: &Bench, rounds: &[Round], t_s: f64) -> Result<(), Fault> {
    let out = context.out;
    let counts = &bench.counts;
    out.note("operations", counts.operations.get())?;
    for kind in Failed::ALL {
        out.note(kind.note(), counts.failed.borrow()[kind as usize])?;
    }
    out.note("retries", 0)?;
    out.note("connections", bench.connections())?;
    out.note("readers", READERS as u64)?;
    out.note("changes", rounds.len() as u64)?;
    out.note("censored", rounds.iter().filter(|round| round.censored).count() as u64)?;
    if rounds.is_empty() {
        return Err(match counts.first.borrow().as_ref() {
            Some(failure) => prepare_fault(failure),
            None => Fault::failed("no change was made within the time", "raise duration_s"),
        });
    }
    out.note("reads", rounds.iter().map(|round| round.reads).sum::<u64>())?;
    let (reads, stale) = rounds
        .iter()
        .fold((0, 0), |(reads, stale), round| (reads + round.first_reads, stale + round.stale_first_reads));
    if reads == 0 {
        return Err(Fault::failed("no read was answered", "see the notes of the trial"));
    }
    context.sample("stale_read_ratio", t_s, stale as f64 / reads as f64)
}
