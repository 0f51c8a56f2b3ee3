//! Start skew: the time between the first and the last start of a group of machines that leave one barrier together.
//!
//! In each round the listening peer waits for all others and releases them one after another, as a central barrier
//! does. Each peer records the time when it goes on; the listening peer goes on after it has released the last one.
//! The skew of a round is the latest start minus the earliest, by the clock of the listening peer; a skew of 0 is
//! reported as the resolution of that clock. The clocks are compared over the same connections before and after the
//! rounds (`skew.rs`). The note `clock_error_s` bounds the error of this comparison; a smaller skew cannot be
//! distinguished from none. Excludes the time that a barrier takes, and the time between the arrivals of the peers.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use serde_json::json;

use super::group::{self, PEERS, TICK, receive, send};
use super::{Context, Kind, Metric, PATH, Param, Probe};
use crate::caps::{Demand, Item};
use crate::clock::{self, now_ns, seconds};
use crate::disturbance;
use crate::fault::Fault;
use crate::net::Control;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, SENDER_DEPTH_S, Tolerance};
use crate::wire::finite;

mod skew;

use skew::{Exchange, Offset};

pub const PROBE: Probe = Probe {
    name: "barrier",
    roles: &[Role::Peer],
    params: &[PEERS, PATH, Param { name: "rounds", default: "100", kind: Kind::Whole(1, 10_000) }],
    metrics: &[Metric { name: "start_skew_s", unit: "s", params: &["path", "peers"] }],
    run,
};

/// Clock comparisons before the rounds, and as many after them; the fastest one counts.
const EXCHANGES: usize = 32;

fn run(context: &Context) -> Result<(), Fault> {
    let rounds = context.whole("rounds").unwrap_or(1) as usize;
    match group::others(context)? {
        Some(others) => lead(context, rounds, others),
        None => follow(context, rounds),
    }
}

/// Creates the limiter of an agent that exchanges ticks with `others` peers. The skew excludes a cap's pauses, which
/// occur between rounds.
fn limiter(context: &Context, rounds: usize, others: usize) -> Result<Arc<Limiter>, Fault> {
    let item = Item { bytes: (2 * TICK.len() * others) as u64, packets: 2 * others as u64 };
    let demand = Demand { items: Some((rounds + 2 * EXCHANGES) as f64), ..Demand::default() };
    context.limiter(item, demand, Tolerance { held_s: f64::INFINITY, warm_s: Some(0.0), depth_s: SENDER_DEPTH_S })
}

/// Takes a grant for one item, and counts its bytes.
fn pay(limiter: &Limiter, bytes: usize) -> Result<(), Fault> {
    limiter.take(1, || true).ok_or_else(|| limiter.refusal())?;
    limiter.used(bytes as u64);
    Ok(())
}

/// Runs the part of the listening peer.
fn lead(context: &Context, rounds: usize, others: usize) -> Result<(), Fault> {
    let limiter = limiter(context, rounds, others)?;
    let (mut controls, data) = group::admit(context)?;
    let measured = measure(context, rounds, &mut controls, &data, &limiter);
    limiter.note(context.out)?;
    let reported = measured.and_then(|group| group.report(context));
    reported.map_err(|fault| {
        // Peers that wait for a tick see the connection close, and then read the reason.
        data.iter().for_each(|data| drop(data.shutdown(Shutdown::Both)));
        group::exchange_faults(&mut controls, limiter.blame(fault))
    })?;
    controls.iter_mut().try_for_each(|control| control.send(&json!({"done": true})))
}

fn measure(
    context: &Context,
    rounds: usize,
    controls: &mut [Control],
    data: &[TcpStream],
    limiter: &Limiter,
) -> Result<Group, Fault> {
    let cpus = &context.job.cpus;
    disturbance::wait(context.out, cpus)?;
    let before = disturbance::counts(cpus);
    group::begin(controls, &json!({"rounds": rounds}))?;
    let mut group = Group::run(data, rounds, limiter)?;
    disturbance::counts(cpus).note_since(&before, context.out)?;
    let count = rounds + 2 * EXCHANGES;
    group.theirs = controls.iter_mut().map(|control| group::receive_times(control, count)).collect::<Result<_, _>>()?;
    Ok(group)
}

