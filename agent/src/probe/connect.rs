//! TCP connections set up one after the other, and the time of each, from the call to the established connection.
//!
//! After the handshake of the trial the server opens one more port, on its one address, and accepts connections there
//! from the client's address alone, without reading or writing a byte. The client resets each connection, so that no
//! end has to remember it. Does not measure TLS, names, or several connections at once.

use std::io::ErrorKind::WouldBlock;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{Context, DURATION, INTERVAL, Metric, PAIR, PATH, Probe};
use crate::caps::{Demand, Item};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};
use crate::net::{self, number};
use crate::pace::{self, Pace, Work};
use crate::pin;
use crate::record::Recorder;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, RECEIVER_DEPTH_S, SENDER_DEPTH_S, Tolerance};

pub const PROBE: Probe = Probe {
    name: "connect",
    roles: PAIR,
    params: &[DURATION, INTERVAL, PATH],
    metrics: &[
        Metric { name: "connect_op_per_s", unit: "op/s", params: &["path"] },
        Metric { name: "connect_s", unit: "s", params: &["path"] },
    ],
    run,
};

const NEXT: &str = "see that the peer runs and can be reached";
/// A connection: SYN, SYN-ACK, ACK and RST, each with its headers.
const ITEM: Item = Item { bytes: 4 * 66, packets: 4 };
const PATIENCE: Duration = Duration::from_secs(2);
const TOLERANCE: f64 = 0.01;

fn run(context: &Context) -> Result<(), Fault> {
    match context.job.role {
        Role::Server => serve(context),
        _ => measure(context),
    }
}

fn limiter(context: &Context, depth_s: f64) -> Result<Arc<Limiter>, Fault> {
    let duration_s = context.seconds("duration_s");
    let tolerance = Tolerance { held_s: TOLERANCE * duration_s, warm_s: None, depth_s };
    context.limiter(ITEM, Demand::default(), tolerance)
}

/// Accepts the client's connections until it reports the end.
fn serve(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, RECEIVER_DEPTH_S)?;
    let listener = context.listen()?;
    let at = listener.address()?.ip();
    let (mut control, _) = listener.admit_client(0)?;
    let client = control.remote()?.ip().to_canonical();
    let gate = TcpListener::bind(SocketAddr::new(at, 0)).or_fault(format!("cannot listen on {at}"), NEXT)?;
    gate.set_nonblocking(true).or_fault("cannot set a socket's limits", NEXT)?;
    let port = gate.local_addr().or_fault("cannot read the address", NEXT)?.port();
    control.send(&json!({"port": port}))?;
    let longest = net::IDLE + Duration::from_secs_f64(context.seconds("duration_s"));
    let (accepted, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let cpu = context.job.cpus[context.job.cpus.len() - 1];
    let word = thread::scope(|scope| {
        let gatekeeper = scope.spawn(|| accept(&gate, client, cpu, &accepted, &over, &limiter));
        let word = control.wait(longest, || !gatekeeper.is_finished()).and_then(|()| control.receive());
        over.store(true, Relaxed);
        let kept = gatekeeper.join().unwrap_or_else(|_| Err(Fault::failed("the listener died", "report this")));
        kept.and(word)
    });
    limiter.note(context.out)?;
    let word = word.map_err(|fault| control.exchange_faults(fault))?;
    match net::parse_fault(&word) {
        Some(fault) => Err(fault),
        None => control.send(&json!({"accepted": accepted.load(Relaxed)})),
    }
}

/// Takes connections off the queue, and closes them; those of another address do not count.
fn accept(
    gate: &TcpListener,
    client: IpAddr,
    cpu: usize,
    accepted: &AtomicU64,
    over: &AtomicBool,
    limiter: &Limiter,
) -> Result<(), Fault> {
    pin::to(&[cpu])?;
    while !over.load(Relaxed) {
        match gate.accept() {
            Ok((_, from)) if from.ip().to_canonical() == client => {
                accepted.fetch_add(1, Relaxed);
                limiter.check_flood(1).ok_or_else(|| limiter.refusal())?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == WouldBlock => await_connection(gate),
            // Out of descriptors, or the caller hung up.
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
    Ok(())
}

/// Sleeps until a connection waits, for a moment at most.
fn await_connection(gate: &TcpListener) {
    let mut one = libc::pollfd { fd: gate.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    unsafe { libc::poll(&mut one, 1, 50) };
}

fn measure(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, SENDER_DEPTH_S)?;
    let (mut control, _) = context.connect(0)?;
    let port = number(&control.receive()?, "port")? as u16;
    let to = SocketAddr::new(control.remote()?.ip(), port);
    let pace = Pace {
        duration_s: context.seconds("duration_s"),
        interval_s: context.seconds("interval_s"),
        threads: 1,
        cpus: &context.job.cpus[..1],
        wait: true,
        out: context.out,
    };
    let caller = Mutex::new(Some(Caller { to, recorder: Recorder::new(), failed: 0, limiter: Arc::clone(&limiter) }));
    let make = |_| {
        let caller = caller.lock().ok().and_then(|mut caller| caller.take());
        caller.ok_or_else(|| Fault::failed("no caller", "report this"))
    };
    let mut t_end = 0.0;
    let callers = pace::run(&pace, make, |t_s, rate| {
        t_end = t_s;
        context.sample("connect_op_per_s", t_s, rate)
    });
    limiter.note(context.out)?;
    let callers = callers.map_err(|fault| control.exchange_faults(limiter.blame(fault)))?;
    control.send(&json!({"done": true}))?;
    let accepted = number(&control.receive()?, "accepted")?;
    let caller = callers.first().ok_or_else(|| Fault::failed("no caller", "report this"))?;
    context.out.note("connections", caller.recorder.len())?;
    context.out.note("connections_failed", caller.failed)?;
    context.out.note("connections_accepted", accepted as u64)?;
    context.hist("connect_s", t_end, &caller.recorder)
}

/// Sets up connections one after the other.
struct Caller {
    to: SocketAddr,
    recorder: Recorder,
    failed: u64,
    limiter: Arc<Limiter>,
}

impl Work for Caller {
    fn batch(&mut self) -> Result<f64, Fault> {
        self.limiter.take_operation(1).ok_or_else(|| self.limiter.refusal())?;
        let start = now_ns();
        let stream = TcpStream::connect_timeout(&self.to, PATIENCE);
        let end = now_ns();
        match stream {
            Ok(stream) => {
                self.recorder.record_ns(end - start);
                reset(&stream);
                Ok(1.0)
            }
            // A full queue at the other end is a slow one; a peer that is gone is seen over the control connection.
            Err(error) if self.failed >= 10 => Err(error).or_fault(format!("cannot connect to {}", self.to), NEXT),
            Err(_) => {
                self.failed += 1;
                Ok(0.0)
            }
        }
    }
}

/// Has the kernel reset the connection when it is closed.
fn reset(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let length = size_of::<libc::linger>() as u32;
    let at = (&raw const linger).cast();
    unsafe { libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, at, length) };
}
