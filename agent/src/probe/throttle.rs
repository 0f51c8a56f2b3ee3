//! A token bucket on the path: the burst rate, the bucket's size and the sustained rate, from one bulk transfer.
//!
//! The client sends over TCP as fast as it goes; the server counts payload in short intervals, finds the lasting fall of
//! the rate while it comes, and ends the transfer as soon as it knows the sustained rate. Without a fall the trial has a
//! burst rate alone: there is no throttle, or its bucket holds more than was sent, or it was empty from the start. Does
//! not tell why a rate falls: another tenant's traffic that begins and stays looks the same.

use std::io::ErrorKind::Interrupted;
use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Context, Kind, Metric, PAIR, PATH, Param, Probe, tcp};
use crate::caps::{Demand, Item};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault};
use crate::net::{self, Control, number};
use crate::pin;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, RECEIVER_DEPTH_S, SENDER_DEPTH_S, Tolerance};
use crate::wire::finite;

mod token_bucket;

use token_bucket::Series;

const CELL: &[&str] = &["path", "streams"];

pub const PROBE: Probe = Probe {
    name: "throttle",
    roles: PAIR,
    params: &[
        Param { name: "streams", default: "1", kind: Kind::Whole(1, 256) },
        Param { name: "duration_s", default: "60", kind: Kind::Seconds(0.001, 86_400.0) },
        Param { name: "interval_s", default: "0.05", kind: Kind::Seconds(0.01, 60.0) },
        Param { name: "hold_s", default: "2", kind: Kind::Seconds(0.1, 3600.0) },
        Param { name: "limit_bytes", default: "none", kind: Kind::WholeOr(1, 1 << 60, "none") },
        PATH,
    ],
    metrics: &[
        Metric { name: "burst_bytes_per_s", unit: "B/s", params: CELL },
        Metric { name: "bucket_bytes", unit: "B", params: CELL },
        Metric { name: "sustained_bytes_per_s", unit: "B/s", params: CELL },
    ],
    run,
};

const NEXT: &str = "see that the peer runs and can be reached";
/// The sustained rate is known once half of its 95 % interval is at most this share of it.
const PRECISION: f64 = 0.02;
/// Bytes of a write, and of a read.
const PIECE_BYTES: usize = 128 * 1024;
/// Share of the shortest burst that is measured for which a rate cap may hold traffic back: senders, receivers.
const SENDER_TOLERANCE: f64 = 0.01;
const RECEIVER_TOLERANCE: f64 = 0.1;
/// The server reports at this interval that it goes on.
const REPORT_S: f64 = 1.0;

fn run(context: &Context) -> Result<(), Fault> {
    match context.job.role {
        Role::Server => serve(context),
        _ => measure(context),
    }
}

fn limiter(context: &Context, share: f64, depth_s: f64) -> Result<Arc<Limiter>, Fault> {
    let duration_s = context.seconds("duration_s");
    let held_s = share * duration_s.min(context.seconds("hold_s")) * streams(context) as f64;
    let tolerance = Tolerance { held_s, warm_s: Some(0.0), depth_s };
    let demand = Demand { burst_s: Some(duration_s), ..Demand::default() };
    context.limiter(Item { bytes: 1, packets: 0 }, demand, tolerance)
}

fn streams(context: &Context) -> usize {
    context.whole("streams").unwrap_or(1) as usize
}

/// The data that arrive, as the threads that read them count them.
#[derive(Default)]
struct Arrivals {
    bytes: AtomicU64,
    /// Time of the first byte.
    start_ns: OnceLock<u64>,
    /// Threads that do not read any more; one that failed counts as all.
    ended: AtomicUsize,
    /// The server has seen enough.
    over: AtomicBool,
}