/// The times recorded by the listening peer, on its clock, and by the others, on theirs.
struct Group {
    begun_ns: u64,
    /// For each other peer, the times when each time request was sent and answered.
    requests: Vec<Vec<(u64, u64)>>,
    /// For each round, the times of the first and of the last release.
    released: Vec<(u64, u64)>,
    /// For each round, the time when all peers had arrived at the next barrier.
    arrived: Vec<u64>,
    theirs: Vec<Vec<u64>>,
}

impl Group {
    fn run(data: &[TcpStream], rounds: usize, limiter: &Limiter) -> Result<Group, Fault> {
        let bytes = 2 * TICK.len() * data.len();
        let room = || Vec::with_capacity(2 * EXCHANGES);
        let mut requests: Vec<Vec<(u64, u64)>> = data.iter().map(|_| room()).collect();
        let (mut released, mut arrived) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
        request_times(data, &mut requests, limiter)?;
        let begun_ns = now_ns();
        for round in 0..rounds {
            pay(limiter, bytes)?;
            data.iter().try_for_each(receive)?;
            let first = now_ns();
            data.iter().try_for_each(send)?;
            released.push((first, now_ns()));
            if round > 0 {
                arrived.push(first);
            }
        }
        request_times(data, &mut requests, limiter)?;
        arrived.push(now_ns());
        Ok(Group { begun_ns, requests, released, arrived, theirs: Vec::new() })
    }

    /// Reports the skew of each round, and the error bound of the clocks.
    fn report(&self, context: &Context) -> Result<(), Fault> {
        let offsets = self.offsets()?;
        let error_ns = offsets.iter().map(|offset| offset.error_ns).max().unwrap_or(0);
        context.out.note("clock_error_s", finite(seconds(error_ns)))?;
        let resolution_s = clock::calibrate().resolution_s;
        for (round, &(_, own)) in self.released.iter().enumerate() {
            let skew_s = seconds(self.skew_ns(round, &offsets)?).max(resolution_s);
            context.sample("start_skew_s", seconds(own - self.begun_ns), skew_s)?;
        }
        Ok(())
    }

    fn offsets(&self) -> Result<Vec<Offset>, Fault> {
        let one = |(requests, theirs): (&Vec<(u64, u64)>, &Vec<u64>)| {
            let seen = theirs[..EXCHANGES].iter().chain(&theirs[theirs.len() - EXCHANGES..]);
            let exchanges: Vec<Exchange> =
                requests.iter().zip(seen).map(|(&(sent, back), &seen)| Exchange { sent, back, seen }).collect();
            let (before, after) = exchanges.split_at(EXCHANGES);
            let offset = Offset::between(before, after).filter(|_| theirs.is_sorted());
            offset.ok_or_else(|| Fault::invalid("the clock of a peer moved", "do not trust that machine's clock"))
        };
        self.requests.iter().zip(&self.theirs).map(one).collect()
    }

    /// Returns the latest start of a round minus the earliest. Every start lies between the release and the next
    /// arrival.
    fn skew_ns(&self, round: usize, offsets: &[Offset]) -> Result<u64, Fault> {
        let (first, own) = self.released[round];
        let (mut earliest, mut latest) = (i128::from(own), i128::from(own));
        for (offset, theirs) in offsets.iter().zip(&self.theirs) {
            let start = offset.ours(theirs[EXCHANGES + round]);
            let tolerance_ns = 2 * i128::from(offset.error_ns) + 1000;
            if start < i128::from(first) - tolerance_ns || start > i128::from(self.arrived[round]) + tolerance_ns {
                let what = format!("a peer started round {round} outside of it");
                return Err(Fault::invalid(what, "do not trust that machine's clock"));
            }
            (earliest, latest) = (earliest.min(start), latest.max(start));
        }
        Ok((latest - earliest) as u64)
    }
}

/// Requests the time of each peer in turn, many times.
fn request_times(data: &[TcpStream], requests: &mut [Vec<(u64, u64)>], limiter: &Limiter) -> Result<(), Fault> {
    for _ in 0..EXCHANGES {
        pay(limiter, 2 * TICK.len() * data.len())?;
        for (data, requests) in data.iter().zip(requests.iter_mut()) {
            let sent = now_ns();
            send(data)?;
            receive(data)?;
            requests.push((sent, now_ns()));
        }
    }
    Ok(())
}

