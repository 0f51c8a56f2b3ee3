//! Operations on a table service: get, put and query, in a closed or an open loop.
//!
//! Rows have a key, a group of ten and a value of 100 bytes. What gets and queries read is written before, in the
//! service's own batches, and compared with what was written: a query must return exactly the rows of its group. Puts
//! write rows of their own. Failures are counted apart, by kind, and are never latencies. Excludes connecting where
//! connections are kept, and signing in a closed loop.

use std::sync::Arc;
use std::time::SystemTime;

use super::service_trial::ServiceTrial;
use super::{Context, Kind, Metric, Param, Probe};
use crate::fault::Fault;
use crate::rng::Rng;
use crate::service::call::{Call, Group, Row, Set};
use crate::service::climb::MOST_LANES;
use crate::service::fill;
use crate::service::load::Choose;
use crate::service::row::GROUP;
use crate::service::tally::Tally;
use crate::targets::Role;

const CELL: &[&str] = &["client", "concurrency", "entries", "op", "rate_per_s", "read", "reuse"];
pub const MOST_ROWS: u64 = 10_000_000;
/// Share of the time that a trial has left for all reads to return what was written before.
const SETTLE_SHARE: f64 = 0.25;

pub const PROBE: Probe = Probe {
    name: "table",
    roles: &[Role::Client, Role::Service],
    params: &[
        Param { name: "op", default: "get", kind: Kind::Choice(&["get", "put", "query"]) },
        Param { name: "entries", default: "1000", kind: Kind::Whole(1, MOST_ROWS) },
        Param { name: "read", default: "eventual", kind: Kind::Choice(&["eventual", "strong"]) },
        Param { name: "concurrency", default: "1", kind: Kind::WholeOr(1, MOST_LANES as u64, "max") },
        Param { name: "rate_per_s", default: "closed", kind: Kind::WholeOr(1, 1_000_000, "closed") },
        Param { name: "reuse", default: "yes", kind: Kind::Choice(&["yes", "no"]) },
        Param { name: "client", default: "native", kind: Kind::Choice(&["native", "sdk-python", "cli"]) },
        Param { name: "duration_s", default: "10", kind: Kind::Seconds(0.001, 86_400.0) },
    ],
    metrics: &[
        Metric { name: "table_latency_s", unit: "s", params: CELL },
        Metric { name: "table_op_per_s", unit: "op/s", params: CELL },
        Metric { name: "table_throttled_ratio", unit: "ratio", params: CELL },
        Metric { name: "table_failed_ratio", unit: "ratio", params: CELL },
    ],
    run,
};

fn run(context: &Context) -> Result<(), Fault> {
    // Each group is whole, so that every query has the same number of rows.
    let entries = context.whole("entries").unwrap_or(1).next_multiple_of(GROUP);
    let plan = Plan { trial: ServiceTrial::new(context, 1)?, entries };
    let tally = plan.trial.end(plan.measure())?;
    plan.trial.report("table_latency_s", "table_throttled_ratio", "table_failed_ratio", &tally)?;
    plan.trial.report_rates("table_op_per_s", &tally)
}

struct Plan<'a> {
    trial: ServiceTrial<'a>,
    entries: u64,
}

impl Plan<'_> {
    /// Returns the operation on a row, or on its group.
    fn call(&self) -> impl Fn(u64) -> Call + Send + Sync + 'static {
        let context = self.trial.context;
        let (op, strong, entries) = (context.text("op").to_owned(), context.text("read") == "strong", self.entries);
        move |index| match op.as_str() {
            "get" => Call::Get { row: Row::new(Set::Kept, index), strong },
            "put" => Call::Put(Row::new(Set::Uploaded, index)),
            _ => Call::Query { group: Group::of(&Row::new(Set::Kept, index), entries), strong },
        }
    }

    fn measure(&self) -> Result<Tally, Fault> {
        let (call, entries) = (self.call(), self.entries);
        // What the service does not have is refused before anything is written.
        self.trial.client.protocol.request(&call(0), SystemTime::now())?;
        self.prepare()?;
        let next: Choose = Arc::new(move |rng: &mut Rng| call(rng.below(entries)));
        self.trial.measure(&next, None)
    }

    /// Fills the table, and waits until reads return what was written.
    fn prepare(&self) -> Result<(), Fault> {
        let (out, last) = (self.trial.context.out, Row::new(Set::Kept, self.entries - 1));
        let look = |row, strong| Call::LookRow { row, strong };
        let writes = batches(self.trial.client.protocol.batch(), Set::Kept, self.entries);
        let filled = fill::ensure(self.trial.asker(), &look(last, true), writes)?;
        out.note("batches_written", filled as u64)?;
        let more = look(Row::new(Set::Kept, self.entries), true);
        out.note("table_has_more_rows", fill::once(&self.trial.asker(), &more)?.there)?;
        if filled > 0 {
            let group = Group::of(&last, self.entries);
            let reads = [look(last, false), Call::Query { group, strong: false }];
            let most_s = SETTLE_SHARE * self.trial.left_s();
            out.note("settled", fill::settle(&self.trial.asker(), &reads, most_s)?)?;
        }
        Ok(())
    }
}

/// Returns batches of at most `most` rows that write all rows of a set in their order.
pub fn batches(most: u64, set: Set, entries: u64) -> Vec<Call> {
    let batch = |first| Call::Load { first: Row::new(set, first), count: most.min(entries - first) };
    (0..entries).step_by(most as usize).map(batch).collect()
}
