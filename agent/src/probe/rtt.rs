//! Round-trip time of a small message, one in flight, blocking calls on both sides.
//!
//! `interval_s` is the spacing of the messages; 0 sends the next as soon as the last came back (a closed loop). The
//! idle round trip (spaced) and the busy one are different properties of a network: a spaced one includes the wake-up
//! of sleeping CPUs. A spaced loop is open: each time counts from the scheduled send time of its message, so that an
//! answer which takes longer than the spacing also lengthens the times of the messages that had to wait for it.
//! Excludes connecting. A lost datagram is counted in a note, not as a time, and so are the slots that passed during
//! the wait for it.

use std::io::ErrorKind::{TimedOut, UnexpectedEof, WouldBlock};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Context, DURATION, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::caps::{Demand, Item};
use crate::fault::{Fault, OrFault};
use crate::net::Control;
use crate::pace::{self, Pace};
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, RECEIVER_DEPTH_S, SENDER_DEPTH_S, Tolerance};
use crate::{net, pin};

mod ping;

use ping::{Pinger, WARM_UP};

pub const PROBE: Probe = Probe {
    name: "rtt",
    roles: PAIR,
    params: &[
        Param { name: "protocol", default: "tcp", kind: Kind::Choice(&["tcp", "udp"]) },
        Param { name: "size_bytes", default: "64", kind: Kind::Whole(1, 65_507) },
        Param { name: "interval_s", default: "0", kind: Kind::Seconds(0.0, 20.0) },
        DURATION,
        PATH,
    ],
    metrics: &[Metric { name: "rtt_s", unit: "s", params: &["path", "protocol", "size_bytes"] }],
    run,
};

const NEXT: &str = "see that the peer runs and can be reached";
/// A datagram that has not come back after this time is lost.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// Share of the time for which caps may hold a closed loop back: by the client's caps, and by the server's.
const CLIENT_TOLERANCE: f64 = 0.01;
const SERVER_TOLERANCE: f64 = 0.1;

fn run(context: &Context) -> Result<(), Fault> {
    match context.job.role {
        Role::Server => serve(context),
        _ => measure(context),
    }
}

/// Creates the limiter: a round trip is two messages of the size. A spaced loop stays below the caps, or is refused.
fn limiter(context: &Context) -> Result<Arc<Limiter>, Fault> {
    let (size, spacing_s) = (context.whole("size_bytes").unwrap_or(1), context.seconds("interval_s"));
    let duration_s = context.seconds("duration_s");
    let spaced = (spacing_s > 0.0).then_some(1.0 / spacing_s);
    let items = spaced.map(|rate| (rate * duration_s).ceil() + WARM_UP as f64);
    let serves = context.job.role == Role::Server;
    let (share, depth_s) =
        if serves { (SERVER_TOLERANCE, RECEIVER_DEPTH_S) } else { (CLIENT_TOLERANCE, SENDER_DEPTH_S) };
    let held_s = if spaced.is_some() { f64::INFINITY } else { share * duration_s };
    // The client's limiter starts to count when the warm-up is over.
    let tolerance = Tolerance { held_s, warm_s: serves.then_some(0.0), depth_s };
    let demand = Demand { items_per_s: spaced, items, burst_s: None };
    context.limiter(Item { bytes: 2 * size, packets: 2 }, demand, tolerance)
}

/// A connection for both protocols: whole messages of one size.
enum Line {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Line {
    fn tcp(stream: Option<TcpStream>) -> Result<Line, Fault> {
        let stream = stream.ok_or_else(|| Fault::failed("no data connection", NEXT))?;
        stream.set_nodelay(true).or_fault("cannot set TCP_NODELAY", NEXT)?;
        Ok(Line::Tcp(stream))
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> std::io::Result<()> {
        match self {
            Line::Tcp(stream) => stream.write_all(message),
            Line::Udp(socket) => socket.send(message).map(drop),
        }
    }

    /// Receives a message into `buffer`; returns its length, 0 if the peer is gone.
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Line::Tcp(stream) => match stream.read_exact(buffer) {
                Ok(()) => Ok(buffer.len()),
                Err(error) if error.kind() == UnexpectedEof => Ok(0),
                Err(error) => Err(error),
            },
            Line::Udp(socket) => socket.recv(buffer),
        }
    }
}

