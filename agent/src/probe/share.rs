//! How senders share a receiver: all peers but the listening one send to it at once over TCP, one connection each.
//!
//! The receiver starts them one after the other, in an order that the seed draws, waits until each has sent its first
//! byte and for the warm-up, and then counts what it reads from each over the same time: the rates of the overlap. Jain's
//! fairness index of n rates x is (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe, A quantitative measure of fairness and
//! discrimination, DEC-TR-301, 1984): 1 if all are equal, 1/n if one has everything. The receiver's clock says whose
//! first byte came first, and how long before the next sender's. Does not measure senders that start far apart, nor what
//! they share: the receiver's network, its processors, or the network before it.

use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::group::{self, NEXT};
use super::{Context, DURATION, Kind, Metric, PATH, Param, Probe, tcp};
use crate::caps::{Demand, Item};
use crate::clock::{now_ns, seconds, wait_until};
use crate::fault::{Fault, OrFault};
use crate::net::{self, Control};
use crate::rng::Rng;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, RECEIVER_DEPTH_S, SENDER_DEPTH_S, Tolerance};
use crate::wire::finite;
use crate::{disturbance, pin};

pub const PROBE: Probe = Probe {
    name: "share",
    roles: &[Role::Peer],
    params: &[
        Param { name: "peers", default: "3", kind: Kind::Whole(3, 64) },
        DURATION,
        Param { name: "warmup_s", default: "0.1", kind: Kind::Seconds(0.0, 60.0) },
        PATH,
        Param { name: "size_bytes", default: "131072", kind: Kind::Whole(1, 16 << 20) },
    ],
    metrics: &[
        Metric { name: "fairness_ratio", unit: "ratio", params: &["path", "peers", "size_bytes"] },
        Metric { name: "sender_bytes_per_s", unit: "B/s", params: &["path", "peers", "sender", "size_bytes"] },
    ],
    run,
};

/// Share of the measured time for which a rate cap may hold traffic back: for senders, and for the receiver.
const SENDER_TOLERANCE: f64 = 0.01;
const RECEIVER_TOLERANCE: f64 = 0.1;
/// The receiver checks at this interval whether all senders are well.
const LOOK_NS: u64 = 20_000_000;
/// Counters that took longer than this to read are read again, some times.
const READ_NS: u64 = 50_000;
const READS: usize = 100;

/// What came from one sender.
#[repr(align(128))] // its own cache lines: each counter has its own writer
#[derive(Default)]
struct Sender {
    first_ns: AtomicU64,
    bytes: AtomicU64,
}

fn run(context: &Context) -> Result<(), Fault> {
    match group::others(context)? {
        Some(others) => receive(context, others),
        None => send(context),
    }
}

fn limiter(context: &Context, share: f64, streams: usize, depth_s: f64) -> Result<Arc<Limiter>, Fault> {
    let (duration_s, warmup_s) = (context.seconds("duration_s"), context.seconds("warmup_s"));
    let tolerance = Tolerance { held_s: share * duration_s * streams as f64, warm_s: Some(warmup_s), depth_s };
    let demand = Demand { burst_s: Some(duration_s + warmup_s), ..Demand::default() };
    context.limiter(Item { bytes: 1, packets: 0 }, demand, tolerance)
}

/// Runs the part of a sender.
fn send(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, SENDER_TOLERANCE, 1, SENDER_DEPTH_S)?;
    let (mut control, data) = context.join()?;
    group::await_begin(&mut control, &json!(context.text("size_bytes")))?;
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    // Ends when the receiver closes the connection.
    let grant = |want: u64, stream: &TcpStream| limiter.take(want, || net::unsent(stream) == 0);
    tcp::fill(data, size, context.job.cpus[0], &limiter, grant);
    limiter.note(context.out)?;
    if let Some(fault) = limiter.fault() {
        return Err(control.exchange_faults(fault));
    }
    let word = control.receive()?;
    if let Some(fault) = net::parse_fault(&word) {
        return Err(fault);
    }
    control.send(&json!({"ended": true}))
}

