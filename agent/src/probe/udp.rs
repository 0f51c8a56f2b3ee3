//! Datagrams in one direction, from client to server: goodput, loss, jitter and reordering.
//!
//! Loss is one value for the whole run: the datagrams that the sender's kernel accepted minus those that the receiver
//! got, by counters at both ends. Goodput uses the receiver's clock, which starts with the first datagram; an interval
//! without datagrams is merged with a neighbour. Jitter is RFC 3550's (6.4.1, A.8), of one-way transit differences, at
//! the interval's end. Headers are not counted. At `rate_bytes_per_s=max`, loss describes the receiver rather than the
//! path, and jitter has almost no meaning, because datagrams leave and arrive in bursts with a common time.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{Context, DIRECTION, DURATION, INTERVAL, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::caps::{Demand, Item};
use crate::fault::Fault;
use crate::net::{self, Control, number};
use crate::pace::{self, Pace};
use crate::pin;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, RECEIVER_DEPTH_S, SENDER_DEPTH_S, Tolerance};

mod receive;
pub mod send;

use receive::{Sink, Tally};
use send::Source;

const CELL: &[&str] = &["direction", "path", "rate_bytes_per_s", "size_bytes"];

pub const PROBE: Probe = Probe {
    name: "udp",
    roles: PAIR,
    params: &[
        Param { name: "size_bytes", default: "1448", kind: Kind::Whole(1, 65_507) },
        DURATION,
        INTERVAL,
        Param { name: "rate_bytes_per_s", default: "max", kind: Kind::WholeOr(1, 1 << 40, "max") },
        PATH,
        DIRECTION,
    ],
    metrics: &[
        Metric { name: "udp_bytes_per_s", unit: "B/s", params: CELL },
        Metric { name: "udp_loss_ratio", unit: "ratio", params: CELL },
        Metric { name: "udp_jitter_s", unit: "s", params: CELL },
        Metric { name: "udp_reordered_ratio", unit: "ratio", params: CELL },
    ],
    run,
};

const NEXT: &str = "see that the peer runs and can be reached";
/// The mark, number and time of a datagram; smaller datagrams have none of them, and give no jitter.
pub const HEAD_BYTES: usize = 20;
pub const MARK: [u8; 4] = *b"ccmp";
/// Each interval gives one tally, and no run has more than a hundred thousand intervals.
const MOST_TALLIES: usize = 100_001;
/// Share of the time for which a rate cap may hold back a sender at full speed.
const SENDER_TOLERANCE: f64 = 0.01;
/// Longer than any deadline.
const FOREVER: Duration = Duration::from_secs(30 * 86_400);
/// The requested buffer size of each socket; the kernel limits it to net.core's maximum.
static SOCKET_BYTES: i32 = 8 << 20;

fn run(context: &Context) -> Result<(), Fault> {
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    match context.job.role {
        Role::Server => serve(context, size),
        _ => measure(context, size),
    }
}

/// Requests large buffers; returns the actual size of the receive buffer.
pub fn widen(socket: &UdpSocket) -> i32 {
    use std::os::fd::AsRawFd;
    let (fd, mut got, mut length) = (socket.as_raw_fd(), 0_i32, size_of::<i32>() as u32);
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, (&raw const SOCKET_BYTES).cast(), length) };
    }
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, (&raw mut got).cast(), &mut length) };
    got
}

fn limiter(context: &Context, size: usize, depth_s: f64) -> Result<Arc<Limiter>, Fault> {
    let duration_s = context.seconds("duration_s");
    let items_per_s = context.whole("rate_bytes_per_s").map(|rate| rate as f64 / size as f64);
    let demand =
        Demand { items_per_s, items: items_per_s.map(|rate| (rate * duration_s).ceil()), burst_s: Some(duration_s) };
    // A stated rate stays below the caps; they only hold back the catching up after a stall.
    let held_s = if items_per_s.is_some() { f64::INFINITY } else { SENDER_TOLERANCE * duration_s };
    context.limiter(Item { bytes: size as u64, packets: 1 }, demand, Tolerance { held_s, warm_s: Some(0.0), depth_s })
}

