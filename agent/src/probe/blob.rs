//! Operations on a blob service: download, upload and list, in a closed or an open loop.
//!
//! Times count to the last byte, and beside it to the first; payload counts without headers. Downloads are compared with
//! what was written, byte for byte. Failures are counted apart, by kind, and are never latencies. Excludes connecting
//! where connections are kept, and signing in a closed loop.

use std::sync::Arc;

use super::service_trial::ServiceTrial;
use super::{Context, Kind, Metric, Param, Probe};
use crate::fault::Fault;
use crate::rng::Rng;
use crate::service::call::{Blob, Call, Set};
use crate::service::climb::MOST_LANES;
use crate::service::fill;
use crate::service::load::Choose;
use crate::service::tally::Tally;
use crate::targets::Role;

const CELL: &[&str] =
    &["client", "concurrency", "expect_continue", "objects", "op", "rate_per_s", "reuse", "size_bytes"];

pub const PROBE: Probe = Probe {
    name: "blob",
    roles: &[Role::Client, Role::Service],
    params: &[
        Param { name: "op", default: "download", kind: Kind::Choice(&["download", "upload", "list"]) },
        Param { name: "size_bytes", default: "1024", kind: Kind::Whole(1, 5 << 30) },
        Param { name: "objects", default: "16", kind: Kind::Whole(1, 1_000_000) },
        Param { name: "concurrency", default: "1", kind: Kind::WholeOr(1, MOST_LANES as u64, "max") },
        Param { name: "rate_per_s", default: "closed", kind: Kind::WholeOr(1, 1_000_000, "closed") },
        Param { name: "reuse", default: "yes", kind: Kind::Choice(&["yes", "no"]) },
        Param { name: "expect_continue", default: "no", kind: Kind::Choice(&["no", "yes"]) },
        Param { name: "client", default: "native", kind: Kind::Choice(&["native", "sdk-python", "cli"]) },
        Param { name: "duration_s", default: "10", kind: Kind::Seconds(0.001, 86_400.0) },
    ],
    metrics: &[
        Metric { name: "blob_latency_s", unit: "s", params: CELL },
        Metric { name: "blob_first_byte_s", unit: "s", params: CELL },
        Metric { name: "blob_bytes_per_s", unit: "B/s", params: CELL },
        Metric { name: "blob_throttled_ratio", unit: "ratio", params: CELL },
        Metric { name: "blob_failed_ratio", unit: "ratio", params: CELL },
    ],
    run,
};

fn run(context: &Context) -> Result<(), Fault> {
    let plan = Plan {
        trial: ServiceTrial::new(context, 1)?,
        size: context.whole("size_bytes").unwrap_or(1),
        objects: context.whole("objects").unwrap_or(1),
    };
    let tally = plan.trial.end(plan.measure())?;
    plan.report(&tally)
}

struct Plan<'a> {
    trial: ServiceTrial<'a>,
    size: u64,
    objects: u64,
}

impl Plan<'_> {
    fn set(&self) -> Set {
        if self.trial.context.text("op") == "upload" { Set::Uploaded } else { Set::Kept }
    }

    fn call(&self) -> impl Fn(u64) -> Call + Send + Sync + 'static {
        let (op, set, size) = (self.trial.context.text("op").to_owned(), self.set(), self.size);
        let least = self.objects.min(1000) as usize;
        move |index| {
            let blob = Blob::new(set, size, index);
            match op.as_str() {
                "download" => Call::Download(blob),
                "upload" => Call::Upload(blob),
                _ => Call::List { prefix: set.prefix(size), least },
            }
        }
    }

    fn measure(&self) -> Result<Tally, Fault> {
        self.prepare()?;
        let (call, objects) = (self.call(), self.objects);
        let next: Choose = Arc::new(move |rng: &mut Rng| call(rng.below(objects)));
        self.trial.measure(&next, None)
    }

    /// Fills the data set, or looks whether uploads may be made; computes what every request would repeat.
    fn prepare(&self) -> Result<(), Fault> {
        let blob = |index| Blob::new(self.set(), self.size, index);
        let (asker, last) = (self.trial.asker(), Call::Exists(blob(self.objects - 1)));
        let filled = match self.set() {
            Set::Uploaded => fill::once(&asker, &last).map(|_| 0)?,
            _ => fill::ensure(asker, &last, (0..self.objects).map(|index| Call::Upload(blob(index))).collect())?,
        };
        self.trial.context.out.note("objects_written", filled as u64)?;
        let call = self.call();
        (0..self.objects).for_each(|index| self.trial.client.protocol.prepare(&call(index)));
        Ok(())
    }

    fn report(&self, tally: &Tally) -> Result<(), Fault> {
        let t_end = self.trial.report("blob_latency_s", "blob_throttled_ratio", "blob_failed_ratio", tally)?;
        let (context, interval_s) = (self.trial.context, tally.interval_s());
        for (i, bytes) in tally.bytes.iter().enumerate() {
            context.sample("blob_bytes_per_s", (i + 1) as f64 * interval_s, bytes / interval_s)?;
        }
        context.hist("blob_first_byte_s", t_end, &tally.first_byte)
    }
}
