//! Round-trip time of a small message, one in flight, blocking calls on both sides.
//!
//! `interval_s` is the spacing of the messages; 0 sends the next as soon as the last came back. The idle round trip
//! (a spaced one) and the busy one are different cells of a network: a spaced one pays for sleeping CPUs. Excludes
//! connecting. A lost datagram is counted in a note, not as a time.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use serde_json::json;

use super::{Context, DURATION, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault};
use crate::job::Role;
use crate::pace::{self, Pace, Work};
use crate::record::Recorder;
use crate::{net, pin};

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
/// A datagram that has not come back by then is lost.
const LOST_AFTER: Duration = Duration::from_secs(1);
const WARM_UP: usize = 50;

fn run(context: &Context) -> Result<(), Fault> {
    match context.job.role {
        Role::Server => serve(context),
        _ => measure(context),
    }
}

/// One kind of connection for both protocols: whole messages of one size.
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

    /// Receives a message into `buffer`; returns its length, 0 when the peer is gone.
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Line::Tcp(stream) => match stream.read_exact(buffer) {
                Ok(()) => Ok(buffer.len()),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
                Err(error) => Err(error),
            },
            Line::Udp(socket) => socket.recv(buffer),
        }
    }
}

/// Sends every message back until the client says that it is done.
fn serve(context: &Context) -> Result<(), Fault> {
    let (peer, secret) = context.peer()?;
    let door = net::Door::open(peer, secret)?;
    context.out.ready(&door.address()?.to_string())?;
    let tcp = context.text("protocol") == "tcp";
    let (mut control, data) = door.admit_client(u16::from(tcp))?;
    let line =
        if tcp { Line::tcp(data.into_iter().next())? } else { Line::Udp(net::admit_datagrams(peer, &mut control)?) };
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    // The server's CPU is the last one, the client's the first: two cores where there are two.
    let cpu = context.job.cpus[context.job.cpus.len() - 1];
    // Ends with the process; until then it may wait in a receive.
    std::thread::spawn(move || echo(line, cpu, size));
    control.patience(net::IDLE + Duration::from_secs_f64(context.seconds("duration_s")))?;
    control.receive().map(drop)
}

fn echo(mut line: Line, cpu: usize, size: usize) {
    let mut buffer = vec![0_u8; size];
    if pin::to(&[cpu]).is_err() {
        return; // the client sees the connection close
    }
    // An error ends the connection, and the client reports what it sees of it.
    while let Ok(length @ 1..) = line.receive(&mut buffer) {
        if line.send(&buffer[..length]).is_err() {
            return;
        }
    }
}

fn measure(context: &Context) -> Result<(), Fault> {
    let (peer, secret) = context.peer()?;
    let tcp = context.text("protocol") == "tcp";
    let (mut control, data) = net::connect(peer, secret, u16::from(tcp))?;
    let line = if tcp {
        Line::tcp(data.into_iter().next())?
    } else {
        let socket = net::open_datagrams(peer.address.ip(), &mut control)?;
        socket.set_read_timeout(Some(LOST_AFTER)).or_fault("cannot set a socket's limits", NEXT)?;
        Line::Udp(socket)
    };
    let line = std::sync::Mutex::new(Some(line));
    let make = |_| {
        let line = line.lock().ok().and_then(|mut line| line.take());
        Pinger::new(context, line.ok_or_else(|| Fault::failed("no data connection", NEXT))?)
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
    let pingers = pace::run(&pace, make, |t_s, _| {
        t_end = t_s;
        Ok(())
    })?;
    control.send(&json!({"done": true}))?;
    for pinger in &pingers {
        pinger.report(context, t_end)?;
    }
    Ok(())
}

struct Pinger {
    line: Line,
    message: Vec<u8>,
    answer: Vec<u8>,
    number: u64,
    spacing_ns: u64,
    next_ns: u64,
    missed_slots: u64,
    lost: u64,
    recorder: Recorder,
}

impl Pinger {
    fn new(context: &Context, line: Line) -> Result<Pinger, Fault> {
        let size = context.whole("size_bytes").unwrap_or(1) as usize;
        let mut pinger = Pinger {
            line,
            message: vec![0; size],
            answer: vec![0; size],
            number: 0,
            spacing_ns: 0,
            next_ns: 0,
            missed_slots: 0,
            lost: 0,
            recorder: Recorder::new(),
        };
        for _ in 0..WARM_UP {
            pinger.batch()?;
        }
        pinger.recorder = Recorder::new();
        pinger.lost = 0;
        pinger.spacing_ns = (context.seconds("interval_s") * 1e9) as u64;
        pinger.next_ns = now_ns() + pinger.spacing_ns;
        Ok(pinger)
    }

    /// Sleeps until the next slot; slots that the last answer outlasted are counted, not made up for.
    fn wait_for_slot(&mut self) {
        let now = now_ns();
        if now > self.next_ns {
            let late = (now - self.next_ns).div_ceil(self.spacing_ns);
            self.missed_slots += late;
            self.next_ns += late * self.spacing_ns;
        }
        std::thread::sleep(Duration::from_nanos(self.next_ns - now.min(self.next_ns)));
        self.next_ns += self.spacing_ns;
    }

    /// One round trip, ns; `None` when a datagram was lost. Answers to earlier messages are dropped.
    fn ping(&mut self) -> std::io::Result<Option<u64>> {
        let tagged = self.message.len().min(8);
        self.number += 1;
        self.message[..tagged].copy_from_slice(&self.number.to_le_bytes()[..tagged]);
        let start = now_ns();
        self.line.send(&self.message)?;
        loop {
            let received = self.line.receive(&mut self.answer);
            let end = now_ns();
            match received {
                Ok(0) => return Err(ErrorKind::ConnectionReset.into()),
                Ok(_) if self.answer[..tagged] == self.message[..tagged] => {
                    return Ok(Some(end - start));
                }
                Ok(_) => {}
                Err(error) => match (&self.line, error.kind()) {
                    (Line::Udp(_), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(None),
                    _ => return Err(error),
                },
            }
        }
    }

    fn report(&self, context: &Context, t_end: f64) -> Result<(), Fault> {
        if self.recorder.len() == 0 {
            return Err(Fault::failed("no message came back", NEXT));
        }
        context.out.note("round_trips", self.recorder.len())?;
        context.out.note("lost", self.lost)?;
        context.out.note("spacing_s", seconds(self.spacing_ns))?;
        context.out.note("missed_slots", self.missed_slots)?;
        context.hist("rtt_s", t_end, &self.recorder)
    }
}

impl Work for Pinger {
    fn batch(&mut self) -> Result<f64, Fault> {
        if self.spacing_ns > 0 {
            self.wait_for_slot();
        }
        match self.ping().or_fault("the connection broke", NEXT)? {
            Some(ns) => self.recorder.record_ns(ns),
            None => self.lost += 1,
        }
        Ok(1.0)
    }
}
