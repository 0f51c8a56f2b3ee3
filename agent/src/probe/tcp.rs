//! Bulk TCP: payload bytes received a second, over one or more connections, client to server.
//!
//! The server counts what its reads return and tells the client over the control connection; the client keeps its
//! sockets full. Headers and retransmissions are not counted. Says nothing of latency or of many short connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Context, DURATION, INTERVAL, Kind, Metric, PAIR, PATH, Param, Probe};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};
use crate::job::Role;
use crate::net::{self, Control, number};
use crate::pace::{self, Pace, Work};
use crate::{pin, quiet};

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
    ],
    metrics: &[Metric { name: "tcp_bytes_per_s", unit: "B/s", params: &["path", "size_bytes", "streams"] }],
    run,
};

const NEXT: &str = "see that the peer runs and can be reached";
/// Reads between two clock reads; with large reads the kernel's copy dwarfs both.
const READS: usize = 4;

fn run(context: &Context) -> Result<(), Fault> {
    match context.job.role {
        Role::Server => serve(context),
        _ => measure(context),
    }
}

fn serve(context: &Context) -> Result<(), Fault> {
    let (peer, secret) = context.peer()?;
    let door = net::Door::open(peer, secret)?;
    context.out.ready(&door.address()?.to_string())?;
    let streams = context.whole("streams").unwrap_or(1) as usize;
    let (mut control, data) = door.admit_client(streams as u16)?;
    control.receive()?; // the client's writers are about to start
    let data = Mutex::new(data.into_iter().map(Some).collect::<Vec<_>>());
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    let warm_ns = (context.seconds("warmup_s") * 1e9) as u64;
    let make = |i: usize| {
        let stream = data.lock().ok().and_then(|mut data| data.get_mut(i)?.take());
        Sink::new(stream.ok_or_else(|| Fault::failed("no data connection", NEXT))?, size, warm_ns)
    };
    // From the last CPU down, the client from the first up: two cores where there are two.
    let cpus: Vec<usize> = context.job.cpus.iter().rev().copied().collect();
    let (duration_s, interval_s) = (context.seconds("duration_s"), context.seconds("interval_s"));
    let pace = Pace { duration_s, interval_s, threads: streams, cpus: &cpus, wait: false, out: context.out };
    let run = pace::run(&pace, make, |t_s, rate| control.send(&json!({"t_s": t_s, "rate": rate})));
    if let Err(fault) = &run {
        // The client reports it too; if even that fails it sees the connection close.
        let _ = control.send(&json!({"fault": fault.what}));
    }
    run?;
    control.send(&json!({"done": true}))?;
    control.receive().map(drop)
}

/// Reads and drops.
struct Sink {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Sink {
    fn new(stream: TcpStream, size: usize, warm_ns: u64) -> Result<Sink, Fault> {
        let mut sink = Sink { stream, buffer: vec![1; size] };
        sink.read()?; // the warm-up begins with the first byte
        let start = now_ns();
        while now_ns() - start < warm_ns {
            sink.read()?;
        }
        Ok(sink)
    }

    #[inline]
    fn read(&mut self) -> Result<usize, Fault> {
        match self.stream.read(&mut self.buffer) {
            Ok(0) => Err(Fault::failed("the client closed a stream", NEXT)),
            other => other.or_fault("a stream broke", NEXT),
        }
    }
}

impl Work for Sink {
    /// Buffers that fill while other streams warm up would count as received in no time.
    fn lead_in(&mut self) -> Result<bool, Fault> {
        self.read().map(|_| true)
    }

    fn batch(&mut self) -> Result<f64, Fault> {
        (0..READS).try_fold(0.0, |bytes, _| Ok(bytes + self.read()? as f64))
    }
}

fn measure(context: &Context) -> Result<(), Fault> {
    let (peer, secret) = context.peer()?;
    let streams = context.whole("streams").unwrap_or(1) as usize;
    let (mut control, data) = net::connect(peer, secret, streams as u16)?;
    let cpus = &context.job.cpus;
    let used = &cpus[..cpus.len().min(streams)];
    quiet::wait(context.out, used)?;
    pace::note_share(context.out, streams, used.len())?;
    let before = quiet::counts(used);
    control.send(&json!({"go": true}))?;
    let size = context.whole("size_bytes").unwrap_or(1) as usize;
    let ends = data.iter().map(TcpStream::try_clone).collect::<Result<Vec<_>, _>>();
    let ends = ends.or_fault("cannot duplicate a connection", NEXT)?;
    let collected = std::thread::scope(|scope| {
        for (i, stream) in data.into_iter().enumerate() {
            let cpu = cpus[i % cpus.len()];
            scope.spawn(move || fill(stream, size, cpu));
        }
        let collected = collect(context, &mut control);
        // Writers end by the error that this gives them.
        ends.iter().for_each(|end| drop(end.shutdown(std::net::Shutdown::Both)));
        collected
    });
    collected?;
    quiet::counts(used).note_since(&before, context.out)?;
    control.send(&json!({"done": true}))
}

/// Writes until the connection ends.
fn fill(mut stream: TcpStream, size: usize, cpu: usize) {
    let message = vec![0x5a_u8; size];
    if pin::to(&[cpu]).is_err() {
        return; // the server sees the stream close
    }
    while stream.write_all(&message).is_ok() {}
}

/// Turns the server's counters into samples until it says that it is done.
fn collect(context: &Context, control: &mut Control) -> Result<(), Fault> {
    // The longest silence there may be: the warm-up and one interval, and then some.
    let interval_s = context.seconds("interval_s").min(context.seconds("duration_s"));
    control.patience(net::IDLE + Duration::from_secs_f64(interval_s + context.seconds("warmup_s")))?;
    loop {
        let message = control.receive()?;
        if message.get("done").is_some() {
            return Ok(());
        }
        if let Some(what) = message.get("fault").and_then(Value::as_str) {
            return Err(Fault::failed(format!("the server says: {what}"), NEXT));
        }
        context.sample("tcp_bytes_per_s", number(&message, "t_s")?, number(&message, "rate")?)?;
    }
}