/// Runs the part of every other peer.
fn follow(context: &Context, rounds: usize) -> Result<(), Fault> {
    let limiter = limiter(context, rounds, 1)?;
    let (mut control, data) = context.join()?;
    group::await_begin(&mut control, &json!({"rounds": rounds}))?;
    let times = take_part(&data, rounds, &limiter, now_ns, || {});
    limiter.note(context.out)?;
    let times = times.map_err(|fault| control.exchange_faults(limiter.blame(fault)))?;
    group::send_times(&mut control, &times)?;
    group::await_end(&mut control)
}

/// Answers time requests and arrives at barriers; returns the times by `now` of all received ticks, in order. Calls
/// `start` first after each release.
fn take_part(
    data: &TcpStream,
    rounds: usize,
    limiter: &Limiter,
    now: impl Fn() -> u64,
    start: impl Fn(),
) -> Result<Vec<u64>, Fault> {
    let mut times = Vec::with_capacity(rounds + 2 * EXCHANGES);
    let answer = |times: &mut Vec<u64>| {
        (0..EXCHANGES).try_for_each(|_| {
            pay(limiter, 2 * TICK.len())?;
            receive(data)?;
            times.push(now());
            send(data)
        })
    };
    answer(&mut times)?;
    for _ in 0..rounds {
        pay(limiter, 2 * TICK.len())?;
        send(data)?;
        receive(data)?;
        start();
        times.push(now());
    }
    answer(&mut times)?;
    Ok(times)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::caps::Caps;

    const ROUNDS: usize = 40;

    fn free() -> Limiter {
        let tolerance = Tolerance { held_s: f64::INFINITY, warm_s: None, depth_s: SENDER_DEPTH_S };
        Limiter::new(Caps::default(), Item { bytes: 1, packets: 1 }, tolerance)
    }

    /// Returns the median skew of a group of four, ns; the last peer uses another clock and calls `start` at each
    /// start.
    fn median_skew_ns(now: fn() -> u64, start: fn()) -> Result<u64, Fault> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut members: Vec<_> = Vec::new();
        let data: Vec<TcpStream> = (0..3)
            .map(|i| {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_nodelay(true).unwrap();
                let (now, start): (fn() -> u64, fn()) = if i == 2 { (now, start) } else { (now_ns, || {}) };
                members.push(thread::spawn(move || take_part(&stream, ROUNDS, &free(), now, start).unwrap()));
                listener.accept().unwrap().0
            })
            .collect();
        data.iter().for_each(|data| data.set_nodelay(true).unwrap());
        let mut group = Group::run(&data, ROUNDS, &free()).unwrap();
        group.theirs = members.into_iter().map(|member| member.join().unwrap()).collect();
        let offsets = group.offsets()?;
        let mut skews = (0..ROUNDS).map(|round| group.skew_ns(round, &offsets)).collect::<Result<Vec<u64>, Fault>>()?;
        skews.sort_unstable();
        Ok(skews[ROUNDS / 2])
    }

    fn five_ms_late() {
        thread::sleep(Duration::from_millis(5));
    }

    /// A clock that is an hour ahead and 50 millionths too fast.
    fn another_clock() -> u64 {
        let now = now_ns();
        now + 3_600_000_000_000 + now / 20_000
    }

    #[test]
    fn an_injected_delay_is_measured_with_any_clock() {
        for clock in [now_ns, another_clock] {
            let late = median_skew_ns(clock, five_ms_late).unwrap();
            assert!((4_500_000..20_000_000).contains(&late), "{late} ns");
            let prompt = median_skew_ns(clock, || {}).unwrap();
            assert!(prompt < 4_000_000, "{prompt} ns");
        }
    }

    #[test]
    fn a_clock_with_a_wrong_speed_or_direction_is_refused() {
        for wrong in [|| 2 * now_ns(), || u64::MAX - now_ns(), || 0] {
            let fault = median_skew_ns(wrong, five_ms_late).unwrap_err();
            assert_eq!(fault.outcome.name(), "invalid", "{}", fault.what);
        }
    }
}
