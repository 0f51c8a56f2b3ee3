//! Bulk TCP: payload bytes received per second, over one or more connections, from client to server.
//!
//! The server counts the bytes that its reads return and reports them over the control connection; the client keeps
//! its sockets full. Headers and retransmissions are not counted. Does not measure latency or many short connections.

use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Context, DIRECTION, DURATION, INTERVAL, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::caps::{Demand, Item};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};
use crate::net::{self, Control, number};
use crate::pace::{self, Pace, Work};
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, RECEIVER_DEPTH_S, SENDER_DEPTH_S, Tolerance};
use crate::wire::{Out, finite};
use crate::{disturbance, pin};

pub const PROBE: Probe = Probe {
    name: "tcp",
    roles: PAIR,
    params: &[
        Param { name: "streams", default: "1", kind: Kind::Whole(1, 256) },
        DURATION,
        INTERVAL,
        Param { name: "warmup_s", default: "0.1", kind: Kind::Seconds(0.0, 60.0) },
        PATH,
        Param { name: "size_bytes", default: "131072", kind: Kind::Whole(1, 16 << 20) },
        Param { name: "window_bytes", default: "default", kind: Kind::ImpliedWholeOr(1024, 1 << 30, "default") },
        DIRECTION,
    ],
    metrics: &[Metric {
        name: "tcp_bytes_per_s",
        unit: "B/s",
        params: &["direction", "path", "size_bytes", "streams", "window_bytes"],
    }],
    run,
};

const NEXT: &str = "see that the peer runs and can be reached";
/// Reads between two clock reads; with large reads, the kernel's copy takes far longer than both.
const READS: usize = 4;

/// Share of the measured time for which a rate cap may hold traffic back: for senders, and for receivers.
const SENDER_TOLERANCE: f64 = 0.01;
const RECEIVER_TOLERANCE: f64 = 0.1;
/// The smallest grant of a sender; writes longer than a piece are split if there are caps.
const GRANT_BYTES: usize = 256 * 1024;
const PIECE_BYTES: usize = 1 << 20;
/// The smallest number of bytes that a receiver pays for.
const PAY_BYTES: u64 = 4096;
/// A writer whose network accepts nothing checks at this interval whether it may still send.
const LOOK: Duration = Duration::from_millis(500);
/// Time for the other side to finish after a cap has ended the trial here.
const LEAVE: Duration = Duration::from_secs(1);

fn run(context: &Context) -> Result<(), Fault> {
    match context.job.role {
        Role::Server => serve(context),
        _ => measure(context),
    }
}

fn limiter(context: &Context, share: f64, depth_s: f64) -> Result<Arc<Limiter>, Fault> {
    let (duration_s, warmup_s) = (context.seconds("duration_s"), context.seconds("warmup_s"));
    let streams = context.whole("streams").unwrap_or(1) as f64;
    let tolerance = Tolerance { held_s: share * duration_s * streams, warm_s: Some(warmup_s), depth_s };
    let demand = Demand { burst_s: Some(duration_s + warmup_s), ..Demand::default() };
    context.limiter(Item { bytes: 1, packets: 0 }, demand, tolerance)
}

fn serve(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, RECEIVER_TOLERANCE, RECEIVER_DEPTH_S)?;
    let window = context.whole("window_bytes");
    let listener = context.listen()?;
    if let Some(bytes) = window {
        listener.receive_buffer(bytes)?; // accepted connections inherit it, and the window's scale with it
    }
    let streams = context.whole("streams").unwrap_or(1) as usize;
    let (mut control, data) = listener.admit_client(streams as u16)?;
    control.receive()?; // the client's writers are about to start
    let buffer = data.first().map_or(0, |stream| net::buffer_bytes(stream, libc::SO_RCVBUF));
    let data = Mutex::new(data.into_iter().map(Some).collect::<Vec<_>>());
    let make = |i: usize| {
        let stream = data.lock().ok().and_then(|mut data| data.get_mut(i)?.take());
        let stream = stream.ok_or_else(|| Fault::failed("no data connection", NEXT))?;
        Sink::new(stream, context, Arc::clone(&limiter))
    };
    // The server uses the last CPUs first, the client the first ones: two cores if there are two.
    let cpus: Vec<usize> = context.job.cpus.iter().rev().copied().collect();
    let (duration_s, interval_s) = (context.seconds("duration_s"), context.seconds("interval_s"));
    let pace = Pace { duration_s, interval_s, threads: streams, cpus: &cpus, wait: false, out: context.out };
    let run = pace::run(&pace, make, |t_s, rate| control.send(&json!({"t_s": t_s, "rate": rate}))).map(drop);
    limiter.note(context.out)?;
    // The client reports the fault too; if that fails, it sees the connection close.
    run.map_err(|fault| control.exchange_faults(fault))?;
    control.send(&json!({"done": true, "receive_buffer_bytes": buffer}))?;
    control.receive().map(|message| net::parse_fault(&message))?.map_or(Ok(()), Err)
}

