//! The agent sends nothing to strangers, and contacts only the peer named in its job.


use std::io::{BufRead, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{
    Agent, SECRET, Space, client_of, job, listening, serve, serve_for, server_of, sockets, start_pair, start_pair_in,
};
use serde_json::{Value, json};

/// A socket's address as /proc writes it, for 127.0.0.1.
const LOCAL: &str = "0100007F:";
const LISTENS: &str = "0A";

fn tcp_client(address: &str, secret: &str, params: &[(&str, &str)]) -> Value {
    let mut client = client_of(job("tcp", params), address);
    client["secret"] = secret.into();
    client
}

fn wait_for(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Returns the number of bytes a stranger receives until the connection ends, and the time until then.
fn heard(mut stream: TcpStream) -> (usize, Duration) {
    let start = Instant::now();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes); // ignored: a reset is an end, too
    (bytes.len(), start.elapsed())
}

#[test]
fn p25_no_port_is_open_outside_a_network_trial() {
    let mut solo = Agent::run(&job("fma", &[("duration_s", "0.2")]));
    assert_eq!(solo.frame()["type"], "hello");
    assert_eq!(sockets(solo.child.id()), []);
    assert_eq!(solo.end().1.outcome, "ok");
}

#[test]
fn p25_a_server_is_bound_to_one_address_and_closes_its_port_after_the_client() {
    for probe in ["tcp", "udp", "rtt"] {
        let mut server = serve(probe, &[]);
        let address = server.frame()["addr"].as_str().unwrap().to_owned();
        let open = sockets(server.child.id());
        assert_eq!(open.len(), 1, "{open:?}");
        assert!(open[0].0 == "tcp" && open[0].1.starts_with(LOCAL) && open[0].2 == LISTENS, "{open:?}");
        let port = address.rsplit(':').next().unwrap();
        assert!(TcpStream::connect(format!("127.0.0.2:{port}")).is_err(), "not on another address of ours");
        drop(server);
        let (server, client) = start_pair(probe, &[("duration_s", "1")], &json!({}), &json!({}));
        std::thread::sleep(Duration::from_millis(500));
        for agent in [&server, &client] {
            let open = sockets(agent.child.id());
            assert!(open.len() >= 2, "{open:?}");
            let closed = |(_, own, state): &(_, String, String)| own.starts_with(LOCAL) && state != LISTENS;
            assert!(open.iter().all(closed), "a trial under way admits nobody: {open:?}");
        }
        assert_eq!((client.end().1.outcome, server.end().1.outcome), ("ok".into(), "ok".into()));
    }
}

#[test]
fn p25_only_the_named_address_is_admitted_even_with_the_secret() {
    let mut server = Agent::run(&listening(job("tcp", &[]), "server", "127.0.0.1:0", ("client", &["127.0.0.2"])));
    assert_eq!(server.frame()["type"], "hello");
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    let (bytes, took) = heard(wait_for(&address));
    assert!(bytes == 0 && took < Duration::from_secs(1), "dropped at once");
    let (_, stream) = Agent::run(&tcp_client(&address, SECRET, &[("duration_s", "0.05")])).end();
    assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
    assert_eq!(sockets(server.child.id()).len(), 1, "nothing is held for a stranger");
    drop(server.child.stdin.take());
    assert_eq!(server.end().1.outcome, "aborted");
}

#[test]
fn p25_a_slow_handshake_ends_after_five_seconds() {
    let mut server = serve("tcp", &[]);
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    let silent = wait_for(&address);
    let mut dripping = wait_for(&address);
    let mut drip = dripping.try_clone().unwrap();
    std::thread::spawn(move || {
        // A valid length, then one byte at a time.
        while drip.write_all(&[0x00]).is_ok() {
            std::thread::sleep(Duration::from_millis(700));
            if drip.write_all(&[0x30]).is_err() {
                return;
            }
        }
    });
    let start = Instant::now();
    assert_eq!(heard(silent).0, 0);
    assert_eq!(dripping.read(&mut [0; 64]).unwrap_or(0), 0);
    let took_s = start.elapsed().as_secs_f64();
    assert!((4.5..6.5).contains(&took_s), "{took_s}");
    drop(server);
}

/// Makes attempts without the secret: none is answered with a byte, none starts anything.
fn bad_attempts(address: &str, n: usize) {
    for attempt in 0..n {
        let mut stream = wait_for(address);
        let message: Vec<u8> = match attempt % 5 {
            0 => b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            1 => [vec![0, 48], (0..48).map(|i| (attempt * 31 + i * 7) as u8).collect()].concat(),
            2 => vec![0xff; 5000],
            3 => vec![0x16, 0x03, 0x01, 0x02, 0x00, 0x01], // how TLS begins
            _ => Vec::new(),
        };
        let _ = stream.write_all(&message); // ignored: the agent may hang up first
        let _ = stream.shutdown(Shutdown::Write);
        assert_eq!(heard(stream).0, 0, "attempt {attempt}");
    }
}

#[test]
fn p25_no_bad_attempt_is_answered_and_the_client_connects_despite_a_thousand_slow_ones() {
    let attempts = std::env::var("CLOUDCMP_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(500);
    // The server ends at its deadline, even if attempts continue: the deadline must allow all of them.
    let mut server = serve_for(30.0 + attempts as f64 / 500.0, "tcp", &[("duration_s", "0.05")]);
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    bad_attempts(&address, attempts);
    assert_eq!(sockets(server.child.id()).iter().filter(|socket| socket.2 == "01").count(), 0);
    // As many as may be opened here; the agent holds far fewer of them.
    let dawdlers: Vec<TcpStream> = (0..1000).map_while(|_| TcpStream::connect(&address).ok()).collect();
    assert!(dawdlers.len() > 300, "{}", dawdlers.len());
    std::thread::sleep(Duration::from_millis(100));
    let held = sockets(server.child.id()).len();
    assert!(held <= 70, "{held} connections are held");
    let start = Instant::now();
    let (_, stream) = Agent::run(&tcp_client(&address, SECRET, &[("duration_s", "0.05")])).end();
    assert_eq!(stream.outcome, "ok", "{:#?}", stream.frames);
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(server.end().1.outcome, "ok");
}

#[test]
fn p25_the_secret_of_another_trial_opens_nothing() {
    let mut server = serve("tcp", &[("duration_s", "0.05")]);
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    for old in ["0", "5"] {
        let (_, stream) = Agent::run(&tcp_client(&address, &old.repeat(64), &[("duration_s", "0.05")])).end();
        assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
    }
    // A relay records a client's messages; another sender replays them.
    let relay = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let own = relay.local_addr().unwrap();
    let to: SocketAddr = address.parse().unwrap();
    let recorder = std::thread::spawn(move || {
        let (mut from, _) = relay.accept().unwrap();
        let (mut first, mut on) = (vec![0; 50], TcpStream::connect(to).unwrap());
        from.read_exact(&mut first).unwrap();
        on.write_all(&first).unwrap();
        first
    });
    let (_, stream) = Agent::run(&tcp_client(&own.to_string(), SECRET, &[("duration_s", "0.05")])).end();
    assert_eq!(stream.outcome, "failed");
    let first = recorder.join().unwrap();
    for _ in 0..20 {
        let mut replayed = wait_for(&address);
        replayed.write_all(&[&first[..], &[0, 19], &[7; 19]].concat()).unwrap();
        replayed.shutdown(Shutdown::Write).unwrap();
        assert!(heard(replayed).0 <= first.len(), "no more than was sent");
    }
    let (_, stream) = Agent::run(&tcp_client(&address, SECRET, &[("duration_s", "0.05")])).end();
    assert_eq!((stream.outcome.as_str(), server.end().1.outcome.as_str()), ("ok", "ok"));
}

#[test]
fn p27_a_peer_that_is_not_one_address_is_refused_before_a_socket_is_made() {
    for peer in ["localhost:80", "10.0.0.0/24:80", "10.0.0.5:1-1024", "224.0.0.1:80", "255.255.255.255:80", "0.0.0.0:1"]
    {
        let (code, stream) = Agent::run(&tcp_client(peer, SECRET, &[])).end();
        assert_eq!((code, stream.outcome.as_str()), (2, "failed"));
        assert!(stream.error().starts_with("bad job: targets[0] has an address "), "{}", stream.error());
    }
}

/// Returns the addresses of all system calls with an address, in a trace of strace.
fn named(trace: &str) -> Vec<String> {
    let field = |line: &str, key: &str, end: char| {
        line.split_once(key).and_then(|(_, rest)| rest.split_once(end)).map(|(value, _)| value.to_owned())
    };
    let one = |line: &str| {
        let family = field(line, "sa_family=", ',')?;
        let host = field(line, "inet_addr(\"", '"').unwrap_or_default();
        let port = field(line, "htons(", ')').unwrap_or_default();
        Some(format!("{family} {host}:{port}"))
    };
    let asks = |line: &&str| ["connect(", "sendto(", "sendmsg(", "sendmmsg("].iter().any(|call| line.contains(call));
    trace.lines().filter(asks).filter_map(one).collect()
}

#[test]
fn p27_the_system_calls_of_a_trial_name_its_peer_and_nobody_else() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: there is no strace here");
        return;
    }
    let folder = crate::common::Folder::new("trace");
    for probe in ["tcp", "udp", "rtt"] {
        let params = [("duration_s", "0.1")];
        let params: Vec<_> = params.into_iter().chain((probe == "rtt").then_some(("protocol", "udp"))).collect();
        let start = |name: &str, job: &Value| {
            let mut strace = Command::new("strace");
            strace.args(["-f", "-qq", "-e", "trace=network", "-o"]).arg(folder.0.join(name));
            Agent::start_by(strace, format!("{job}\n").as_bytes())
        };
        let mut server = start("server", &server_of(job(probe, &params)));
        if server.stdout.fill_buf().unwrap().is_empty() {
            eprintln!("skipped: strace may not trace here");
            return;
        }
        assert_eq!(server.frame()["type"], "hello");
        let address = server.frame()["addr"].as_str().unwrap().to_owned();
        let (client, server) = (start("client", &client_of(job(probe, &params), &address)).end().1, server.end().1);
        assert_eq!((client.outcome.as_str(), server.outcome.as_str()), ("ok", "ok"), "{:#?}", client.frames);
        let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).unwrap();
        let (client, server) = (named(&read("client")), named(&read("server")));
        let datagrams = if probe == "tcp" { 0 } else { 1 };
        assert_eq!(server.len(), datagrams, "it answers: {server:?}");
        assert!(client.len() > datagrams && client.contains(&format!("AF_INET {address}")), "{client:?}");
        assert!(client.iter().chain(&server).all(|who| who.starts_with("AF_INET 127.0.0.1:")), "{client:?} {server:?}");
        for name in ["client", "server"] {
            let trace = read(name);
            let made = trace.lines().filter(|line| line.contains("socket(AF_"));
            for line in made {
                let right = line.contains("AF_INET, SOCK_STREAM") || line.contains("AF_INET, SOCK_DGRAM");
                assert!(right && !line.contains("SOCK_RAW"), "{line}");
            }
        }
    }
}

