//! Operations on a blob service: download, upload and list, in a closed or an open loop.
//!
//! Times count to the last byte, and beside it to the first; payload counts without headers. Downloads are compared with
//! what was written, byte for byte. Failures are counted apart, by kind, and are never latencies. Excludes connecting
//! where connections are kept, and signing in a closed loop.

use std::sync::Arc;

use super::{Context, Kind, Metric, Param, Probe};
use crate::caps::{Caps, Item};
use crate::clock::seconds;
use crate::disturbance;
use crate::fault::Fault;
use crate::rng::Rng;
use crate::service::asker::Asker;
use crate::service::call::{Blob, Call, Set};
use crate::service::client::Client;
use crate::service::climb::{MOST_LANES, climb};
use crate::service::fill;
use crate::service::load::Load;
use crate::service::outcome::Kind as Failed;
use crate::service::tally::Tally;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, SENDER_DEPTH_S, Tolerance};
use crate::wire::finite;

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

/// The shortest and the longest time without a byte after which an operation has failed, s.
const SILENCE_S: (f64, f64) = (0.2, 30.0);
/// Share of the measured time for which a rate cap may hold operations back.
const HELD_SHARE: f64 = 0.01;
const INTERVAL_S: f64 = 1.0;
/// Share of the measured time that a step of the climb takes.
const STEP_SHARE: f64 = 0.05;
/// Above this share of a CPU per thread, the client and not the service may be what is measured.
const CLIENT_BOUND: f64 = 0.5;
const THROTTLED: f64 = 0.01;
/// The shares of planned starts that wait at the end of an open loop's time above which the loop is saturated.
const SATURATED_S: f64 = 1.0;

fn run(context: &Context) -> Result<(), Fault> {
    let plan = Plan::new(context)?;
    let prepared = plan.prepare();
    let tally = prepared.and_then(|()| plan.measure());
    plan.limiter.note(context.out)?;
    let tally = tally.map_err(|fault| plan.limiter.blame(fault))?;
    match plan.limiter.fault() {
        Some(fault) => Err(fault),
        None => plan.report(&tally),
    }
}

struct Plan<'a> {
    context: &'a Context<'a>,
    client: Arc<Client>,
    limiter: Arc<Limiter>,
    size: u64,
    objects: u64,
    duration_s: f64,
    born_ns: u64,
}