/// Reads data and discards them.
struct Sink {
    stream: TcpStream,
    buffer: Vec<u8>,
    limiter: Arc<Limiter>,
    came: u64,
    unpaid: u64,
}

impl Sink {
    fn new(stream: TcpStream, context: &Context, limiter: Arc<Limiter>) -> Result<Sink, Fault> {
        let size = context.whole("size_bytes").unwrap_or(1) as usize;
        let warm_ns = (context.seconds("warmup_s") * 1e9) as u64;
        let mut sink = Sink { stream, buffer: vec![1; size], limiter, came: 0, unpaid: 0 };
        sink.read()?; // the warm-up begins with the first byte
        let start = now_ns();
        while now_ns() - start < warm_ns {
            sink.read()?;
        }
        Ok(sink)
    }

    #[inline]
    fn read(&mut self) -> Result<usize, Fault> {
        let got = match self.stream.read(&mut self.buffer) {
            Ok(0) => return Err(Fault::failed("the client closed a stream", NEXT)),
            other => other.or_fault("a stream broke", NEXT)?,
        };
        self.unpaid += got as u64;
        if self.unpaid >= PAY_BYTES {
            self.pay()?;
        }
        Ok(got)
    }

    #[inline]
    fn pay(&mut self) -> Result<(), Fault> {
        let bytes = std::mem::take(&mut self.unpaid);
        self.came += bytes;
        self.limiter.count_received(bytes).ok_or_else(|| self.limiter.refusal())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.limiter.used(self.came + self.unpaid);
    }
}

impl Work for Sink {
    /// Keeps reading, because buffers that fill while other streams warm up would later count as received in no time.
    fn lead_in(&mut self) -> Result<bool, Fault> {
        self.read().map(|_| true)
    }

    fn batch(&mut self) -> Result<f64, Fault> {
        (0..READS).try_fold(0.0, |bytes, _| Ok(bytes + self.read()? as f64))
    }
}

fn measure(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, SENDER_TOLERANCE, SENDER_DEPTH_S)?;
    let streams = context.whole("streams").unwrap_or(1) as usize;
    let (mut control, data) = context.connect(streams as u16)?;
    if let Some(bytes) = context.whole("window_bytes") {
        data.iter().try_for_each(|stream| net::set_buffer(stream, libc::SO_SNDBUF, bytes))?;
    }
    context
        .out
        .note("send_buffer_bytes", data.first().map_or(0, |stream| net::buffer_bytes(stream, libc::SO_SNDBUF)))?;
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    let grant = |want: u64, stream: &TcpStream| limiter.take(want, || net::unsent(stream) == 0);
    transfer(context, &mut control, data, &limiter, size, grant, |control, ends| {
        collect(context, control, &limiter, ends).map(|()| limiter.spoilt())
    })
}

/// Keeps all connections full with writes of `size` bytes as `grant` allows, until `collect` has what it needs of the
/// server; it also returns the fault of the limiter that spoils the result, if any.
pub fn transfer(
    context: &Context,
    control: &mut Control,
    data: Vec<TcpStream>,
    limiter: &Limiter,
    size: usize,
    grant: impl Fn(u64, &TcpStream) -> Option<u64> + Sync,
    collect: impl FnOnce(&mut Control, &[TcpStream]) -> Result<Option<Fault>, Fault>,
) -> Result<(), Fault> {
    let cpus = &context.job.cpus;
    let used = &cpus[..cpus.len().min(data.len())];
    disturbance::wait(context.out, used)?;
    pace::note_share(context.out, data.len(), used.len())?;
    let before = disturbance::counts(used);
    control.send(&json!({"go": true}))?;
    let ends = duplicates(&data)?;
    let collected = std::thread::scope(|scope| {
        for (i, stream) in data.into_iter().enumerate() {
            let (cpu, grant) = (cpus[i % cpus.len()], &grant);
            scope.spawn(move || fill(stream, size, cpu, limiter, grant));
        }
        let collected = collect(control, &ends);
        limiter.stop();
        // The error that this causes ends the writers.
        ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
        collected
    });
    limiter.note(context.out)?;
    let collected = collected.map_err(|fault| limiter.blame(fault)).and_then(|spoilt| spoilt.map_or(Ok(()), Err));
    collected.map_err(|fault| control.exchange_faults(fault))?;
    disturbance::counts(used).note_since(&before, context.out)?;
    control.send(&json!({"done": true}))
}

