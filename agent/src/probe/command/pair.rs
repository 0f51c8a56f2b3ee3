//! A line on the client's machine, and perhaps one on the server's that listens for it on one port of one address.
//!
//! The server starts its line once the client has proved the secret, and ends it when the client has finished or is
//! gone, when its limit is reached, or when anybody but the client connects to its port. Both lines read what they need
//! from their environment: `CLOUDCMP_PEER` and `CLOUDCMP_ADDRESS` are the addresses of the other and of this machine,
//! `CLOUDCMP_PORT` is the server's port, and `CLOUDCMP_BITS_PER_S` is the rate that the job asks for, or else the one
//! that the caps allow, 0 without one.

use std::ffi::OsString;
use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::workspace::Workspace;
use super::{ended, must_end_well, output, program};
use crate::caps::{Caps, Demand, Item};
use crate::disturbance;
use crate::fault::{Fault, OrFault};
use crate::net::{self, Control, number};
use crate::probe::Context;
use crate::supervisor::{self, Done, How};

const NEXT: &str = "see that the peer runs and can be reached";
/// The longest time that a server's line may take to listen, and the longest that it may take to end by itself.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);
const ENDS_WITHIN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(5);
/// A cap at this rate or above it is none: no network of a machine reaches it.
const UNREACHED_BYTES_PER_S: f64 = 1e11;
/// States of a socket in /proc/net/tcp.
const ESTABLISHED: &str = "01";
const LISTENING: &str = "0A";

pub fn serve(context: &Context) -> Result<(), Fault> {
    let (mut control, _) = context.listen()?.admit_client(0)?;
    answer(context, &mut control).map_err(|fault| control.exchange_faults(fault))
}

/// Runs the server's line for as long as the client needs it.
fn answer(context: &Context, control: &mut Control) -> Result<(), Fault> {
    admit(context)?;
    let line = context.text("serve");
    if line.is_empty() {
        control.send(&json!({"port": 0}))?;
        let word = await_client(context, control, || true);
        return part(control, word);
    }
    let workspace = Workspace::new(context)?;
    program::prepare(context, &workspace)?;
    let (own, peer) = (control.local()?.ip().to_canonical(), control.remote()?.ip().to_canonical());
    let port = free_port(own)?;
    let (over, stranger) = (AtomicBool::new(false), AtomicBool::new(false));
    let word = thread::scope(|scope| {
        let running = scope.spawn(|| workspace.inside_with(line, environ(context, own, peer, port)));
        let word = await_port(port, || running.is_finished()).and_then(|()| {
            scope.spawn(|| guard(port, peer, &over, &stranger));
            control.send(&json!({"port": port}))?;
            await_client(context, control, || !stranger.load(Relaxed))
        });
        let until = Instant::now() + if word.is_ok() { ENDS_WITHIN } else { Duration::ZERO };
        while !running.is_finished() && Instant::now() < until {
            thread::sleep(LOOK);
        }
        over.store(true, Relaxed);
        let by_itself = running.is_finished();
        supervisor::end_own();
        let done = running.join().unwrap_or_else(|_| Err(Fault::failed("the server died", "report this")));
        if by_itself { must_serve_well(done, word) } else { word }
    });
    if stranger.load(Relaxed) {
        return Err(Fault::invalid("a stranger connected to the server's port", "close it to other machines"));
    }
    part(control, word)
}

/// Reports the end to the client, or returns the reason why there is none.
fn part(control: &mut Control, word: Result<(), Fault>) -> Result<(), Fault> {
    word.and_then(|()| control.send(&json!({"done": true})))
}

/// Returns the fault of a server's line that ended by itself, otherwise what was known before.
fn must_serve_well(done: Result<Done, Fault>, word: Result<(), Fault>) -> Result<(), Fault> {
    let done = done?;
    match done.how {
        How::Exit(0) => word,
        How::Exit(127) => must_end_well("serve", &done),
        _ => Err(Fault::failed(ended("serve", &done), "try the line on such a machine")),
    }
}

/// Waits for the client's last message, or for the end of its connection.
fn await_client(context: &Context, control: &mut Control, goes_on: impl FnMut() -> bool) -> Result<(), Fault> {
    let longest = net::IDLE + Duration::from_secs_f64(context.seconds("limit_s"));
    control.wait(longest, goes_on)?;
    net::parse_fault(&control.receive()?).map_or(Ok(()), Err)
}