fn serve(context: &Context, size: usize) -> Result<(), Fault> {
    let limiter = limiter(context, size, RECEIVER_DEPTH_S)?;
    let (mut control, _) = context.listen()?.admit_client(0)?;
    let socket = net::admit_datagrams(&mut control)?;
    context.out.note("receive_buffer_bytes", widen(&socket))?;
    let (duration_s, interval_s) = (context.seconds("duration_s"), context.seconds("interval_s"));
    let gap_s = context.whole("rate_bytes_per_s").map_or(0.0, |rate| size as f64 / rate as f64);
    let idle = net::IDLE + Duration::from_secs_f64(gap_s.min(duration_s));
    let mut sink = Sink::new(socket, size, (duration_s, interval_s), idle, Arc::clone(&limiter))?;
    control.receive()?; // all cookies have been sent
    sink.discard()?;
    control.send(&json!({"ready": true}))?;
    let tallies = receive(context, &mut control, &mut sink);
    drop(sink);
    limiter.note(context.out)?;
    // The client reports the fault too; if that fails, it sees the connection close.
    let tallies = tallies.map_err(|fault| control.exchange_faults(fault))?;
    tallies.iter().try_for_each(|tally| control.send(&tally.message()))?;
    control.send(&json!({"done": true}))?;
    control.receive().map(|message| net::parse_fault(&message))?.map_or(Ok(()), Err)
}

/// Receives until the client reports the number of sent datagrams, or one side has a reason to stop.
fn receive(context: &Context, control: &mut Control, sink: &mut Sink) -> Result<Vec<Tally>, Fault> {
    // The server uses the last CPU, the client the first: two cores if there are two.
    let cpu = context.job.cpus[context.job.cpus.len() - 1];
    let longest = net::IDLE + Duration::from_secs_f64(context.seconds("duration_s"));
    let sent = AtomicU64::new(u64::MAX);
    thread::scope(|scope| {
        let receiver = scope.spawn(|| pin::to(&[cpu]).and_then(|()| sink.run(&sent)));
        let word = control.wait(longest, || !receiver.is_finished()).and_then(|()| control.receive());
        let early = receiver.is_finished();
        let reported = word.and_then(|message| match net::parse_fault(&message) {
            Some(fault) => Err(fault),
            None => number(&message, "sent"),
        });
        // If the client sends no message, stop counting.
        sent.store(reported.as_ref().map_or(0, |&sent| sent as u64), Release);
        let received = receiver.join().unwrap_or_else(|_| Err(Fault::failed("the receiver died", "report this")));
        if early { received } else { reported.and(received) }
    })
}

fn measure(context: &Context, size: usize) -> Result<(), Fault> {
    let limiter = limiter(context, size, SENDER_DEPTH_S)?;
    let (mut control, source) = connect(context, size, &limiter)?;
    let unwanted = Arc::clone(&source.unwanted);
    let mut run = send(context, &mut control, source);
    if unwanted.load(Relaxed)
        && let Some(theirs) = control.receive().ok().and_then(|message| net::parse_fault(&message))
    {
        run = Err(theirs);
    }
    let run = run.map(|source| (source.sent, source.refused, source.gso));
    limiter.note(context.out)?;
    let (sent, refused, gso) = run.map_err(|fault| control.exchange_faults(limiter.blame(fault)))?;
    control.send(&json!({"sent": sent}))?;
    context.out.note("segmentation", if gso { "kernel" } else { "none" })?;
    context.out.note("datagrams_sent", sent)?;
    context.out.note("datagrams_refused", refused)?;
    let tallies = collect(&mut control)?;
    control.send(&json!({"done": true}))?;
    report(context, &tallies, size, sent)
}

