//! Groups that exchange data: all-to-all and allreduce.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::group::{Network, end, first, other, start};
use crate::common::{Agent, near, sockets, tries};
use serde_json::{Value, json};

const OPS: [&str; 2] = ["alltoall", "allreduce"];

fn payload(stream: &crate::common::Stream) -> u64 {
    stream.note("payload_bytes").unwrap().as_u64().unwrap()
}

/// Returns the bytes of a round of all peers and of one peer besides the listening one, with the barrier's.
fn bytes(op: &str, peers: u64, size: u64) -> (u64, u64) {
    let (all, one) = if op == "alltoall" {
        (peers * (peers - 1) * size, 2 * (peers - 1) * size)
    } else {
        (2 * (peers - 1) * size, 4 * (peers - 1) * size / peers)
    };
    (all + 16 * (peers - 1), one + 16)
}

#[test]
fn groups_exchange_and_the_listening_peer_reports_each_round() {
    for (count, rounds, size) in [("4", "10", "100000"), ("2", "1", "4"), ("5", "3", "1048576"), ("3", "2", "8")] {
        for op in OPS {
            let params = [("op", op), ("peers", count), ("rounds", rounds), ("size_bytes", size)];
            let (peers, n): (u64, u64) = (count.parse().unwrap(), rounds.parse().unwrap());
            let (lead, others, _) = start("exchange", peers as usize, &params, &json!({}));
            let (lead, others) = end(lead, others);
            assert_eq!(lead.outcome, "ok", "{op} {count} {:#?}", lead.frames);
            let cell = json!({"op": op, "path": "loopback", "peers": count, "size_bytes": size});
            let (rates, ratios) = (lead.values("exchange_bytes_per_s", &cell), lead.values("straggler_ratio", &cell));
            assert_eq!((rates.len() as u64, ratios.len() as u64), (n, n));
            assert!(rates.iter().all(|&rate| rate > 0.0) && ratios.iter().all(|&ratio| ratio >= 1.0));
            let hists: Vec<&Value> = lead.of("hist").collect();
            assert!(hists.len() == 1 && hists[0]["metric"] == "exchange_s" && hists[0]["params"] == cell);
            let (all, own) = bytes(op, peers, size.parse().unwrap());
            assert_eq!(payload(&lead), (n + 1) * all, "{op} {count}");
            for one in &others {
                assert_eq!((one.outcome.as_str(), one.count()), ("ok", 0), "{:#?}", one.frames);
                assert_eq!(payload(one), (n + 1) * own);
            }
        }
    }
}

#[test]
fn jobs_that_do_not_fit_are_refused_before_a_port_is_open() {
    let refused = |job: &Value, words: &str| {
        let (code, stream) = Agent::run(job).end();
        assert_eq!((code, stream.of("ready").count()), (2, 0));
        assert!(stream.error().contains(words), "{}", stream.error());
    };
    refused(&first("exchange", 3, &[("op", "allreduce"), ("size_bytes", "1026")]), "not one of numbers of 4 bytes");
    refused(&first("exchange", 3, &[("op", "broadcast")]), "exchange.op");
    refused(&first("exchange", 3, &[("peers", "5")]), "5 peers, and 3 others are named");
    for op in OPS {
        let (all, _) = bytes(op, 4, 1000);
        let params = [("op", op), ("rounds", "9"), ("size_bytes", "1000")];
        for mut capped in [first("exchange", 3, &params), other("exchange", "127.0.0.1:9", 2, &params)] {
            capped["caps"] = json!({"bytes": 10 * all - 1});
            refused(&capped, &format!("{} bytes, and the cap is {}", 10 * all, 10 * all - 1));
        }
    }
}

#[test]
fn p15_a_byte_cap_of_exactly_what_a_group_sends_is_enough() {
    for op in OPS {
        let caps = json!({"caps": {"bytes": 4 * bytes(op, 3, 300_000).0}});
        let params = [("op", op), ("peers", "3"), ("rounds", "3"), ("size_bytes", "300000")];
        let (lead, others, _) = start("exchange", 3, &params, &caps);
        let (lead, others) = end(lead, others);
        assert_eq!(lead.outcome, "ok", "{:#?}", lead.frames);
        assert!(others.iter().all(|one| one.outcome == "ok"));
    }
}

#[test]
fn p15_a_rate_cap_paces_a_group_and_a_paced_rate_is_no_result() {
    for op in OPS {
        let caps = json!({"caps": {"bytes_per_s": 4e6}});
        let params = [("op", op), ("peers", "3"), ("rounds", "100"), ("size_bytes", "1048576")];
        let begun = Instant::now();
        let (lead, others, _) = start("exchange", 3, &params, &caps);
        let (lead, others) = end(lead, others);
        assert_eq!(lead.outcome, "aborted", "{op} {:#?}", lead.frames);
        assert!(lead.error().contains("held the traffic back"), "{}", lead.error());
        assert!(begun.elapsed() < Duration::from_secs(15), "as soon as it is sure");
        assert!(others.iter().all(|one| one.outcome != "ok" && one.count() == 0) && lead.count() == 0);
    }
}

#[test]
fn p25_a_group_under_way_has_no_open_port_and_one_connection_for_each_pair() {
    let slow = [("peers", "4"), ("rounds", "10000"), ("size_bytes", "1000000")];
    let (lead, others, address) = start("exchange", 4, &slow, &json!({}));
    std::thread::sleep(Duration::from_millis(1000));
    assert!(TcpStream::connect(&address).is_err(), "a trial under way admits nobody");
    for (agent, controls) in std::iter::once((&lead, 3)).chain(others.iter().map(|agent| (agent, 1))) {
        let open = sockets(agent.child.id());
        assert_eq!(open.len(), 3 + controls, "{open:?}");
        assert!(open.iter().all(|(_, _, state)| state == "01"), "all are established: {open:?}");
    }
    for mut agent in std::iter::once(lead).chain(others) {
        agent.child.kill().unwrap();
        agent.child.wait().unwrap();
    }
}

