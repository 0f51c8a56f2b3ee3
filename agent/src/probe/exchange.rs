//! Exchange among a group of machines: all-to-all or allreduce, round after round, each behind a barrier.
//!
//! All peers are connected to each other over TCP before the first round. In each round the listening peer waits for all
//! others and releases them; each peer then measures on its own clock how long its part takes, from its release until it
//! has sent and received everything, so no clocks are compared. The time of a round is that of the slowest peer. The
//! rate is the algorithm bandwidth of nccl-tests: for all-to-all, the `peers * size_bytes` that each peer has for all
//! peers together with itself, for allreduce the `size_bytes` of its vector, each divided by the round's time. Their bus
//! bandwidth is this times (n - 1) / n for all-to-all, and times 2 (n - 1) / n for allreduce. What is received is
//! verified: a wrong byte or sum makes the trial invalid. One more round before the first one is not reported. Excludes
//! the barrier itself, and how far apart the peers start (`barrier` measures it). One thread a peer.

use std::sync::Arc;

use serde_json::{Value, json};

use super::group::{self, PEERS, TICK};
use super::{Context, Kind, Metric, PATH, Param, Probe};
use crate::caps::{Demand, Item};
use crate::clock::{now_ns, seconds};
use crate::fault::Fault;
use crate::net::{self, Control, Mesh};
use crate::record::Recorder;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, SENDER_DEPTH_S, Tolerance};
use crate::{disturbance, pin};

mod all_reduce;
mod all_to_all;
mod transfer;

use all_reduce::{AllReduce, ELEMENT_BYTES};
use all_to_all::AllToAll;
use transfer::Transfer;

const CELL: &[&str] = &["op", "path", "peers", "size_bytes"];

pub const PROBE: Probe = Probe {
    name: "exchange",
    roles: &[Role::Peer],
    params: &[
        Param { name: "op", default: "alltoall", kind: Kind::Choice(&["alltoall", "allreduce"]) },
        PEERS,
        PATH,
        Param { name: "rounds", default: "20", kind: Kind::Whole(1, 10_000) },
        Param { name: "size_bytes", default: "1048576", kind: Kind::Whole(1, 256 << 20) },
    ],
    metrics: &[
        Metric { name: "exchange_bytes_per_s", unit: "B/s", params: CELL },
        Metric { name: "exchange_s", unit: "s", params: CELL },
        Metric { name: "straggler_ratio", unit: "ratio", params: CELL },
    ],
    run,
};

/// Share of the shortest time that a rate cap permits, for which it may hold traffic back.
const TOLERANCE: f64 = 0.01;
/// Rounds before the first one that is reported.
const WARMUP: usize = 1;

/// What one peer does in each round; `run` is measured.
trait Operation {
    fn prepare(&mut self, round: usize);
    fn run(&mut self, transfer: &mut Transfer) -> Result<(), Fault>;
    /// A fault if this round's result is wrong.
    fn check(&self) -> Result<(), Fault>;
}

/// The job's parameters, which are the same for all peers.
#[derive(Clone, Copy)]
struct Exchange {
    reduces: bool,
    peers: usize,
    rounds: usize,
    bytes: usize,
}

impl Exchange {
    fn read(context: &Context) -> Result<Exchange, Fault> {
        let whole = |name| context.whole(name).unwrap_or(1) as usize;
        let reduces = context.text("op") == "allreduce";
        let exchange = Exchange { reduces, peers: whole("peers"), rounds: whole("rounds"), bytes: whole("size_bytes") };
        if reduces && !exchange.bytes.is_multiple_of(ELEMENT_BYTES) {
            let what = format!("bad job: a vector of {} bytes is not one of numbers of 4 bytes", exchange.bytes);
            return Err(Fault::bad_job(what, "give a size_bytes that is a multiple of 4"));
        }
        Ok(exchange)
    }

    /// Returns what all jobs of the trial must have in common.
    fn common(&self, seed: u64) -> Value {
        json!({"reduces": self.reduces, "rounds": self.rounds, "size_bytes": self.bytes, "seed": seed})
    }