/// Returns the control connection and a source of datagrams to a server whose receiver is about to start.
pub fn connect(context: &Context, size: usize, limiter: &Arc<Limiter>) -> Result<(Control, Source), Fault> {
    let (mut control, _) = context.connect(0)?;
    let socket = net::open_datagrams(&mut control)?;
    widen(&socket);
    control.send(&json!({"begin": true}))?;
    control.receive()?;
    let (rate, duration_s) = (context.whole("rate_bytes_per_s"), context.seconds("duration_s"));
    let source = Source::new(socket, size, rate, duration_s, Arc::clone(limiter))?;
    Ok((control, source))
}

/// Sends for the requested time on the first CPU; with `wait`, once the machine is quiet.
pub fn send_for(context: &Context, source: Source, wait: bool) -> Result<Source, Fault> {
    let source = Mutex::new(Some(source));
    let make = |_| {
        let source = source.lock().ok().and_then(|mut source| source.take());
        source.ok_or_else(|| Fault::failed("no datagram socket", NEXT))
    };
    let (duration_s, cpus) = (context.seconds("duration_s"), &context.job.cpus[..1]);
    let pace = Pace { duration_s, interval_s: duration_s, threads: 1, cpus, wait, out: context.out };
    pace::run(&pace, make, |_, _| Ok(()))?.pop().ok_or_else(|| Fault::failed("no datagram socket", NEXT))
}

/// Sends for the requested time, but no longer than the server is there.
fn send(context: &Context, control: &mut Control, source: Source) -> Result<Source, Fault> {
    let (unwanted, ended) = (Arc::clone(&source.unwanted), AtomicBool::new(false));
    thread::scope(|scope| {
        // The server sends no message unless something is wrong.
        scope.spawn(|| {
            if control.wait(FOREVER, || !ended.load(Relaxed)).is_ok() {
                unwanted.store(true, Relaxed);
            }
        });
        let sent = send_for(context, source, true);
        ended.store(true, Relaxed);
        sent
    })
}

/// Receives all tallies of the server.
fn collect(control: &mut Control) -> Result<Vec<Tally>, Fault> {
    let mut tallies = Vec::new();
    loop {
        let message = control.receive()?;
        if message.get("done").is_some() {
            return Ok(tallies);
        }
        if let Some(fault) = net::parse_fault(&message) {
            return Err(fault);
        }
        if tallies.len() > MOST_TALLIES {
            return Err(Fault::failed("the server sends more intervals than there are", NEXT));
        }
        tallies.push(Tally::of(&message)?);
    }
}

/// Reports goodput and jitter of each interval, and the loss of the whole run.
fn report(context: &Context, tallies: &[Tally], size: usize, sent: u64) -> Result<(), Fault> {
    let received: u64 = tallies.iter().map(|tally| tally.received).sum();
    context.out.note("datagrams_received", received)?;
    if size >= HEAD_BYTES && tallies.iter().all(|tally| tally.jitter_s.is_none()) {
        return Err(Fault::failed(format!("{received} of {sent} datagrams arrived: too few to be timed"), NEXT));
    }
    let mut since_s = 0.0;
    for tally in receive::joined(tallies) {
        let rate = (tally.received * size as u64) as f64 / (tally.end_s - since_s);
        context.sample("udp_bytes_per_s", tally.end_s, rate)?;
        if let Some(jitter_s) = tally.jitter_s {
            context.sample("udp_jitter_s", tally.end_s, jitter_s)?;
        }
        since_s = tally.end_s;
    }
    if size >= HEAD_BYTES {
        let reordered: u64 = tallies.iter().map(|tally| tally.reordered).sum();
        context.sample("udp_reordered_ratio", since_s, reordered as f64 / received as f64)?;
    }
    context.sample("udp_loss_ratio", since_s, (sent as f64 - received as f64) / sent as f64)
}