/// Runs the part of the receiver.
fn receive(context: &Context, others: usize) -> Result<(), Fault> {
    let limiter = limiter(context, RECEIVER_TOLERANCE, others, RECEIVER_DEPTH_S)?;
    let (mut controls, data) = group::admit(context)?;
    let measured = measure(context, &mut controls, &data, &limiter);
    limiter.note(context.out)?;
    let ended = measured.and_then(|overlap| limiter.spoilt().map_or(Ok(overlap), Err)).and_then(|overlap| {
        // A sender that is silent because it is gone does not answer.
        controls.iter_mut().try_for_each(|control| control.send(&json!({"done": true})))?;
        controls.iter_mut().try_for_each(|control| {
            control.set_timeout(net::HANDSHAKE)?;
            control.receive().map(|word| net::parse_fault(&word))?.map_or(Ok(()), Err)
        })?;
        Ok(overlap)
    });
    let overlap = ended.map_err(|fault| group::exchange_faults(&mut controls, limiter.blame(fault)))?;
    report(context, &controls, &overlap)
}

/// The measured time, and the first byte and the rate of each sender in it.
struct Overlap {
    duration_s: f64,
    first_ns: Vec<u64>,
    rates: Vec<f64>,
}

fn measure(
    context: &Context,
    controls: &mut [Control],
    data: &[TcpStream],
    limiter: &Limiter,
) -> Result<Overlap, Fault> {
    let cpus = &context.job.cpus;
    disturbance::wait(context.out, cpus)?;
    let before = disturbance::counts(cpus);
    let senders: Vec<Sender> = data.iter().map(|_| Sender::default()).collect();
    let (over, fault) = (AtomicBool::new(false), Mutex::new(None));
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    let overlap = thread::scope(|scope| {
        for (stream, sender) in data.iter().zip(&senders) {
            let (over, fault) = (&over, &fault);
            scope.spawn(move || {
                // On any CPU of the job: one of its own for each would favour a sender.
                if let Err(found) = pin::to(cpus).and_then(|()| read(stream, size, sender, limiter))
                    && !over.load(Relaxed)
                    && let Ok(mut fault) = fault.lock()
                {
                    fault.get_or_insert(found);
                }
            });
        }
        let watch = || fault.lock().ok().and_then(|mut fault| fault.take()).map_or(Ok(()), Err);
        let overlap = start(context, controls).and_then(|()| count(context, &senders, watch));
        over.store(true, Relaxed);
        limiter.stop();
        // Readers and senders end with their connections.
        data.iter().for_each(|data| drop(data.shutdown(Shutdown::Both)));
        overlap
    });
    limiter.used(senders.iter().map(|sender| sender.bytes.load(Relaxed)).sum());
    let overlap = overlap?;
    disturbance::counts(cpus).note_since(&before, context.out)?;
    Ok(overlap)
}

/// Starts all senders, in a drawn order.
fn start(context: &Context, controls: &mut [Control]) -> Result<(), Fault> {
    let mut order: Vec<usize> = (0..controls.len()).collect();
    let mut rng = Rng::new(context.job.seed, 0);
    (1..order.len()).for_each(|i| order.swap(i, rng.below(i as u64 + 1) as usize));
    order.into_iter().try_for_each(|i| group::begin(&mut controls[i..=i], &json!(context.text("size_bytes"))))
}

/// Reads and counts until the connection ends.
fn read(mut stream: &TcpStream, size: usize, sender: &Sender, limiter: &Limiter) -> Result<(), Fault> {
    let mut buffer = vec![1_u8; size];
    loop {
        let came = match stream.read(&mut buffer) {
            Ok(0) => return Err(Fault::failed("a sender closed its connection", NEXT)),
            other => other.or_fault("a connection broke", NEXT)? as u64,
        };
        if sender.bytes.fetch_add(came, Relaxed) == 0 {
            sender.first_ns.store(now_ns(), Relaxed);
        }
        limiter.count_received(came).ok_or_else(|| limiter.refusal())?;
    }
}

