//! Rows written to a table service by the service's own batches.
//!
//! Rows that the service left out of a batch because there were too many, and rows of batches that failed, are counted
//! apart: nothing is sent twice. The time is from the first request to the last answer. Excludes connecting.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::task::LocalSet;

use super::service_trial::ServiceTrial;
use super::table::{MOST_ROWS, batches};
use super::{Context, Kind, Metric, Param, Probe};
use crate::clock::{now_ns, seconds, thread_cpu_ns};
use crate::disturbance;
use crate::fault::Fault;
use crate::pin;
use crate::service::asker::Asker;
use crate::service::call::{Call, Set};
use crate::service::climb::MOST_LANES;
use crate::service::lane::{Lane, Patience, Performed};
use crate::service::load::runtime;
use crate::service::outcome::Kind as Failed;
use crate::service::tally::Tally;
use crate::targets::Role;

const CELL: &[&str] = &["client", "concurrency", "entries"];

pub const PROBE: Probe = Probe {
    name: "load",
    roles: &[Role::Client, Role::Service],
    params: &[
        Param { name: "entries", default: "1000", kind: Kind::Whole(1, MOST_ROWS) },
        Param { name: "concurrency", default: "8", kind: Kind::Whole(1, MOST_LANES as u64) },
        Param { name: "client", default: "native", kind: Kind::Choice(&["native", "sdk-python", "cli"]) },
    ],
    metrics: &[Metric { name: "table_load_row_per_s", unit: "row/s", params: CELL }],
    run,
};

/// The batches, and what came of those that were sent.
struct Batches {
    asker: Asker,
    calls: Vec<Call>,
    next: Cell<usize>,
    /// The call's number, when it began, and what came of it.
    sent: RefCell<Vec<(usize, u64, Performed)>>,
    connections: Cell<u64>,
}

/// Rows by what became of them.
#[derive(Default)]
struct Rows {
    written: u64,
    throttled: u64,
    failed: u64,
}

fn run(context: &Context) -> Result<(), Fault> {
    let trial = ServiceTrial::new(context, 1)?;
    let (entries, lanes) = (context.whole("entries").unwrap_or(1), context.whole("concurrency").unwrap_or(1));
    let calls = batches(trial.client.protocol.batch(), Set::Uploaded, entries);
    let (tally, rows) = trial.end(write(&trial, calls, lanes as usize))?;
    trial.note(&tally)?;
    let out = context.out;
    out.note("rows_written", rows.written)?;
    out.note("rows_throttled", rows.throttled)?;
    out.note("rows_failed", rows.failed)?;
    if rows.written == 0 {
        let (what, next) = match tally.main_failure() {
            Some(failure) => (failure.what.as_str(), failure.kind.advice()),
            None => ("the service left them all out", Failed::Throttled.advice()),
        };
        return Err(Fault::failed(format!("none of {entries} rows was written: {what}"), next));
    }
    let wall_s = seconds(tally.wall_ns);
    context.sample("table_load_row_per_s", wall_s, rows.written as f64 / wall_s)
}

fn write(trial: &ServiceTrial, calls: Vec<Call>, lanes: usize) -> Result<(Tally, Rows), Fault> {
    let cpus = &trial.context.job.cpus;
    disturbance::wait(trial.context.out, cpus)?;
    let before = disturbance::counts(cpus);
    pin::to(&cpus[..1])?;
    let (runtime, lanes) = (runtime()?, lanes.min(calls.len()));
    let (asker, sent) = (trial.asker(), RefCell::new(Vec::with_capacity(calls.len())));
    let all = Rc::new(Batches { asker, calls, next: Cell::new(0), sent, connections: Cell::new(0) });
    let (start_ns, cpu_ns, written) = LocalSet::new().block_on(&runtime, async {
        let patience = Patience { silence_ns: (all.asker.silence_s * 1e9) as u64, until_ns: u64::MAX };
        let mut own: Vec<Lane> = (0..lanes).map(|number| Lane::new(&all.asker.client, number)).collect();
        for lane in &mut own {
            // A lane that cannot connect says why when it works.
            if lane.ready(patience).await.is_err() {
                break;
            }
        }
        trial.limiter.begin();
        let (start_ns, cpu_ns) = (now_ns(), thread_cpu_ns());
        let tasks: Vec<_> = own.into_iter().map(|lane| tokio::task::spawn_local(Rc::clone(&all).send(lane))).collect();
        let mut written = Ok(());
        for task in tasks {
            let ended = task.await.unwrap_or_else(|_| Err(Fault::failed("a lane was stopped", "report this")));
            written = written.and(ended);
        }
        (start_ns, thread_cpu_ns() - cpu_ns, written)
    });
    written?;
    disturbance::counts(cpus).note_since(&before, trial.context.out)?;
    let (mut tally, rows) = all.sum_up(start_ns);
    (tally.cpu_ns, tally.threads, tally.lanes) = (cpu_ns, 1, lanes);
    Ok((tally, rows))
}

impl Batches {
    async fn send(self: Rc<Self>, mut lane: Lane) -> Result<(), Fault> {
        loop {
            let number = self.next.replace(self.next.get() + 1);
            let Some(call) = self.calls.get(number) else { break };
            let from_ns = now_ns();
            let performed = self.asker.ask(&mut lane, call).await?;
            self.sent.borrow_mut().push((number, from_ns, performed));
        }
        self.connections.set(self.connections.get() + lane.connections);
        Ok(())
    }

    fn sum_up(&self, start_ns: u64) -> (Tally, Rows) {
        let sent = self.sent.take();
        let last_ns = sent.iter().map(|(.., performed)| performed.last_ns).max().unwrap_or(start_ns);
        let wall_ns = (last_ns - start_ns).max(1);
        let (mut tally, mut rows) = (Tally::new(start_ns, wall_ns, 1), Rows::default());
        for (number, from_ns, performed) in sent {
            let Call::Load { count, .. } = self.calls[number] else { continue };
            match &performed.result {
                Ok(done) => {
                    rows.written += count - done.unwritten;
                    rows.throttled += done.unwritten;
                }
                Err(failure) if failure.kind == Failed::Throttled => rows.throttled += count,
                Err(_) => rows.failed += count,
            }
            tally.record(from_ns, performed);
        }
        (tally.wall_ns, tally.connections) = (wall_ns, self.connections.get());
        (tally, rows)
    }
}
