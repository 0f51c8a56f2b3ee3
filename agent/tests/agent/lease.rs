//! The lease: the process ends with it and closes its port, whatever else happens.


use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::{Agent, job, server_of, start_pair};
use serde_json::json;

#[test]
fn p30_at_the_lease_end_a_waiting_server_ends_and_its_port_closes() {
    let mut server = server_of(job("tcp", &[]));
    server["lease_s"] = 0.6.into();
    let start = Instant::now();
    let mut server = Agent::run(&server);
    assert_eq!(server.frame()["type"], "hello");
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    drop(TcpStream::connect(&address).unwrap());
    let (code, stream) = server.end();
    assert_eq!((code, stream.outcome.as_str(), stream.error()), (0, "aborted", "the lease has ended"));
    assert!((0.6..3.0).contains(&start.elapsed().as_secs_f64()));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn p30_a_burst_under_way_ends_with_the_lease() {
    let lease = json!({"lease_s": 0.8});
    let (server, client) = start_pair("udp", &[("duration_s", "20")], &lease, &lease);
    let start = Instant::now();
    let ends = [client.end().1, server.end().1];
    assert!(ends.iter().any(|stream| stream.error() == "the lease has ended"));
    assert!(ends.iter().all(|stream| stream.outcome != "ok") && start.elapsed() < Duration::from_secs(3));
}

#[test]
fn p30_a_reader_that_does_not_read_keeps_no_agent_alive() {
    let mut busy = job("fma", &[("duration_s", "20"), ("interval_s", "0.001")]);
    busy["lease_s"] = 1.0.into();
    let mut agent = Agent::run(&busy);
    let start = Instant::now();
    while agent.child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(6), "lease and five seconds");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn p30_a_lease_ends_a_solo_probe_and_an_expired_one_ends_it_at_once() {
    for (lease_s, most_s) in [(0.5, 2.5), (1e-6, 2.0)] {
        let mut job = job("fma", &[("duration_s", "20")]);
        job["lease_s"] = lease_s.into();
        let start = Instant::now();
        let (_, stream) = Agent::run(&job).end();
        assert_eq!((stream.outcome.as_str(), stream.error()), ("aborted", "the lease has ended"));
        assert!(start.elapsed().as_secs_f64() < most_s);
    }
}