/// Waits until something listens on a port of this machine.
fn await_port(port: u16, ended: impl Fn() -> bool) -> Result<(), Fault> {
    let until = Instant::now() + LISTENS_WITHIN;
    while !sockets(port).iter().any(|(_, state)| state == LISTENING) {
        if ended() {
            return Err(Fault::failed("serve ended before it listened", "try the line on such a machine"));
        }
        if Instant::now() > until {
            return Err(Fault::failed("serve does not listen on its port", "let it use $CLOUDCMP_PORT"));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Ends the server's line if the first that connects to its port is not the peer; a tool serves one at a time.
fn guard(port: u16, peer: IpAddr, over: &AtomicBool, stranger: &AtomicBool) {
    let peer = in_table(peer);
    while !over.load(Relaxed) {
        let connected: Vec<String> =
            sockets(port).into_iter().filter(|(_, state)| state == ESTABLISHED).map(|(remote, _)| remote).collect();
        if connected.iter().any(|remote| !peer.contains(remote)) {
            stranger.store(true, Relaxed);
            return supervisor::end_own();
        }
        if !connected.is_empty() {
            return;
        }
        thread::sleep(LOOK);
    }
}

/// Returns the other end's address and the state of each socket on a TCP port of this network, as /proc prints them.
fn sockets(port: u16) -> Vec<(String, String)> {
    let own = format!(":{port:04X}");
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let mut words = line.split_whitespace().skip(1);
            let (Some(local), Some(remote), Some(state)) = (words.next(), words.next(), words.next()) else { continue };
            if local.ends_with(&own) {
                let address = remote.split(':').next().unwrap_or_default();
                found.push((address.to_owned(), state.to_owned()));
            }
        }
    }
    found
}

/// Returns an address as /proc/net/tcp prints it, and as /proc/net/tcp6 does: words in this machine's byte order.
fn in_table(address: IpAddr) -> Vec<String> {
    let hex = |octets: &[u8]| {
        let words = octets.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        words.map(|word| format!("{word:08X}")).collect::<String>()
    };
    match address {
        IpAddr::V4(four) => vec![hex(&four.octets()), hex(&four.to_ipv6_mapped().octets())],
        IpAddr::V6(six) => vec![hex(&six.octets())],
    }
}

/// Returns a port of an address that nothing uses at this moment.
fn free_port(own: IpAddr) -> Result<u16, Fault> {
    let bound = TcpListener::bind((own, 0)).and_then(|listener| listener.local_addr());
    Ok(bound.or_fault("no port is free", NEXT)?.port())
}

pub fn measure(context: &Context) -> Result<(), Fault> {
    admit(context)?;
    let workspace = Workspace::new(context)?;
    program::prepare(context, &workspace)?;
    let (mut control, _) = context.connect(0)?;
    run(context, &workspace, &mut control).map_err(|fault| control.exchange_faults(fault))
}

/// Runs the client's line once the server is ready for it.
fn run(context: &Context, workspace: &Workspace, control: &mut Control) -> Result<(), Fault> {
    control.wait(workspace.setup_limit() + net::IDLE, || true)?;
    let offer = control.receive()?;
    if let Some(fault) = net::parse_fault(&offer) {
        return Err(fault);
    }
    let (own, peer) = (control.local()?.ip().to_canonical(), control.remote()?.ip().to_canonical());
    let environ = environ(context, own, peer, number(&offer, "port")? as u16);
    let used = &context.job.cpus;
    disturbance::wait(context.out, used)?;
    let before = disturbance::counts(used);
    let done = workspace.inside_with(context.text("run"), environ)?;
    disturbance::counts(used).note_since(&before, context.out)?;
    let (cap, bulk) = (allowed_bits_per_s(context), context.seconds("bulk_s") > 0.0);
    if cap > 0 && bulk && context.whole("rate_bytes_per_s").is_none() {
        context.out.note("rate_cap_bytes_per_s", cap / 8)?;
    }
    output::send(context.out, &done, true)?;
    must_end_well("run", &done)?;
    control.send(&json!({"done": true}))?;
    control.wait(net::IDLE, || true)?;
    net::parse_fault(&control.receive()?).map_or(Ok(()), Err)?;
    context.sample("command_time_s", done.time_s, done.time_s)
}

fn environ(context: &Context, own: IpAddr, peer: IpAddr, port: u16) -> Vec<(&'static str, OsString)> {
    vec![
        ("CLOUDCMP_ADDRESS", own.to_string().into()),
        ("CLOUDCMP_PEER", peer.to_string().into()),
        ("CLOUDCMP_PORT", port.to_string().into()),
        ("CLOUDCMP_BITS_PER_S", bits_per_s(context).to_string().into()),
    ]
}

/// Refuses lines whose traffic the caps do not allow, before anything is started.
fn admit(context: &Context) -> Result<(), Fault> {
    let (bulk_s, spacing_s) = (context.seconds("bulk_s"), context.seconds("spacing_s"));
    let (bytes, packets) = (packet_bytes(context), context.whole("packets").unwrap_or(0));
    if packets > 0 {
        let demand = Demand { items_per_s: Some(1.0 / spacing_s), items: Some(packets as f64), burst_s: None };
        return context.job.caps.admit(Item { bytes: 2 * bytes, packets: 2 }, demand); // each is answered
    }
    let rate = context.whole("rate_bytes_per_s").map(|rate| rate as f64 / bytes.max(1) as f64);
    let items = rate.map(|rate| (rate * bulk_s).ceil());
    let demand = Demand { items_per_s: rate, items, burst_s: (bulk_s > 0.0).then_some(bulk_s) };
    context.job.caps.admit(Item { bytes: bytes.max(1), packets: u64::from(bytes > 0) }, demand)
}

fn packet_bytes(context: &Context) -> u64 {
    context.whole("packet_bytes").unwrap_or(0)
}

/// Returns the rate that the job asks for, or else the one that the caps allow, in bits a second; 0 without either.
fn bits_per_s(context: &Context) -> u64 {
    context.whole("rate_bytes_per_s").map_or_else(|| allowed_bits_per_s(context), |rate| rate * 8)
}

/// Returns the rate that all caps allow to lines that send for `bulk_s`, in bits a second; 0 if there is none.
fn allowed_bits_per_s(context: &Context) -> u64 {
    rate_of(&context.job.caps, context.seconds("bulk_s"), packet_bytes(context))
}

fn rate_of(caps: &Caps, bulk_s: f64, packet_bytes: u64) -> u64 {
    let packets = caps.packets_per_s.filter(|_| packet_bytes > 0);
    let rates = [
        caps.bytes_per_s,
        packets.map(|rate| rate * packet_bytes as f64),
        caps.bytes.filter(|_| bulk_s > 0.0).map(|bytes| bytes as f64 / bulk_s),
    ];
    let least = rates.into_iter().flatten().fold(UNREACHED_BYTES_PER_S, f64::min);
    if least < UNREACHED_BYTES_PER_S { (least * 8.0).max(1.0) as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p15_the_strictest_cap_is_the_rate_of_a_line() {
        let caps =
            Caps { bytes_per_s: Some(1e6), packets_per_s: Some(100.0), bytes: Some(5_000_000), ..Caps::default() };
        assert_eq!(rate_of(&caps, 0.0, 0), 8_000_000);
        assert_eq!(rate_of(&caps, 10.0, 0), 4_000_000, "the bytes of the trial, in its time");
        assert_eq!(rate_of(&caps, 10.0, 1000), 800_000, "datagrams are counted");
        assert_eq!(rate_of(&Caps::default(), 10.0, 1000), 0);
        let wide = Caps { bytes_per_s: Some(1e11), bytes: Some(1 << 60), ..Caps::default() };
        assert_eq!(rate_of(&wide, 10.0, 0), 0, "a cap that no network reaches");
    }

    #[test]
    fn p25_the_peer_of_a_connection_is_known_by_its_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let _client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let found = sockets(port);
        assert!(found.iter().any(|(_, state)| state == LISTENING), "{found:?}");
        let connected = found.iter().find(|(_, state)| state == ESTABLISHED).unwrap();
        assert!(in_table("127.0.0.1".parse().unwrap()).contains(&connected.0), "{found:?}");
        assert!(!in_table("127.0.0.2".parse().unwrap()).contains(&connected.0));
    }

    #[test]
    fn p25_an_ipv6_peer_is_known_too() {
        let Ok(listener) = TcpListener::bind("[::1]:0") else {
            return println!("not tested: no IPv6 here");
        };
        let port = listener.local_addr().unwrap().port();
        let _client = std::net::TcpStream::connect(("::1", port)).unwrap();
        let connected = sockets(port).into_iter().find(|(_, state)| state == ESTABLISHED).unwrap();
        assert_eq!(in_table("::1".parse().unwrap()), [connected.0]);
    }
}