fn serve(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, RECEIVER_TOLERANCE, RECEIVER_DEPTH_S)?;
    let listener = context.listen()?;
    let (mut control, data) = listener.admit_client(streams(context) as u16)?;
    control.receive()?; // the client's writers are about to start
    let ends = tcp::duplicates(&data)?;
    let arrivals = Arrivals::default();
    // The server uses the last CPUs first, the client the first ones: two cores if there are two.
    let cpus: Vec<usize> = context.job.cpus.iter().rev().copied().collect();
    let watched = thread::scope(|scope| {
        let spawn = |(i, stream): (usize, TcpStream)| {
            let (arrivals, limiter, cpu) = (&arrivals, &limiter, cpus[i % cpus.len()]);
            scope.spawn(move || read(stream, cpu, arrivals, limiter))
        };
        let readers: Vec<_> = data.into_iter().enumerate().map(spawn).collect();
        let watched = watch(context, &mut control, &arrivals);
        arrivals.over.store(true, Relaxed);
        limiter.stop();
        ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
        let died = || Fault::failed("a reader died", "report this");
        let read = readers.into_iter().try_for_each(|reader| reader.join().unwrap_or_else(|_| Err(died())));
        read.and(watched)
    });
    limiter.note(context.out)?;
    let message = watched.map_err(|fault| limiter.blame(fault)).map_err(|fault| control.exchange_faults(fault))?;
    control.send(&message)?;
    control.receive().map(|message| net::parse_fault(&message))?.map_or(Ok(()), Err)
}

/// Reads until the client has sent all, or the server has seen enough.
fn read(mut stream: TcpStream, cpu: usize, arrivals: &Arrivals, limiter: &Limiter) -> Result<(), Fault> {
    let mut buffer = vec![0; PIECE_BYTES];
    let mut came = 0;
    let ended = pin::to(&[cpu]).and_then(|()| {
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(bytes) => {
                    arrivals.start_ns.get_or_init(now_ns);
                    came += bytes as u64;
                    arrivals.bytes.fetch_add(bytes as u64, Relaxed);
                    if limiter.count_received(bytes as u64).is_none() && !arrivals.over.load(Relaxed) {
                        return Err(limiter.refusal());
                    }
                }
                Err(error) if error.kind() == Interrupted => {}
                Err(_) if arrivals.over.load(Relaxed) => return Ok(()),
                Err(error) => return Err(error).or_fault("a stream broke", NEXT),
            }
        }
    });
    limiter.used(came);
    arrivals.ended.fetch_add(if ended.is_ok() { 1 } else { usize::from(u16::MAX) }, Relaxed);
    ended
}

/// Counts what arrives in each interval until the sustained rate is known, time is up or all is sent; returns the
/// last message to the client.
fn watch(context: &Context, control: &mut Control, arrivals: &Arrivals) -> Result<Value, Fault> {
    let (duration_s, hold_s) = (context.seconds("duration_s"), context.seconds("hold_s"));
    let interval = Duration::from_secs_f64(context.seconds("interval_s").min(duration_s));
    let all_ended = || arrivals.ended.load(Relaxed) >= streams(context);
    let start_ns = await_first(arrivals, all_ended)?;
    let (mut series, mut last_ns, mut counted, mut reported_s) = (Series::default(), start_ns, 0, 0.0);
    loop {
        thread::sleep(interval.saturating_sub(Duration::from_nanos(now_ns() - last_ns)));
        let (bytes, now) = (arrivals.bytes.load(Relaxed), now_ns());
        let elapsed_s = seconds(now - start_ns);
        // The interval in which the client had sent all is not a whole one.
        let over = all_ended();
        if !over {
            series.push(bytes - counted, seconds(now - last_ns));
        } else if series.is_empty() {
            let what = format!("{bytes} bytes came within one interval");
            return Err(Fault::failed(what, "raise limit_bytes, or lower interval_s"));
        }
        (last_ns, counted) = (now, bytes);
        let found = series.find(hold_s);
        let known = found.is_some_and(|found| found.sustained_error_ratio <= PRECISION);
        if !(known || over || elapsed_s >= duration_s) {
            if elapsed_s - reported_s >= REPORT_S {
                reported_s = elapsed_s;
                control.send(&json!({"t_s": elapsed_s}))?;
            }
            continue;
        }
        let whole = json!({"t_s": elapsed_s, "received_bytes": bytes});
        return Ok(match found {
            None => json!({"done": whole, "burst": series.level()}),
            Some(found) => json!({
                "done": whole, "burst": found.burst_bytes_per_s, "burst_s": found.burst_s, "bucket": found.bucket_bytes,
                "sustained": found.sustained_bytes_per_s, "sustained_s": found.sustained_s,
                "error": found.sustained_error_ratio,
            }),
        });
    }
}

