//! Datagrams one way, client to server: goodput, loss and jitter.
//!
//! A datagram's head tells its interval, its number and when it left; the server counts by the sender's interval, so
//! that loss is exactly sent less received. Jitter is RFC 3550's (6.4.1, A.8), of one-way transit differences, at the
//! interval's end. Headers are not counted. At `rate_bytes_per_s=max` loss tells of the receiver, not of the path, and
//! jitter of next to nothing, because datagrams leave and arrive in bursts that share a time.

use std::net::UdpSocket;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Context, DURATION, INTERVAL, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::fault::Fault;
use crate::job::Role;
use crate::net::{self, Control};
use crate::pace::{self, Pace};
use crate::pin;

mod receive;
mod send;

use receive::{Sink, Tally};
use send::{Sent, Source};

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
/// Interval, number and time of a datagram; smaller ones carry none, and count to one interval without jitter.
pub const HEAD_BYTES: usize = 20;
/// What is asked of the kernel for each socket; it gives what net.core allows.
static SOCKET_BYTES: i32 = 8 << 20;

fn run(context: &Context) -> Result<(), Fault> {
    let (size, duration_s) = (context.whole("size_bytes").unwrap_or(1) as usize, context.seconds("duration_s"));
    if size < HEAD_BYTES && context.seconds("interval_s") < duration_s {
        let what = format!("bad job: datagrams below {HEAD_BYTES} B carry no interval");
        return Err(Fault::bad_job(what, "let interval_s be duration_s, or raise size_bytes"));
    }
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
    let mut sink = Sink::new(socket, size, context.seconds("duration_s"))?;
    // The server's CPU is the last one, the client's the first: two cores where there are two.
    let cpu = context.job.cpus[context.job.cpus.len() - 1];
    control.send(&json!({"ready": true}))?;
    let (tell, tallies) = channel::<Tally>();
    let received = thread::scope(|scope| {
        let receiver = scope.spawn(move || pin::to(&[cpu]).and_then(|()| sink.run(&tell)));
        // The channel ends with the receiver, its last tally included.
        for tally in tallies {
            control.send(&tally.message())?;
        }
        receiver.join().unwrap_or_else(|_| Err(Fault::failed("the receiver died", "report this")))
    });
    if let Err(fault) = received {
        // The client reports it too; if even that fails it sees the connection close.
        let _ = control.send(&json!({"fault": fault.what}));
        return Err(fault);
    }
    control.send(&json!({"done": true}))?;
    control.receive().map(drop)
}

fn measure(context: &Context, size: usize) -> Result<(), Fault> {
    let (peer, secret) = context.peer()?;
    let (mut control, _) = net::connect(peer, secret, 0)?;
    let socket = net::open_datagrams(peer.address.ip(), &mut control)?;
    widen(&socket);
    control.receive()?; // the receiver is about to start
    let duration_s = context.seconds("duration_s");
    let interval_s = context.seconds("interval_s").min(duration_s);
    let sent = Sent::new(duration_s, interval_s);
    let source = Mutex::new(Some(Source::new(socket, size, context.whole("rate_bytes_per_s"), &sent)?));
    let make = |_| {
        let source = source.lock().ok().and_then(|mut source| source.take());
        source.ok_or_else(|| Fault::failed("no datagram socket", NEXT))
    };
    let pace = Pace { duration_s, interval_s, threads: 1, cpus: &context.job.cpus[..1], wait: true, out: context.out };
    let sources = thread::scope(|scope| {
        let listener = scope.spawn(|| listen(context, &mut control, size, &sent));
        let sources = pace::run(&pace, make, |_, _| Ok(()))?;
        listener.join().unwrap_or_else(|_| Err(Fault::failed("the listener died", "report this")))?;
        Ok::<_, Fault>(sources)
    })?;
    control.send(&json!({"done": true}))?;
    context.out.note("segmentation", if sources[0].gso { "kernel" } else { "none" })?;
    context.out.note("datagrams_sent", sent.total())
}

/// Turns the server's tallies into samples until it says that it is done.
fn listen(context: &Context, control: &mut Control, size: usize, sent: &Sent) -> Result<(), Fault> {
    control.patience(net::IDLE + Duration::from_secs_f64(sent.interval_s))?;
    let (mut t_s, mut next, mut received) = (0.0, 0, 0);
    loop {
        let message = control.receive()?;
        if message.get("done").is_some() {
            break;
        }
        if let Some(what) = message.get("fault").and_then(Value::as_str) {
            return Err(Fault::failed(format!("the server says: {what}"), NEXT));
        }
        let tally = Tally::of(&message)?;
        if tally.interval != next || tally.received < 2 || tally.span_s <= 0.0 {
            return Err(Fault::failed(format!("too few datagrams of interval {next} arrived to be timed"), NEXT));
        }
        let sent = sent.of(next);
        next += 1;
        t_s += tally.span_s;
        received += tally.received;
        context.sample("udp_bytes_per_s", t_s, (tally.received * size as u64) as f64 / tally.span_s)?;
        context.sample("udp_loss_ratio", t_s, (sent as f64 - tally.received as f64) / sent as f64)?;
        if let Some(jitter_s) = tally.jitter_s {
            context.sample("udp_jitter_s", t_s, jitter_s)?;
        }
    }
    context.out.note("datagrams_received", received)?;
    if next == sent.intervals() { Ok(()) } else { Err(Fault::failed("the last interval did not arrive", NEXT)) }
}