    /// Returns the bytes of a round that all peers send together.
    fn group_bytes(&self) -> u64 {
        let vectors = if self.reduces { 2 * (self.peers - 1) } else { self.peers * (self.peers - 1) };
        (vectors * self.bytes + 2 * TICK.len() * (self.peers - 1)) as u64
    }

    /// Returns the bytes of a round that one peer sends and receives, on average for allreduce.
    fn own_bytes(&self, others: usize) -> u64 {
        let vectors = if self.reduces { 4 * (self.peers - 1) } else { 2 * self.peers * (self.peers - 1) };
        (vectors * self.bytes / self.peers + 2 * TICK.len() * others) as u64
    }

    /// Returns the bytes that the rate of a round is about.
    fn algorithm_bytes(&self) -> f64 {
        (if self.reduces { self.bytes } else { self.peers * self.bytes }) as f64
    }

    /// Creates the limiter of a peer. Each byte sent is paid for together with one received. The byte cap must allow
    /// what all peers send.
    fn limiter(&self, context: &Context) -> Result<Arc<Limiter>, Fault> {
        let item = Item { bytes: 2, packets: 0 };
        let rounds = (self.rounds + WARMUP) as f64;
        let demand = Demand { items: Some(rounds * self.group_bytes() as f64 / 2.0), ..Demand::default() };
        let own_items = rounds * self.own_bytes(1) as f64 / 2.0;
        let held_s = context.job.caps.rate(item).map_or(f64::INFINITY, |(rate, ..)| TOLERANCE * own_items / rate);
        context.limiter(item, demand, Tolerance { held_s, warm_s: Some(0.0), depth_s: SENDER_DEPTH_S })
    }

    fn operation<'a>(&self, seed: u64, mesh: &'a Mesh) -> Result<Box<dyn Operation + 'a>, Fault> {
        Ok(if self.reduces {
            Box::new(AllReduce::new(self.bytes, seed, mesh))
        } else {
            Box::new(AllToAll::new(self.bytes, seed, mesh)?)
        })
    }

    /// Runs all rounds; returns when each began and ended, in pairs, without those that are not reported.
    fn run(
        &self,
        operation: &mut dyn Operation,
        transfer: &mut Transfer,
        barrier: impl Fn(&mut Transfer) -> Result<(), Fault>,
    ) -> Result<Vec<u64>, Fault> {
        let mut times = Vec::with_capacity(2 * (self.rounds + WARMUP));
        for round in 0..self.rounds + WARMUP {
            operation.prepare(round);
            barrier(transfer)?;
            times.push(now_ns());
            operation.run(transfer)?;
            times.push(now_ns());
            operation.check()?;
        }
        Ok(times.split_off(2 * WARMUP))
    }
}

fn run(context: &Context) -> Result<(), Fault> {
    let exchange = Exchange::read(context)?;
    let others = group::others(context)?;
    let limiter = exchange.limiter(context)?;
    match others {
        Some(_) => lead(context, exchange, &limiter),
        None => follow(context, exchange, &limiter),
    }
}

/// Runs the part of the listening peer.
fn lead(context: &Context, exchange: Exchange, limiter: &Limiter) -> Result<(), Fault> {
    let (mut controls, data) = group::admit(context)?;
    let mesh = net::introduce(&mut controls, data).map_err(|fault| group::exchange_faults(&mut controls, fault))?;
    let measured = measure(context, exchange, &mut controls, &mesh, limiter);
    limiter.note(context.out)?;
    let reported = measured.and_then(|times| report(context, exchange, &times));
    reported.map_err(|fault| {
        // Peers in the middle of a round see the connections close, and then read the reason.
        mesh.close();
        group::exchange_faults(&mut controls, limiter.blame(fault))
    })?;
    controls.iter_mut().try_for_each(|control| control.send(&json!({"done": true})))
}

