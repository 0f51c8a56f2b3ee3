//! What the probes of storage services share: the client and its caps, a load in a closed or an open loop, its notes.

use std::sync::Arc;

use super::Context;
use crate::caps::{Caps, Item};
use crate::clock::{now_ns, seconds};
use crate::disturbance;
use crate::fault::Fault;
use crate::service::asker::Asker;
use crate::service::client::Client;
use crate::service::climb::climb;
use crate::service::load::{Choose, FollowUps, Load};
use crate::service::outcome::Kind as Failed;
use crate::service::tally::Tally;
use crate::traffic_limiter::{Limiter, SENDER_DEPTH_S, Tolerance};
use crate::wire::finite;

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
/// The longest wait of a planned start at the end of an open loop above which the loop is saturated, s.
const SATURATED_S: f64 = 1.0;

/// One trial of a probe that asks a service.
pub struct ServiceTrial<'a> {
    pub context: &'a Context<'a>,
    pub client: Arc<Client>,
    pub limiter: Arc<Limiter>,
    pub duration_s: f64,
    born_ns: u64,
}

impl ServiceTrial<'_> {
    /// Refuses parameters that exclude each other; `requests` are those of one operation, with what it leaves to do.
    pub fn new<'a>(context: &'a Context<'a>, requests: u64) -> Result<ServiceTrial<'a>, Fault> {
        let refuse = |what: &str, next: &str| Err(Fault::bad_job(format!("bad job: {what}"), next));
        if !["", "native"].contains(&context.text("client")) {
            return refuse("client is not native, and the agent is no other", "let the controller run other clients");
        }
        let rate = context.whole("rate_per_s");
        if rate.is_some() && context.text("concurrency") == "max" {
            return refuse("a rate and concurrency max exclude each other", "choose a rate, or concurrency max");
        }
        let duration_s = context.seconds("duration_s");
        let caps = context.job.caps;
        if let (Some(rate), Some(most)) = (rate, caps.operations)
            && (rate * requests) as f64 * duration_s > most as f64
        {
            let what = format!("{rate} operations a second for {duration_s} s, and the cap is {most} operations");
            return refuse(&what, "ask for less, or raise caps.operations");
        }
        let (service, credential) = context.service()?;
        let tolerance = Tolerance { held_s: HELD_SHARE * duration_s, warm_s: None, depth_s: SENDER_DEPTH_S };
        // A burst is of traffic without a pause for answers.
        let caps = Caps { burst_s: None, ..caps };
        let limiter = Arc::new(Limiter::new(caps, Item { bytes: 1, packets: 0 }, tolerance));
        let client = Arc::new(Client::new(service, credential)?);
        Ok(ServiceTrial { context, client, limiter, duration_s, born_ns: now_ns() })
    }

    /// Returns the time until the trial's deadline that its measured phase does not need, s.
    pub fn left_s(&self) -> f64 {
        self.context.job.deadline_s - seconds(now_ns() - self.born_ns) - self.duration_s
    }

    /// Returns the longest time without a byte: so long that the trial can still end in time.
    pub fn silence_s(&self) -> f64 {
        (self.left_s() / 2.0).clamp(SILENCE_S.0, SILENCE_S.1)
    }

    /// Returns what asks one operation at a time, within the same caps.
    pub fn asker(&self) -> Asker {
        let (client, limiter) = (Arc::clone(&self.client), Arc::clone(&self.limiter));
        Asker { client, limiter, silence_s: self.silence_s() }
    }

    /// Notes what the caps did, and blames them for a fault that they caused.
    pub fn end<T>(&self, measured: Result<T, Fault>) -> Result<T, Fault> {
        self.limiter.note(self.context.out)?;
        let measured = measured.map_err(|fault| self.limiter.blame(fault))?;
        self.limiter.fault().map_or(Ok(measured), Err)
    }

    /// Runs the measured phase, after a search for the best concurrency where that is max.
    pub fn measure(&self, next: &Choose, follow_ups: Option<&FollowUps>) -> Result<Tally, Fault> {
        let cpus = &self.context.job.cpus;
        disturbance::wait(self.context.out, cpus)?;
        let before = disturbance::counts(cpus);
        self.limiter.begin();
        let (mut lanes, mut left_s) = (self.context.whole("concurrency").unwrap_or(0) as usize, self.duration_s);
        if lanes == 0 {
            let step_s = STEP_SHARE * self.duration_s;
            lanes = climb(|lanes| {
                left_s -= step_s;
                let tally = self.load(next, follow_ups, lanes, step_s)?;
                self.limiter.fault().map_or(Ok(tally.rate()), Err)
            })?;
            left_s = left_s.max(self.duration_s / 2.0);
            self.context.out.note("concurrency_reached", lanes as u64)?;
        }
        let tally = self.load(next, follow_ups, lanes, left_s)?;
        disturbance::counts(cpus).note_since(&before, self.context.out)?;
        Ok(tally)
    }

    fn load(
        &self,
        next: &Choose,
        follow_ups: Option<&FollowUps>,
        lanes: usize,
        duration_s: f64,
    ) -> Result<Tally, Fault> {
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
            next: Arc::clone(next),
            follow_ups: follow_ups.cloned(),
        };
        load.run()
    }

    /// Writes the latencies, and the shares of what did not succeed; returns the end of the measured phase, s.
    pub fn report(&self, latency: &str, throttled: &str, failed: &str, tally: &Tally) -> Result<f64, Fault> {
        self.note(tally)?;
        if tally.done == 0 {
            return Err(no_success(tally));
        }
        let context = self.context;
        let t_end = tally.operations.len() as f64 * tally.interval_s();
        context.hist(latency, t_end, &tally.latency)?;
        let share = |count: u64| count as f64 / tally.begun as f64;
        context.sample(throttled, t_end, share(tally.throttled()))?;
        context.sample(failed, t_end, share(tally.failures() - tally.throttled()))?;
        Ok(t_end)
    }

    /// Writes the operations per second of each interval.
    pub fn report_rates(&self, metric: &str, tally: &Tally) -> Result<(), Fault> {
        for (i, rate) in tally.rates().enumerate() {
            if let Some(rate) = rate {
                self.context.sample(metric, (i + 1) as f64 * tally.interval_s(), rate)?;
            }
        }
        Ok(())
    }

    /// Writes the counts of a measured phase, and what may have limited it.
    pub fn note(&self, tally: &Tally) -> Result<(), Fault> {
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
        let throttled = (tally.throttled() + tally.unwritten) as f64 > THROTTLED * tally.begun as f64;
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

/// Returns the fault of a trial in which no operation succeeded.
fn no_success(tally: &Tally) -> Fault {
    match tally.main_failure() {
        Some(failure) => {
            let what = format!("none of {} operations succeeded: {}", tally.begun, failure.what);
            Fault::failed(what, failure.kind.advice())
        }
        None if tally.empty > 0 => {
            Fault::failed(format!("each of {} receives found nothing", tally.empty), "raise duration_s")
        }
        None => Fault::failed("no operation ended within the time", "raise duration_s"),
    }
}
