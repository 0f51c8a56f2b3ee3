//! Round-trip time of a small message, one in flight, blocking calls on both sides.
//!
//! `interval_s` is the spacing of the messages; 0 sends the next as soon as the last came back (a closed loop). The idle
//! round trip (a spaced one) and the busy one are different things of a network: a spaced one pays for sleeping CPUs.
//! A spaced loop is open: each time counts from when its message was to leave, so that an answer which outlasts the
//! spacing also lengthens those that had to wait for it. Excludes connecting. A lost datagram is counted in a note, not
//! as a time, and so are the slots that passed while it was waited for.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use serde_json::json;

use super::{Context, DURATION, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::clock::{now_ns, seconds, wait_until};
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
    duration_ns: u64,
    /// When the next message of an open loop is to leave, and when none is any more; set by the first.
    next_ns: u64,
    end_ns: u64,
    /// Sent after their time, and never sent.
    late: u64,
    missed: u64,
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
            duration_ns: (context.seconds("duration_s") * 1e9) as u64,
            next_ns: 0,
            end_ns: 0,
            late: 0,
            missed: 0,
            lost: 0,
            recorder: Recorder::new(),
        };
        for _ in 0..WARM_UP {
            pinger.batch()?;
        }
        pinger.recorder = Recorder::new();
        pinger.lost = 0;
        pinger.spacing_ns = (context.seconds("interval_s") * 1e9) as u64;
        // Without this a sleep may end 50 us late on top of all else.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        Ok(pinger)
    }

    /// Waits for the time of the next message and returns it; `None` when that is after the run's end.
    fn await_slot(&mut self) -> Option<u64> {
        let now = now_ns();
        if self.end_ns == 0 {
            (self.next_ns, self.end_ns) = (now, now + self.duration_ns);
        }
        let slot = self.next_ns;
        if slot >= self.end_ns {
            wait_until(self.end_ns);
            return None;
        }
        self.late += u64::from(now > slot);
        self.next_ns += self.spacing_ns;
        wait_until(slot);
        Some(slot)
    }

    /// Gives up the slots before `until_ns` that have not been sent.
    fn miss(&mut self, until_ns: u64) {
        if self.spacing_ns > 0 && until_ns > self.next_ns {
            let slots = (until_ns - self.next_ns).div_ceil(self.spacing_ns);
            self.missed += slots;
            self.next_ns += slots * self.spacing_ns;
        }
    }

    /// One round trip, from `slot` or else from now, ns; `None` when a datagram was lost. Answers to earlier messages
    /// are dropped.
    fn ping(&mut self, slot: Option<u64>) -> std::io::Result<Option<u64>> {
        let tagged = self.message.len().min(8);
        self.number += 1;
        self.message[..tagged].copy_from_slice(&self.number.to_le_bytes()[..tagged]);
        let start = slot.unwrap_or_else(now_ns);
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
        context.out.note("loop", if self.spacing_ns > 0 { "open" } else { "closed" })?;
        context.out.note("late", self.late)?;
        context.out.note("missed", self.missed)?;
        context.hist("rtt_s", t_end, &self.recorder)
    }
}

impl Work for Pinger {
    fn batch(&mut self) -> Result<f64, Fault> {
        let mut slot = None;
        if self.spacing_ns > 0 {
            slot = self.await_slot();
            if slot.is_none() {
                return Ok(0.0);
            }
        }
        match self.ping(slot).or_fault("the connection broke", NEXT)? {
            Some(ns) => self.recorder.record_ns(ns),
            None => {
                self.lost += 1;
                self.miss(now_ns().min(self.end_ns));
            }
        }
        Ok(1.0)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.miss(self.end_ns);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A peer that holds each answer back for 12 ms, and a pinger that sends every 5 ms for 30 ms.
    fn slow_line() -> Pinger {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        std::thread::spawn(move || {
            let mut message = [0; 8];
            while server.read_exact(&mut message).is_ok() {
                std::thread::sleep(Duration::from_millis(12));
                server.write_all(&message).unwrap();
            }
        });
        Pinger {
            line: Line::Tcp(client),
            message: vec![0; 8],
            answer: vec![0; 8],
            number: 0,
            spacing_ns: 5_000_000,
            duration_ns: 30_000_000,
            next_ns: 0,
            end_ns: 0,
            late: 0,
            missed: 0,
            lost: 0,
            recorder: Recorder::new(),
        }
    }

    #[test]
    fn an_open_loop_counts_from_when_a_message_was_to_leave() {
        let mut pinger = slow_line();
        let start = now_ns();
        while now_ns() - start < pinger.duration_ns {
            pinger.batch().unwrap();
        }
        pinger.finish().unwrap();
        // Sent at 0, 12 and 24 ms in place of 0, 5 and 10: answered after 12, 19 and 26 ms.
        let (sent, longest_ns) = (pinger.recorder.len(), pinger.recorder.longest_ns());
        assert!((2..=3).contains(&sent) && pinger.late == sent - 1, "{sent} sent, {} late", pinger.late);
        assert_eq!(pinger.missed, 6 - sent, "every slot of the run is sent or missed");
        assert!(longest_ns >= 12_000_000 + 7_000_000 * (sent - 1) - 100_000, "{longest_ns}");
        assert_eq!(pinger.batch().unwrap(), 0.0, "after its end it sends nothing");
    }

    #[test]
    fn slots_that_pass_behind_a_lost_message_are_missed() {
        let mut pinger = slow_line();
        (pinger.next_ns, pinger.end_ns) = (100, 40_000_000);
        pinger.miss(100);
        assert_eq!(pinger.missed, 0);
        pinger.miss(5_000_101);
        assert_eq!((pinger.missed, pinger.next_ns), (2, 10_000_100));
    }
}