/// Returns the times of all peers, the listening one first.
fn measure(
    context: &Context,
    exchange: Exchange,
    controls: &mut [Control],
    mesh: &Mesh,
    limiter: &Limiter,
) -> Result<Vec<Vec<u64>>, Fault> {
    let cpus = &context.job.cpus;
    disturbance::wait(context.out, cpus)?;
    pin::to(cpus)?;
    let before = disturbance::counts(cpus);
    group::begin(controls, &exchange.common(context.job.seed))?;
    let mut operation = exchange.operation(context.job.seed, mesh)?;
    let own = exchange.run(&mut *operation, &mut Transfer::new(limiter, exchange.peers), |transfer| {
        transfer.pay((TICK.len() * (exchange.peers - 1)) as u64)?;
        limiter.used(exchange.group_bytes()); // a round that is begun counts as a whole
        mesh.others().try_for_each(|other| group::receive(mesh.to(other)?))?;
        mesh.others().try_for_each(|other| group::send(mesh.to(other)?))
    })?;
    disturbance::counts(cpus).note_since(&before, context.out)?;
    limiter.spoilt().map_or(Ok(()), Err)?;
    let mut all = vec![own];
    for control in controls {
        all.push(group::receive_times(control, 2 * exchange.rounds)?);
    }
    Ok(all)
}

/// Runs the part of every other peer.
fn follow(context: &Context, exchange: Exchange, limiter: &Limiter) -> Result<(), Fault> {
    let (mut control, data) = context.join()?;
    let mesh = context.meet(&mut control, data).map_err(|fault| control.exchange_faults(fault))?;
    group::await_begin(&mut control, &exchange.common(context.job.seed))?;
    pin::to(&context.job.cpus)?;
    let mut transfer = Transfer::new(limiter, exchange.peers);
    let times = exchange.operation(context.job.seed, &mesh).and_then(|mut operation| {
        exchange.run(&mut *operation, &mut transfer, |transfer| {
            transfer.pay(TICK.len() as u64)?;
            limiter.used(exchange.own_bytes(1));
            group::send(mesh.to(0)?)?;
            group::receive(mesh.to(0)?)
        })
    });
    limiter.note(context.out)?;
    let times = times.and_then(|times| limiter.spoilt().map_or(Ok(times), Err)).map_err(|fault| {
        mesh.close();
        control.exchange_faults(limiter.blame(fault))
    })?;
    group::send_times(&mut control, &times)?;
    group::await_end(&mut control)
}

/// Reports each round from the times of all peers.
fn report(context: &Context, exchange: Exchange, times: &[Vec<u64>]) -> Result<(), Fault> {
    let mut recorder = Recorder::new();
    let begun_ns = times[0][0];
    let mut t_s = 0.0;
    for round in 0..exchange.rounds {
        let took: Option<Vec<u64>> =
            times.iter().map(|own| own[2 * round + 1].checked_sub(own[2 * round]).map(|ns| ns.max(1))).collect();
        let took =
            took.ok_or_else(|| Fault::invalid("the clock of a peer moved", "do not trust that machine's clock"))?;
        let (slowest_ns, ratio) = straggler(took);
        recorder.record_ns(slowest_ns);
        t_s = seconds(times[0][2 * round + 1] - begun_ns);
        context.sample("exchange_bytes_per_s", t_s, exchange.algorithm_bytes() / seconds(slowest_ns))?;
        context.sample("straggler_ratio", t_s, ratio)?;
    }
    context.hist("exchange_s", t_s, &recorder)
}

/// Returns the slowest time, and its ratio to the median.
fn straggler(mut times: Vec<u64>) -> (u64, f64) {
    times.sort_unstable();
    let (count, slowest) = (times.len(), times[times.len() - 1]);
    let median = (times[(count - 1) / 2] as f64 + times[count / 2] as f64) / 2.0;
    (slowest, (slowest as f64 / median).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_straggler_is_the_slowest_over_the_median() {
        assert_eq!(straggler(vec![30, 10, 20]), (30, 1.5));
        assert_eq!(straggler(vec![40, 10]), (40, 1.6));
        assert_eq!(straggler(vec![7; 5]), (7, 1.0));
    }

    proptest! {
        #[test]
        fn the_straggler_ratio_is_never_below_one(times in proptest::collection::vec(1..1_u64 << 60, 2..65)) {
            let most = *times.iter().max().unwrap();
            let (slowest, ratio) = straggler(times);
            prop_assert!(slowest == most && ratio >= 1.0 && ratio.is_finite());
        }
    }
}
