//! The network load of a neighbour: datagrams at a rate, from client to server, until the controller ends it.
//!
//! The server reports what it received in each interval while the load goes on: that shows that it worked all the time.
//! Loss, jitter and order are not counted, `udp` does that. Does not measure anything by itself.

use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::udp::{connect, send_for, widen};
use super::{Context, DURATION, INTERVAL, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::caps::{Demand, Item};
use crate::clock::{now_ns, seconds, wait_until};
use crate::fault::{Fault, OrFault};
use crate::net::{self, Control, drain, number};
use crate::pin;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, RECEIVER_DEPTH_S, SENDER_DEPTH_S, Tolerance};

pub const PROBE: Probe = Probe {
    name: "traffic",
    roles: PAIR,
    params: &[
        Param { name: "size_bytes", default: "1448", kind: Kind::Whole(1, 65_507) },
        DURATION,
        INTERVAL,
        Param { name: "rate_bytes_per_s", default: "max", kind: Kind::WholeOr(1, 1 << 40, "max") },
        PATH,
    ],
    metrics: &[Metric {
        name: "traffic_bytes_per_s",
        unit: "B/s",
        params: &["path", "rate_bytes_per_s", "size_bytes"],
    }],
    run,
};

const NEXT: &str = "see that the peer runs and can be reached";
/// The size of a read, which takes as much as the kernel has joined.
const READ_BYTES: usize = 65_536;
/// A receiver without datagrams checks at this interval whether the load is over.
const LOOK: Duration = Duration::from_millis(20);

fn run(context: &Context) -> Result<(), Fault> {
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    match context.job.role {
        Role::Server => serve(context, size),
        _ => load(context, size),
    }
}

/// Returns the limiter of this side. A load is no measurement: a cap that holds it back does not spoil it.
fn limiter(context: &Context, size: usize, depth_s: f64) -> Result<Arc<Limiter>, Fault> {
    let duration_s = context.seconds("duration_s");
    let items_per_s = context.whole("rate_bytes_per_s").map(|rate| rate as f64 / size as f64);
    let demand = Demand { items_per_s, items: None, burst_s: Some(duration_s) };
    let tolerance = Tolerance { held_s: f64::INFINITY, warm_s: Some(0.0), depth_s };
    context.limiter(Item { bytes: size as u64, packets: 1 }, demand, tolerance)
}

fn serve(context: &Context, size: usize) -> Result<(), Fault> {
    let limiter = limiter(context, size, RECEIVER_DEPTH_S)?;
    let (mut control, _) = context.listen()?.admit_client(0)?;
    let socket = net::admit_datagrams(&mut control)?;
    widen(&socket);
    let (on, length) = (1_i32, size_of::<i32>() as u32);
    // An old kernel does not join datagrams: each read then gets one datagram.
    unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, (&raw const on).cast(), length) };
    socket.set_read_timeout(Some(LOOK)).or_fault("cannot set a socket's limits", NEXT)?;
    control.receive()?; // all cookies have been sent
    drain(&socket)?;
    control.send(&json!({"ready": true}))?;
    let (came, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let cpu = context.job.cpus[context.job.cpus.len() - 1];
    let reported = thread::scope(|scope| {
        let receiver = scope.spawn(|| pin::to(&[cpu]).and_then(|()| receive(&socket, size, &limiter, &came, &over)));
        let reported = report(context, &mut control, &came, || receiver.is_finished());
        over.store(true, Relaxed);
        let received = receiver.join().unwrap_or_else(|_| Err(Fault::failed("the receiver died", "report this")));
        received.and(reported)
    });
    limiter.note(context.out)?;
    reported.map_err(|fault| control.exchange_faults(fault))
}

/// Counts the payload of what arrives, until the load is over.
fn receive(
    socket: &UdpSocket,
    size: usize,
    limiter: &Limiter,
    came: &AtomicU64,
    over: &AtomicBool,
) -> Result<(), Fault> {
    let mut buffer = vec![0; READ_BYTES];
    while !over.load(Relaxed) {
        match socket.recv(&mut buffer) {
            Ok(bytes) => {
                came.fetch_add(bytes as u64, Relaxed);
                limiter.count_received((bytes / size) as u64).ok_or_else(|| limiter.refusal())?;
            }
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => {}
            Err(error) => return Err(error).or_fault("cannot receive datagrams", NEXT),
        }
    }
    limiter.used(came.load(Relaxed));
    Ok(())
}

/// Sends the rate of each interval to the client, for the whole duration or until an end on either side.
fn report(context: &Context, control: &mut Control, came: &AtomicU64, ended: impl Fn() -> bool) -> Result<(), Fault> {
    let start = now_ns();
    let end = start + (context.seconds("duration_s") * 1e9) as u64;
    let interval = (context.seconds("interval_s") * 1e9) as u64;
    let (mut before, mut since) = (0, start);
    while since < end && !ended() {
        wait_until((since + interval).min(end));
        let (now, bytes) = (now_ns(), came.load(Relaxed));
        let rate = (bytes - before) as f64 / seconds(now - since);
        control.send(&json!({"t_s": seconds(now - start), "rate": rate}))?;
        (before, since) = (bytes, now);
    }
    control.send(&json!({"done": true}))
}

fn load(context: &Context, size: usize) -> Result<(), Fault> {
    let limiter = limiter(context, size, SENDER_DEPTH_S)?;
    let (mut control, source) = connect(context, size, &limiter)?;
    let unwanted = Arc::clone(&source.unwanted);
    let collected = thread::scope(|scope| {
        let sender = scope.spawn(|| send_for(context, source, false).map(drop));
        let collected = collect(context, &mut control, || sender.is_finished());
        let early = sender.is_finished();
        unwanted.store(true, Relaxed);
        limiter.stop();
        let sent = sender.join().unwrap_or_else(|_| Err(Fault::failed("the sender died", "report this")));
        // One that was still sending is told to stop, which is no fault of its own.
        if early { sent.and(collected) } else { collected }
    });
    limiter.note(context.out)?;
    collected.map_err(|fault| control.exchange_faults(limiter.blame(fault)))
}

/// Turns the server's counts into samples until the end; nothing more is worth one if the sender ended before.
fn collect(context: &Context, control: &mut Control, ended: impl Fn() -> bool) -> Result<(), Fault> {
    let longest = net::IDLE + Duration::from_secs_f64(context.seconds("interval_s"));
    let start = now_ns();
    loop {
        control.wait(longest, || true)?;
        let message = control.receive()?;
        if message.get("done").is_some() {
            return Ok(());
        }
        if let Some(fault) = net::parse_fault(&message) {
            return Err(fault);
        }
        context.sample("traffic_bytes_per_s", number(&message, "t_s")?, number(&message, "rate")?)?;
        if ended() && seconds(now_ns() - start) < context.seconds("duration_s") {
            return Ok(()); // the sender says why
        }
    }
}