#[test]
fn p27_a_machine_with_a_default_route_sends_no_packet_there() {
    // A second machine that answers for every address, behind the default route.
    let script = "ip link add out type veth peer name far && sysctl -qw net.ipv6.conf.all.disable_ipv6=1 \
                  && ip addr add 198.51.100.1/24 dev out && ip link set out up && ip link set far up \
                  && ip route add default via 198.51.100.2";
    let Some(space) = Space::new(script) else { return };
    let before = space.sent("out").1;
    for probe in ["tcp", "udp", "rtt"] {
        let params = [("duration_s", "0.1")];
        let (server, client) = start_pair_in(Some((&space, &space)), probe, &params, &json!({}), &json!({}));
        assert_eq!((client.end().1.outcome, server.end().1.outcome), ("ok".into(), "ok".into()));
    }
    assert_eq!(space.sent("out").1, before, "packets went where nobody was asked to send any");
    // Shows that the counter works.
    let (_, stream) = {
        let mut client = tcp_client("198.51.100.2:9", SECRET, &[("duration_s", "0.1")]);
        client["deadline_s"] = 1.0.into();
        Agent::start_by(space.enter(), format!("{client}\n").as_bytes()).end()
    };
    assert_ne!(stream.outcome, "ok");
    assert!(space.sent("out").1 > before);
}