/// Waits until all send and have warmed up, and counts what comes from each in the measured time.
fn count(context: &Context, senders: &[Sender], watch: impl Fn() -> Result<(), Fault>) -> Result<Overlap, Fault> {
    let begun = Instant::now();
    let first = |sender: &Sender| sender.first_ns.load(Relaxed);
    while senders.iter().any(|sender| first(sender) == 0) {
        watch()?;
        if begun.elapsed() > net::IDLE {
            return Err(Fault::failed("a sender does not send", NEXT));
        }
        thread::sleep(Duration::from_millis(1));
    }
    let first_ns: Vec<u64> = senders.iter().map(first).collect();
    let last_ns = first_ns.iter().max().copied().unwrap_or_default();
    pause_until(last_ns + (context.seconds("warmup_s") * 1e9) as u64, &watch)?;
    let (mut from, mut to) = (vec![0; senders.len()], vec![0; senders.len()]);
    let start_ns = read_counters(senders, &mut from);
    pause_until(start_ns + (context.seconds("duration_s") * 1e9) as u64, &watch)?;
    let end_ns = read_counters(senders, &mut to);
    watch()?;
    let duration_s = seconds(end_ns - start_ns);
    let rates: Vec<f64> = from.iter().zip(&to).map(|(from, to)| (to - from) as f64 / duration_s).collect();
    if rates.contains(&0.0) {
        return Err(Fault::failed("a sender sent nothing while the others did", "ask for a longer duration_s"));
    }
    Ok(Overlap { duration_s, first_ns, rates })
}

fn pause_until(due_ns: u64, watch: impl Fn() -> Result<(), Fault>) -> Result<(), Fault> {
    while now_ns() < due_ns {
        watch()?;
        wait_until(due_ns.min(now_ns() + LOOK_NS));
    }
    Ok(())
}

/// Reads all counters at nearly one time, and returns that time.
fn read_counters(senders: &[Sender], bytes: &mut [u64]) -> u64 {
    let mut reads = 0;
    loop {
        let start = now_ns();
        bytes.iter_mut().zip(senders).for_each(|(bytes, sender)| *bytes = sender.bytes.load(Relaxed));
        let end = now_ns();
        reads += 1;
        if end - start < READ_NS || reads == READS {
            return start + (end - start) / 2;
        }
    }
}

fn report(context: &Context, controls: &[Control], overlap: &Overlap) -> Result<(), Fault> {
    let mut order: Vec<usize> = (0..overlap.rates.len()).collect();
    order.sort_by_key(|&i| overlap.first_ns[i]);
    let (first, last) = (order[0], order[order.len() - 1]);
    context.out.note("first_sender", controls[first].remote()?.ip().to_canonical().to_string())?;
    context.out.note("first_by_s", finite(seconds(overlap.first_ns[order[1]] - overlap.first_ns[first])))?;
    context.out.note("all_bytes_per_s", finite(overlap.rates.iter().sum()))?;
    for (sender, i) in [("first", first), ("last", last)] {
        context.sample_of("sender_bytes_per_s", &[("sender", sender)], overlap.duration_s, overlap.rates[i])?;
    }
    context.sample("fairness_ratio", overlap.duration_s, fairness(&overlap.rates))
}

/// Returns Jain's fairness index of rates above zero.
fn fairness(rates: &[f64]) -> f64 {
    let most = rates.iter().copied().fold(0.0, f64::max);
    let shares = || rates.iter().map(|rate| rate / most); // no square of it overflows
    let (sum, squares) = (shares().sum::<f64>(), shares().map(|share| share * share).sum::<f64>());
    let count = rates.len() as f64;
    (sum * sum / (count * squares)).clamp(1.0 / count, 1.0) // against rounding
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fairness_has_known_values() {
        assert_eq!(fairness(&[3.0; 5]), 1.0);
        assert!((fairness(&[1.0, 3.0]) - 0.8).abs() < 1e-15);
        assert!((fairness(&[1e-300, 1e9, 1e-300, 1e-300]) - 0.25).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn fairness_is_between_one_nth_and_one_and_has_no_unit(
            rates in proptest::collection::vec(1e-3..1e12_f64, 1..64), unit in 1e-6..1e6_f64
        ) {
            let index = fairness(&rates);
            prop_assert!((1.0 / rates.len() as f64..=1.0).contains(&index));
            let scaled: Vec<f64> = rates.iter().map(|rate| rate * unit).collect();
            prop_assert!((fairness(&scaled) - index).abs() < 1e-12);
            let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
            prop_assert!((sum * sum / (rates.len() as f64 * squares) - index).abs() < 1e-12);
        }
    }
}