pub fn duplicates(data: &[TcpStream]) -> Result<Vec<TcpStream>, Fault> {
    let ends = data.iter().map(TcpStream::try_clone).collect::<Result<Vec<_>, _>>();
    ends.or_fault("cannot duplicate a connection", NEXT)
}

/// Returns the server's next message, which comes within `longest`; the server's fault if it sends one. After a cap has
/// ended the trial here, the server has a moment to finish.
pub fn next_message(control: &mut Control, limiter: &Limiter, longest: Duration) -> Result<Value, Fault> {
    let mut over = None;
    let goes_on = || limiter.fault().is_none() || over.get_or_insert_with(Instant::now).elapsed() < LEAVE;
    control.wait(longest, goes_on)?;
    let message = control.receive()?;
    net::parse_fault(&message).map_or(Ok(message), Err)
}

/// Writes what `grant` allows until the connection closes, a cap is reached or nothing more is granted.
pub fn fill(
    mut stream: TcpStream,
    size: usize,
    cpu: usize,
    limiter: &Limiter,
    grant: impl Fn(u64, &TcpStream) -> Option<u64>,
) {
    let message = vec![0x5a_u8; if limiter.free() { size } else { size.min(PIECE_BYTES) }];
    if pin::to(&[cpu]).is_err() || stream.set_write_timeout(Some(LOOK)).is_err() {
        return; // the server sees the stream close
    }
    let want = (GRANT_BYTES / message.len()).max(1) * message.len();
    let (mut sent, mut granted, mut silent) = (0, 0_u64, Duration::ZERO);
    while silent < net::IDLE {
        if granted == 0 {
            match grant(want as u64, &stream) {
                Some(bytes) => granted = bytes,
                None => break,
            }
        }
        let piece = message.len().min(usize::try_from(granted).unwrap_or(usize::MAX));
        match stream.write(&message[..piece]) {
            Ok(bytes) => {
                (sent, granted, silent) = (sent + bytes as u64, granted - bytes as u64, Duration::ZERO);
            }
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) && limiter.allows() => {
                silent += LOOK;
            }
            Err(_) => break,
        }
    }
    limiter.used(sent);
    let _ = stream.shutdown(Shutdown::Write); // ignored: the connection may have ended before
}

/// What the kernel knows of the connections, read with each sample of the server: TCP_INFO.
#[derive(Default)]
pub struct States {
    rtt_us: Vec<u32>,
    window_bytes: Vec<u64>,
    retransmits: u64,
}

impl States {
    pub fn add(&mut self, data: &[TcpStream]) {
        let infos: Vec<libc::tcp_info> = data.iter().filter_map(net::tcp_info).collect();
        self.retransmits = infos.iter().map(|info| u64::from(info.tcpi_total_retrans)).sum();
        for info in infos {
            self.rtt_us.push(info.tcpi_rtt);
            self.window_bytes.push(u64::from(info.tcpi_snd_cwnd) * u64::from(info.tcpi_snd_mss));
        }
    }

    /// Notes the retransmitted segments of all connections, and the middle of their round trips and windows.
    pub fn note(&mut self, out: &Out) -> Result<(), Fault> {
        if self.rtt_us.is_empty() {
            return Ok(());
        }
        self.rtt_us.sort_unstable();
        self.window_bytes.sort_unstable();
        let middle = self.rtt_us.len() / 2;
        out.note("tcp_retransmits", self.retransmits)?;
        out.note("tcp_rtt_s", finite(f64::from(self.rtt_us[middle]) * 1e-6))?;
        out.note("tcp_rtt_max_s", finite(f64::from(self.rtt_us[self.rtt_us.len() - 1]) * 1e-6))?;
        out.note("tcp_congestion_window_bytes", self.window_bytes[middle])
    }
}

/// Turns the server's counters into samples until the server reports the end.
fn collect(context: &Context, control: &mut Control, limiter: &Limiter, data: &[TcpStream]) -> Result<(), Fault> {
    let mut states = States::default();
    // The longest possible silence: the warm-up and one interval, plus a margin.
    let interval_s = context.seconds("interval_s").min(context.seconds("duration_s"));
    let longest = net::IDLE + Duration::from_secs_f64(interval_s + context.seconds("warmup_s"));
    loop {
        let message = next_message(control, limiter, longest)?;
        states.add(data);
        if message.get("done").is_some() {
            let buffer = message.get("receive_buffer_bytes").and_then(Value::as_u64).unwrap_or(0);
            context.out.note("receive_buffer_bytes", buffer)?;
            return states.note(context.out);
        }
        context.sample("tcp_bytes_per_s", number(&message, "t_s")?, number(&message, "rate")?)?;
    }
}