/// Sends every message back until the client reports the end.
fn serve(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context)?;
    let listener = context.listen()?;
    let tcp = context.text("protocol") == "tcp";
    let (mut control, data) = listener.admit_client(u16::from(tcp))?;
    let line = if tcp { Line::tcp(data.into_iter().next())? } else { Line::Udp(net::admit_datagrams(&mut control)?) };
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    // The server uses the last CPU, the client the first: two cores if there are two.
    let cpu = context.job.cpus[context.job.cpus.len() - 1];
    let (tell, ended) = channel();
    let twin = Arc::clone(&limiter);
    // Ends with the process; until then it may wait in a receive.
    std::thread::spawn(move || drop(tell.send(echo(line, cpu, size, &twin))));
    let longest = net::IDLE + Duration::from_secs_f64(context.seconds("duration_s"));
    let word = await_word(&mut control, &ended, longest);
    limiter.stop();
    limiter.note(context.out)?;
    word.map_err(|fault| control.exchange_faults(limiter.blame(fault)))?;
    control.send(&json!({"done": true}))
}

/// Waits for the client's last message, but only briefly after the echo thread has ended.
fn await_word(control: &mut Control, ended: &Receiver<Result<(), Fault>>, longest: Duration) -> Result<(), Fault> {
    let (mut left, mut why) = (None, None);
    let goes_on = || {
        match ended.try_recv() {
            Ok(Ok(())) => left = Some(Instant::now()),
            Ok(Err(fault)) => why = Some(fault),
            Err(_) => {}
        }
        why.is_none() && left.is_none_or(|left| left.elapsed() < net::HANDSHAKE)
    };
    let word = control.wait(longest, goes_on);
    match why {
        Some(fault) => Err(fault),
        None => word.and_then(|()| control.receive()).map(|message| net::parse_fault(&message))?.map_or(Ok(()), Err),
    }
}

/// Answers until the client closes the line; a fault if a cap or silence ends it.
fn echo(mut line: Line, cpu: usize, size: usize, limiter: &Limiter) -> Result<(), Fault> {
    let mut buffer = vec![0_u8; size];
    pin::to(&[cpu])?;
    let mut granted = 0;
    loop {
        let length = match line.receive(&mut buffer) {
            Ok(length @ 1..) => length,
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut) => {
                return Err(Fault::failed("the client has gone silent", NEXT));
            }
            // The client has finished, or reports its own error.
            _ => return Ok(()),
        };
        if granted == 0 {
            granted = limiter.take(limiter.grant(), || true).ok_or_else(|| limiter.refusal())?;
        }
        if line.send(&buffer[..length]).is_err() {
            return Ok(());
        }
        granted -= 1;
        limiter.used(2 * size as u64);
    }
}

fn measure(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context)?;
    let tcp = context.text("protocol") == "tcp";
    let (mut control, data) = context.connect(u16::from(tcp))?;
    let line = if tcp {
        Line::tcp(data.into_iter().next())?
    } else {
        let socket = net::open_datagrams(&mut control)?;
        socket.set_read_timeout(Some(LOST_AFTER)).or_fault("cannot set a socket's limits", NEXT)?;
        Line::Udp(socket)
    };
    let (pinger, t_end) = match loops(context, line, &limiter) {
        Ok(looped) => looped,
        Err(fault) => {
            limiter.note(context.out)?;
            return Err(control.exchange_faults(limiter.blame(fault)));
        }
    };
    control.send(&json!({"done": true}))?;
    // A server that stopped answering early reports the reason.
    let word = control.receive()?;
    let reported = net::parse_fault(&word).map_or_else(|| pinger.report(context, t_end), Err);
    drop(pinger);
    limiter.note(context.out)?;
    reported
}

/// Sends messages back and forth for the requested time.
fn loops(context: &Context, line: Line, limiter: &Arc<Limiter>) -> Result<(Pinger, f64), Fault> {
    let line = Mutex::new(Some(line));
    let make = |_| {
        let line = line.lock().ok().and_then(|mut line| line.take());
        Pinger::new(context, line.ok_or_else(|| Fault::failed("no data connection", NEXT))?, Arc::clone(limiter))
    };
    let mut t_end = 0.0;
    let duration_s = context.seconds("duration_s");
    let pace = Pace {
        duration_s,
        interval_s: duration_s,
        threads: 1,
        cpus: &context.job.cpus[..1],
        wait: true,
        out: context.out,
    };
    let mut pingers = pace::run(&pace, make, |t_s, _| {
        t_end = t_s;
        Ok(())
    })?;
    let pinger = pingers.pop().ok_or_else(|| Fault::failed("no data connection", NEXT))?;
    Ok((pinger, t_end))
}