/// Waits for the first byte; returns its time.
fn await_first(arrivals: &Arrivals, all_ended: impl Fn() -> bool) -> Result<u64, Fault> {
    let patience = Instant::now();
    loop {
        if let Some(&start_ns) = arrivals.start_ns.get() {
            return Ok(start_ns);
        }
        if all_ended() || patience.elapsed() > net::IDLE {
            return Err(Fault::failed("the client sent nothing", NEXT));
        }
        thread::sleep(Duration::from_micros(200));
    }
}

fn measure(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, SENDER_TOLERANCE, SENDER_DEPTH_S)?;
    let (mut control, data) = context.connect(streams(context) as u16)?;
    let left = AtomicU64::new(context.whole("limit_bytes").unwrap_or(u64::MAX));
    let grant = |want: u64, stream: &TcpStream| grant(&left, &limiter, want, stream);
    tcp::transfer(context, &mut control, data, &limiter, PIECE_BYTES, grant, |control, ends| {
        // The server takes the end of data for that of `limit_bytes`: what a cap has cut is not whole.
        collect(context, control, &limiter, ends).map(|()| limiter.fault())
    })
}

/// Grants a writer its next bytes: those that are left of `limit_bytes`, once the caps allow them.
fn grant(left: &AtomicU64, limiter: &Limiter, want: u64, stream: &TcpStream) -> Option<u64> {
    let reserve = |left: u64| (left > 0).then(|| left - want.min(left));
    let granted = want.min(left.fetch_update(Relaxed, Relaxed, reserve).ok()?);
    limiter.take(granted, || net::unsent(stream) == 0).map(|allowed| allowed.min(granted))
}

/// Waits for the server's result, and writes it.
fn collect(context: &Context, control: &mut Control, limiter: &Limiter, data: &[TcpStream]) -> Result<(), Fault> {
    let mut states = tcp::States::default();
    loop {
        let message = tcp::next_message(control, limiter, net::IDLE)?;
        states.add(data);
        if let Some(whole) = message.get("done") {
            states.note(context.out)?;
            return limiter.fault().map_or_else(|| write(context, whole, &message), Err);
        }
    }
}

/// Writes the server's figures as samples and notes.
fn write(context: &Context, whole: &Value, message: &Value) -> Result<(), Fault> {
    let burst = number(message, "burst")?;
    let transfer_s = number(whole, "t_s")?;
    let seen = message.get("sustained").is_some();
    context.out.note("throttle_seen", seen)?;
    context.out.note("received_bytes", number(whole, "received_bytes")? as u64)?;
    context.out.note("transfer_s", finite(transfer_s))?;
    if !seen {
        return context.sample("burst_bytes_per_s", transfer_s, burst);
    }
    let (burst_s, bucket) = (number(message, "burst_s")?, number(message, "bucket")?);
    let sustained = number(message, "sustained")?;
    if !(0.0 < sustained && sustained < burst && 0.0 < bucket) {
        return Err(Fault::failed("the server found what can not be", "run the same agent on both sides"));
    }
    context.out.note("burst_s", finite(burst_s))?;
    context.out.note("sustained_s", finite(number(message, "sustained_s")?))?;
    context.out.note("sustained_error_ratio", finite(number(message, "error")?))?;
    context.sample("burst_bytes_per_s", burst_s, burst)?;
    context.sample("bucket_bytes", burst_s, bucket)?;
    context.sample("sustained_bytes_per_s", transfer_s, sustained)
}