impl Plan<'_> {
    fn new<'a>(context: &'a Context<'a>) -> Result<Plan<'a>, Fault> {
        let refuse = |what: &str, next: &str| Err(Fault::bad_job(format!("bad job: {what}"), next));
        if context.text("client") != "native" {
            return refuse("client is not native, and the agent is no other", "let the controller run other clients");
        }
        let rate = context.whole("rate_per_s");
        if rate.is_some() && context.text("concurrency") == "max" {
            return refuse("a rate and concurrency max exclude each other", "choose a rate, or concurrency max");
        }
        let duration_s = context.seconds("duration_s");
        let caps = context.job.caps;
        if let (Some(rate), Some(most)) = (rate, caps.operations)
            && rate as f64 * duration_s > most as f64
        {
            let what = format!("{rate} operations a second for {duration_s} s, and the cap is {most} operations");
            return refuse(&what, "ask for less, or raise caps.operations");
        }
        let (service, credential) = context.service()?;
        let tolerance = Tolerance { held_s: HELD_SHARE * duration_s, warm_s: None, depth_s: SENDER_DEPTH_S };
        // A burst is of traffic without a pause for answers.
        let caps = Caps { burst_s: None, ..caps };
        let limiter = Arc::new(Limiter::new(caps, Item { bytes: 1, packets: 0 }, tolerance));
        Ok(Plan {
            context,
            client: Arc::new(Client::new(service, credential)?),
            limiter,
            size: context.whole("size_bytes").unwrap_or(1),
            objects: context.whole("objects").unwrap_or(1),
            duration_s,
            born_ns: crate::clock::now_ns(),
        })
    }

    fn set(&self) -> Set {
        if self.context.text("op") == "upload" { Set::Uploaded } else { Set::Kept }
    }

    fn call(&self) -> impl Fn(u64) -> Call + Send + Sync + 'static {
        let (op, set, size) = (self.context.text("op").to_owned(), self.set(), self.size);
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

    /// Returns the longest time without a byte: so long that the trial can still end in time.
    fn silence_s(&self) -> f64 {
        let gone_s = seconds(crate::clock::now_ns() - self.born_ns);
        let left_s = self.context.job.deadline_s - gone_s - self.duration_s;
        (left_s / 2.0).clamp(SILENCE_S.0, SILENCE_S.1)
    }

    /// Fills the data set, or looks whether uploads may be made; computes what every request would repeat.
    fn prepare(&self) -> Result<(), Fault> {
        let blob = |index| Blob::new(self.set(), self.size, index);
        let (client, limiter) = (Arc::clone(&self.client), Arc::clone(&self.limiter));
        let asker = Asker { client, limiter, silence_s: self.silence_s() };
        let filled = match self.set() {
            Set::Uploaded => fill::once(&asker, &Call::Exists(blob(self.objects - 1))).map(|_| 0)?,
            _ => fill::ensure(asker, (0..self.objects).map(blob).collect())?,
        };
        self.context.out.note("objects_written", filled as u64)?;
        let call = self.call();
        (0..self.objects).for_each(|index| self.client.protocol.prepare(&call(index)));
        Ok(())
    }

    fn measure(&self) -> Result<Tally, Fault> {
        let cpus = &self.context.job.cpus;
        disturbance::wait(self.context.out, cpus)?;
        let before = disturbance::counts(cpus);
        self.limiter.begin();
        let (mut lanes, mut left_s) = (self.context.whole("concurrency").unwrap_or(0) as usize, self.duration_s);
        if lanes == 0 {
            let step_s = STEP_SHARE * self.duration_s;
            lanes = climb(|lanes| {
                left_s -= step_s;
                let tally = self.load(lanes, step_s)?;
                self.limiter.fault().map_or(Ok(tally.rate()), Err)
            })?;
            left_s = left_s.max(self.duration_s / 2.0);
            self.context.out.note("concurrency_reached", lanes as u64)?;
        }
        let tally = self.load(lanes, left_s)?;
        disturbance::counts(cpus).note_since(&before, self.context.out)?;
        Ok(tally)
    }

    fn load(&self, lanes: usize, duration_s: f64) -> Result<Tally, Fault> {
        let (call, objects) = (self.call(), self.objects);
        let load = Load {
            client: Arc::clone(&self.client),
            cpus: self.context.job.cpus.clone(),
            lanes,
            reuse: self.context.text("reuse") == "yes",
            waits_for_consent: self.context.text("expect_continue") == "yes",
            rate_per_s: self.context.whole("rate_per_s").map(|rate| rate as f64),
            duration_s,
            interval_s: INTERVAL_S,
            silence_s: self.silence_s(),
            seed: self.context.job.seed,
            limiter: Arc::clone(&self.limiter),
            next: Arc::new(move |rng: &mut Rng| call(rng.below(objects))),
        };
        load.run()
    }

    fn report(&self, tally: &Tally) -> Result<(), Fault> {
        self.note(tally)?;
        if tally.done == 0 {
            let Some(failure) = tally.main_failure() else {
                return Err(Fault::failed("no operation ended within the time", "raise duration_s"));
            };
            let what = format!("none of {} operations succeeded: {}", tally.begun, failure.what);
            return Err(Fault::failed(what, failure.kind.advice()));
        }
        let context = self.context;
        let interval_s = tally.interval_s();
        for (i, bytes) in tally.bytes.iter().enumerate() {
            context.sample("blob_bytes_per_s", (i + 1) as f64 * interval_s, bytes / interval_s)?;
        }
        let t_end = tally.bytes.len() as f64 * interval_s;
        context.hist("blob_latency_s", t_end, &tally.latency)?;
        context.hist("blob_first_byte_s", t_end, &tally.first_byte)?;
        let share = |count: u64| count as f64 / tally.begun as f64;
        context.sample("blob_throttled_ratio", t_end, share(tally.throttled()))?;
        context.sample("blob_failed_ratio", t_end, share(tally.failures() - tally.throttled()))
    }

    fn note(&self, tally: &Tally) -> Result<(), Fault> {
        let out = self.context.out;
        out.note("operations", tally.begun)?;
        for kind in Failed::ALL {
            out.note(kind.note(), tally.failed[kind as usize])?;
        }
        out.note("retries", 0)?;
        out.note("connections", tally.connections)?;
        if let Some(failure) = tally.main_failure() {
            out.note("failure", failure.what.as_str())?;
        }
        out.note("op_per_s", finite(tally.rate()))?;
        out.note("threads", tally.threads as u64)?;
        out.note("client_cpu_ratio", finite(tally.cpu_ratio()))?;
        let throttled = tally.throttled() as f64 > THROTTLED * tally.begun as f64;
        let limiter = match tally.cpu_ratio() {
            _ if throttled => "service throttle",
            ratio if ratio > CLIENT_BOUND => "client-bound",
            _ => "unknown",
        };
        out.note("limiter", limiter)?;
        let open = self.context.whole("rate_per_s").is_some();
        out.note("loop", if open { "open" } else { "closed" })?;
        if !open {
            return Ok(());
        }
        out.note("planned_starts", tally.open.planned)?;
        out.note("dropped_starts", tally.open.dropped)?;
        out.note("saturated", tally.open.dropped > 0 || seconds(tally.open.waited_ns) > SATURATED_S)?;
        match &tally.open.lateness {
            Some(lateness) => {
                out.note("start_lateness_p50_s", seconds(lateness.quantile_ns(0.5)))?;
                out.note("start_lateness_p99_s", seconds(lateness.quantile_ns(0.99)))?;
                out.note("starts_late_by_1_ms", lateness.above(1_000_000))
            }
            None => Ok(()),
        }
    }
}
