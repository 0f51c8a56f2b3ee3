//! Datagrams one way, client to server: goodput, loss and jitter.
//!
//! Loss is one value for the whole run: what the sender's kernel took less what the receiver got, by counters at both
//! ends. Goodput is counted by the receiver's clock, which starts with the first datagram; an interval in which nothing
//! came makes a longer one with its neighbour. Jitter is RFC 3550's (6.4.1, A.8), of one-way transit differences, at
//! the interval's end. Headers are not counted. At `rate_bytes_per_s=max` loss tells of the receiver, not of the path,
//! and jitter of next to nothing, because datagrams leave and arrive in bursts that share a time.

use std::net::UdpSocket;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Release};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Context, DURATION, INTERVAL, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::fault::Fault;
use crate::job::Role;
use crate::net::{self, Control, number};
use crate::pace::{self, Pace};
use crate::pin;

mod receive;
mod send;

use receive::{Sink, Tally};
use send::Source;

const CELL: &[&str] = &["path", "rate_bytes_per_s", "size_bytes"];

pub const PROBE: Probe = Probe {
    name: "udp",
    roles: PAIR,
    params: &[
        Param { name: "size_bytes", default: "1448", kind: Kind::Whole(1, 65_507) },
        DURATION,
        INTERVAL,
        Param { name: "rate_bytes_per_s", default: "max", kind: Kind::WholeOr(1, 1 << 40, "max") },
        PATH,
    ],
    metrics: &[
        Metric { name: "udp_bytes_per_s", unit: "B/s", params: CELL },
        Metric { name: "udp_loss_ratio", unit: "ratio", params: CELL },
        Metric { name: "udp_jitter_s", unit: "s", params: CELL },
    ],
    run,
};

const NEXT: &str = "see that the peer runs and can be reached";
/// Mark, number and time of a datagram; smaller ones carry none of them, and give no jitter.
pub const HEAD_BYTES: usize = 20;
pub const MARK: [u8; 4] = *b"ccmp";
/// What is asked of the kernel for each socket; it gives what net.core allows.
static SOCKET_BYTES: i32 = 8 << 20;

fn run(context: &Context) -> Result<(), Fault> {
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    match context.job.role {
        Role::Server => serve(context, size),
        _ => measure(context, size),
    }
}

/// Asks for large buffers; returns what the receive buffer came to.
fn widen(socket: &UdpSocket) -> i32 {
    use std::os::fd::AsRawFd;
    let (fd, mut got, mut length) = (socket.as_raw_fd(), 0_i32, size_of::<i32>() as u32);
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, (&raw const SOCKET_BYTES).cast(), length) };
    }
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, (&raw mut got).cast(), &mut length) };
    got
}

fn serve(context: &Context, size: usize) -> Result<(), Fault> {
    let (peer, secret) = context.peer()?;
    let door = net::Door::open(peer, secret)?;
    context.out.ready(&door.address()?.to_string())?;
    let (mut control, _) = door.admit_client(0)?;
    let socket = net::admit_datagrams(peer, &mut control)?;
    context.out.note("receive_buffer_bytes", widen(&socket))?;
    let (duration_s, interval_s) = (context.seconds("duration_s"), context.seconds("interval_s"));
    let mut sink = Sink::new(socket, size, duration_s, interval_s)?;
    // The server's CPU is the last one, the client's the first: two cores where there are two.
    let cpu = context.job.cpus[context.job.cpus.len() - 1];
    control.receive()?; // no cookie is on its way any more
    sink.discard()?;
    control.send(&json!({"ready": true}))?;
    control.patience(net::IDLE + Duration::from_secs_f64(duration_s))?;
    let sent = AtomicU64::new(u64::MAX);
    let received = thread::scope(|scope| {
        let receiver = scope.spawn(|| pin::to(&[cpu]).and_then(|()| sink.run(&sent)));
        let told = control.receive().and_then(|message| number(&message, "sent"));
        // Without a word of the client there is nobody to count for.
        sent.store(told.as_ref().map_or(0, |&sent| sent as u64), Release);
        let received = receiver.join().unwrap_or_else(|_| Err(Fault::failed("the receiver died", "report this")));
        told.and(received)
    });
    let tallies = match received {
        Ok(tallies) => tallies,
        Err(fault) => {
            // The client reports it too; if even that fails it sees the connection close.
            let _ = control.send(&json!({"fault": fault.what}));
            return Err(fault);
        }
    };
    tallies.iter().try_for_each(|tally| control.send(&tally.message()))?;
    control.send(&json!({"done": true}))?;
    control.receive().map(drop)
}

fn measure(context: &Context, size: usize) -> Result<(), Fault> {
    let (peer, secret) = context.peer()?;
    let (mut control, _) = net::connect(peer, secret, 0)?;
    let socket = net::open_datagrams(peer.address.ip(), &mut control)?;
    widen(&socket);
    control.send(&json!({"begin": true}))?;
    control.receive()?; // the receiver is about to start
    let duration_s = context.seconds("duration_s");
    let source = Mutex::new(Some(Source::new(socket, size, context.whole("rate_bytes_per_s"), duration_s)?));
    let make = |_| {
        let source = source.lock().ok().and_then(|mut source| source.take());
        source.ok_or_else(|| Fault::failed("no datagram socket", NEXT))
    };
    let cpus = &context.job.cpus[..1];
    let pace = Pace { duration_s, interval_s: duration_s, threads: 1, cpus, wait: true, out: context.out };
    let sources = pace::run(&pace, make, |_, _| Ok(()))?;
    let source = sources.first().ok_or_else(|| Fault::failed("no datagram socket", NEXT))?;
    control.send(&json!({"sent": source.sent}))?;
    context.out.note("segmentation", if source.gso { "kernel" } else { "none" })?;
    context.out.note("datagrams_sent", source.sent)?;
    context.out.note("datagrams_refused", source.refused)?;
    let tallies = collect(&mut control)?;
    control.send(&json!({"done": true}))?;
    report(context, &tallies, size, source.sent)
}

/// The server's tallies, once it has them all.
fn collect(control: &mut Control) -> Result<Vec<Tally>, Fault> {
    let mut tallies = Vec::new();
    loop {
        let message = control.receive()?;
        if message.get("done").is_some() {
            return Ok(tallies);
        }
        if let Some(what) = message.get("fault").and_then(Value::as_str) {
            return Err(Fault::failed(format!("the server says: {what}"), NEXT));
        }
        tallies.push(Tally::of(&message)?);
    }
}

/// Goodput and jitter of each interval, loss of the whole run.
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
    context.sample("udp_loss_ratio", since_s, (sent as f64 - received as f64) / sent as f64)
}
