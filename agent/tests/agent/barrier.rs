//! Four agents behind one barrier.


use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::group::{end, start};
use crate::common::{Agent, SECRET, group, job, listening, sockets};
use serde_json::{Value, json};

fn first(others: usize, params: &[(&str, &str)]) -> Value {
    group::first("barrier", others, params)
}

fn other(address: &str, params: &[(&str, &str)]) -> Value {
    group::other("barrier", address, 0, params)
}

#[test]
fn four_agents_start_together_and_the_listening_one_reports_the_skew() {
    for (count, rounds) in [("4", "50"), ("2", "1")] {
        let (lead, others, _) = start("barrier", count.parse().unwrap(), &[("peers", count), ("rounds", rounds)], &json!({}));
        let (lead, others) = end(lead, others);
        assert_eq!(lead.outcome, "ok", "{:#?}", lead.frames);
        let values = lead.values("start_skew_s", &json!({"path": "loopback", "peers": count}));
        assert_eq!(values.len().to_string(), rounds);
        assert!(values.iter().all(|value| (1e-9..1.0).contains(value)), "{values:?}");
        let error_s = lead.note("clock_error_s").unwrap().as_f64().unwrap();
        assert!((1e-7..1e-2).contains(&error_s), "{error_s}");
        let ticks = rounds.parse::<u64>().unwrap() + 64;
        for one in &others {
            assert_eq!((one.outcome.as_str(), one.count()), ("ok", 0), "{:#?}", one.frames);
            assert_eq!(one.note("payload_bytes").unwrap().as_u64(), Some(16 * ticks));
        }
        assert_eq!(lead.note("payload_bytes").unwrap().as_u64(), Some(16 * ticks * others.len() as u64));
    }
}

#[test]
fn jobs_that_do_not_fit_a_group_are_refused_before_a_port_is_open() {
    let refused = |job: &Value, words: &str| {
        let (code, stream) = Agent::run(job).end();
        assert_eq!((code, stream.of("ready").count()), (2, 0));
        assert!(stream.error().contains(words), "{}", stream.error());
    };
    refused(&first(3, &[("peers", "5")]), "5 peers, and 3 others are named");
    refused(&first(1, &[("peers", "1")]), "barrier.peers");
    refused(&first(3, &[("rounds", "0")]), "barrier.rounds");
    refused(&job("barrier", &[]), "no role solo");
    let mut capped = first(3, &[("rounds", "10")]);
    capped["caps"] = json!({"bytes": 48 * 74 - 1});
    refused(&capped, "3552 bytes, and the cap is 3551");
    capped["secret"] = Value::Null;
    capped["caps"] = json!({});
    refused(&capped, "secret is null");
}

#[test]
fn p15_a_group_keeps_its_packet_rate_cap_and_still_measures() {
    let caps = json!({"caps": {"packets_per_s": 1000}});
    let begun = Instant::now();
    let (lead, others, _) = start("barrier", 3, &[("peers", "3"), ("rounds", "100")], &caps);
    let (lead, _) = end(lead, others);
    assert_eq!((lead.outcome.as_str(), lead.count()), ("ok", 100), "{:#?}", lead.frames);
    // Four packets per round and comparison; ten milliseconds' worth may be sent at once.
    assert!(begun.elapsed().as_secs_f64() > 4.0 * 164.0 / 1000.0 - 0.05);
}

#[test]
fn p25_a_group_closes_its_port_and_admits_only_the_named_agents() {
    let slow = json!({"caps": {"packets_per_s": 500}});
    let (lead, mut others, address) = start("barrier", 3, &[("peers", "3"), ("rounds", "300")], &slow);
    std::thread::sleep(Duration::from_millis(700));
    assert!(TcpStream::connect(&address).is_err(), "a trial under way admits nobody");
    assert_eq!(sockets(lead.child.id()).len(), 4, "a control and a data connection of each");
    let (_, stream) = Agent::run(&other(&address, &[("peers", "3"), ("rounds", "300")])).end();
    assert!(stream.error().contains("cannot connect"), "{}", stream.error());
    // An agent that dies ends the trial of all others soon.
    let mut dies = others.pop().unwrap();
    dies.child.kill().unwrap();
    dies.child.wait().unwrap();
    let begun = Instant::now();
    let (lead, others) = end(lead, others);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!([lead].iter().chain(&others).all(|stream| stream.outcome == "failed" && stream.count() == 0));
}

#[test]
fn p25_only_named_addresses_with_the_secret_join() {
    let params = [("peers", "2"), ("rounds", "5")];
    let mut lead = Agent::run(&listening(job("barrier", &params), "peer", "127.0.0.1:0", ("peer", &["127.0.0.1"])));
    assert_eq!(lead.frame()["type"], "hello");
    let address = lead.frame()["addr"].as_str().unwrap().to_owned();
    let mut stranger = other(&address, &params);
    stranger["secret"] = SECRET.replace('0', "1").into();
    let (_, stream) = Agent::run(&stranger).end();
    assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
    let joins = Agent::run(&other(&address, &params));
    assert_eq!((joins.end().1.outcome.as_str(), lead.end().1.outcome.as_str()), ("ok", "ok"));
    let mut lead = Agent::run(&listening(job("barrier", &params), "peer", "127.0.0.1:0", ("peer", &["127.0.0.2"])));
    assert_eq!(lead.frame()["type"], "hello");
    let address = lead.frame()["addr"].as_str().unwrap().to_owned();
    assert_eq!(Agent::run(&other(&address, &params)).end().1.outcome, "failed");
    drop(lead.child.stdin.take());
    assert_eq!(lead.end().1.outcome, "aborted");
}

#[test]
fn peers_with_other_rounds_are_not_measured() {
    let mut lead = Agent::run(&first(1, &[("peers", "2"), ("rounds", "5")]));
    assert_eq!(lead.frame()["type"], "hello");
    let address = lead.frame()["addr"].as_str().unwrap().to_owned();
    let (_, one) = Agent::run(&other(&address, &[("peers", "2"), ("rounds", "6")])).end();
    let (_, lead) = lead.end();
    assert_eq!((one.outcome.as_str(), lead.outcome.as_str(), lead.count()), ("failed", "failed", 0));
    assert!(one.error().contains("different rounds"), "{}", one.error());
}