#[test]
fn a_peer_that_dies_in_the_middle_of_a_round_ends_the_trial_of_all_others_soon() {
    for op in OPS {
        for dies in [0, 2] {
            let params = [("op", op), ("peers", "4"), ("rounds", "10000"), ("size_bytes", "4000000")];
            let (lead, others, _) = start("exchange", 4, &params, &json!({}));
            std::thread::sleep(Duration::from_millis(700));
            let mut agents: Vec<Agent> = std::iter::once(lead).chain(others).collect();
            let mut dead = agents.remove(dies);
            dead.child.kill().unwrap();
            dead.child.wait().unwrap();
            let begun = Instant::now();
            for agent in agents {
                let stream = agent.end().1;
                assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0), "{op}: {:#?}", stream.frames);
                assert!(stream.error().contains("gone"), "{}", stream.error());
            }
            assert!(begun.elapsed() < Duration::from_secs(8), "{op}");
        }
    }
}

#[test]
fn a_peer_that_stands_still_ends_the_trial_by_its_deadline() {
    let params = [("peers", "3"), ("rounds", "10000"), ("size_bytes", "4000000")];
    let (lead, mut others, _) = start("exchange", 3, &params, &json!({"deadline_s": 3.0}));
    std::thread::sleep(Duration::from_millis(700));
    let mut still = others.pop().unwrap();
    unsafe { libc::kill(still.child.id() as i32, libc::SIGSTOP) };
    let begun = Instant::now();
    let (lead, others) = end(lead, others);
    assert!(begun.elapsed() < Duration::from_secs(8));
    // The first one whose deadline passes closes its connections.
    let ends = [&lead, &others[0]].map(|stream| (stream.outcome.as_str(), stream.count()));
    assert!(ends.iter().all(|end| [("timeout", 0), ("failed", 0)].contains(end)), "{ends:?}");
    still.child.kill().unwrap();
    still.child.wait().unwrap();
}

#[test]
fn peers_with_other_jobs_are_not_measured() {
    let params = [("peers", "2"), ("size_bytes", "4000")];
    for (key, value) in [("op", json!("allreduce")), ("size_bytes", json!("4004")), ("rounds", json!("7"))] {
        let mut lead = Agent::run(&first("exchange", 1, &params));
        assert_eq!(lead.frame()["type"], "hello");
        let address = lead.frame()["addr"].as_str().unwrap().to_owned();
        let mut differs = other("exchange", &address, 0, &params);
        differs["params"][key] = value;
        let (one, lead) = (Agent::run(&differs).end().1, lead.end().1);
        assert_eq!((one.outcome.as_str(), lead.outcome.as_str(), lead.count()), ("failed", "failed", 0));
        assert!(one.error().contains("different rounds"), "{}", one.error());
    }
}

#[test]
fn p27_a_peer_connects_to_no_address_that_its_job_does_not_name() {
    let params = [("peers", "3"), ("size_bytes", "4000")];
    let mut lead = Agent::run(&first("exchange", 2, &params));
    assert_eq!(lead.frame()["type"], "hello");
    let address = lead.frame()["addr"].as_str().unwrap().to_owned();
    let mut narrow = other("exchange", &address, 1, &params);
    narrow["targets"][1]["address"] = "127.0.0.2".into();
    let begun = Instant::now();
    let (one, two) = (Agent::run(&narrow), Agent::run(&other("exchange", &address, 1, &params)));
    let (one, two, lead) = (one.end().1, two.end().1, lead.end().1);
    assert!(one.error().contains("other peers than the job names"), "{}", one.error());
    assert!([&one, &two, &lead].iter().all(|stream| stream.outcome == "failed" && stream.count() == 0));
    assert!(begun.elapsed() < Duration::from_secs(8), "no peer waits for one that has left");
}

#[test]
fn four_namespaces_exchange_over_a_bridge_within_the_rate_of_their_links() {
    let Some(network) = Network::new(4) else { return };
    let caps = json!({"caps": {"bytes_per_s": 1e12, "bytes": 1_u64 << 40}});
    for op in OPS {
        let params = [("op", op), ("path", "zone"), ("rounds", "8"), ("size_bytes", "1000000")];
        let (lead, others) = network.run("exchange", &params, &caps);
        assert_eq!(lead.outcome, "ok", "{op} {:#?}", lead.frames);
        assert!(others.iter().all(|one| one.outcome == "ok"));
    }
    // A link of 40 Mbit/s for what one peer sends: three messages take three times as long as one, and it is the
    // bottleneck of all.
    if !network.spaces[2].run("tc qdisc add dev card root tbf rate 40mbit burst 16kb latency 2s") {
        eprintln!("skipped: no tc here");
        return;
    }
    let params = [("path", "zone"), ("rounds", "3"), ("size_bytes", "500000")];
    let cell = json!({"op": "alltoall", "path": "zone", "peers": "4", "size_bytes": "500000"});
    // Payload over the wire: 1448 of 1514 bytes; the peer sends 3 of the 4 messages that the rate is about.
    let planted = 40e6 / 8.0 * 1448.0 / 1514.0 * 4.0 / 3.0;
    tries(|| {
        let (lead, _) = network.run("exchange", &params, &caps);
        let mut rates = lead.values("exchange_bytes_per_s", &cell);
        rates.sort_by(f64::total_cmp);
        near(rates[1], planted, 0.03).then_some(()).ok_or(format!("{rates:?}, planted {planted}"))
    });
}
