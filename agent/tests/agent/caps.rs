//! Caps on bytes, rate, packets and time hold in the agent itself, whatever its client does or requests.


use std::time::{Duration, Instant};

use crate::common::{Agent, Space, Stream, client_of, job, listening, measure_pair, start_pair, start_pair_in};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
const LONG: (&str, &str) = ("duration_s", "20");

/// Runs a pair with the same caps; returns both streams, the client's first, and the client's run time.
fn capped(probe: &str, params: &[(&str, &str)], caps: &Value) -> (Stream, Stream, Duration) {
    let more = json!({"caps": caps});
    let (server, client) = start_pair(probe, params, &more, &more);
    let start = Instant::now();
    let (code, client) = client.end();
    let took = start.elapsed();
    let server = server.end().1;
    assert_eq!(code, 0);
    (client, server, took)
}

fn payload(stream: &Stream) -> u64 {
    stream.note("payload_bytes").unwrap().as_u64().unwrap()
}

#[test]
fn p15_a_byte_cap_ends_each_probe_soon_and_says_so() {
    let cap = 3 * MIB + 7;
    for (probe, params) in [
        ("tcp", vec![LONG]),
        ("tcp", vec![LONG, ("streams", "5")]),
        ("tcp", vec![LONG, ("size_bytes", "16777216")]),
        ("udp", vec![LONG]),
        ("udp", vec![LONG, ("size_bytes", "65507")]),
        ("rtt", vec![LONG, ("size_bytes", "10000")]),
        ("rtt", vec![LONG, ("size_bytes", "10000"), ("protocol", "udp")]),
        ("throttle", vec![LONG]),
    ] {
        let (client, server, took) = capped(probe, &params, &json!({"bytes": cap}));
        let about = format!("{probe} {params:?} {:#?} {:#?}", client.frames, server.frames);
        assert_eq!((client.outcome.as_str(), server.outcome.as_str()), ("aborted", "aborted"), "{about}");
        assert!(client.error().starts_with("the byte cap of 3145735 was reached after "), "{about}");
        assert_eq!(client.note("capped"), Some(&json!("bytes")), "{about}");
        assert!((cap / 2..=cap).contains(&payload(&client)), "{about}");
        assert!(payload(&server) <= cap && took < Duration::from_secs(3), "{took:?} {about}");
    }
}

#[test]
fn p15_a_rate_cap_paces_and_a_paced_rate_is_no_result() {
    for (probe, params, caps, per_s) in [
        ("tcp", vec![LONG, ("warmup_s", "0.5")], json!({"bytes_per_s": 4e6}), 4e6),
        ("tcp", vec![LONG, ("streams", "3"), ("warmup_s", "0.5")], json!({"bytes_per_s": 4e6}), 4e6),
        ("udp", vec![LONG], json!({"bytes_per_s": 4e6}), 4e6),
        ("udp", vec![LONG, ("size_bytes", "100")], json!({"packets_per_s": 5000}), 5e5),
        ("rtt", vec![LONG, ("size_bytes", "100")], json!({"packets_per_s": 1000}), 1e5),
        ("throttle", vec![LONG], json!({"bytes_per_s": 4e6}), 4e6),
    ] {
        let (client, _, took) = capped(probe, &params, &caps);
        let about = format!("{probe} {params:?} {:#?}", client.frames);
        assert_eq!(client.outcome, "aborted", "{about}");
        let (name, cap) = caps.as_object().unwrap().iter().next().unwrap();
        let paced = client.note(&format!("paced_to_{name}")).and_then(Value::as_f64);
        assert_eq!(paced, cap.as_f64(), "{about}");
        assert!(client.error().contains("held the traffic back: the network was not measured"), "{about}");
        let most = per_s * took.as_secs_f64() * 1.01 + MIB as f64;
        assert!(payload(&client) > 0 && (payload(&client) as f64) < most, "{about}");
        assert!(took < Duration::from_secs(10), "as soon as it is sure: {took:?}");
    }
}

#[test]
fn p15_caps_that_hold_nothing_back_leave_a_trial_as_it_is() {
    let caps = json!({"bytes": 1_u64 << 40, "bytes_per_s": 1e12, "packets_per_s": 1e9, "burst_s": 60});
    for (probe, params) in [
        ("tcp", vec![("duration_s", "0.2"), ("streams", "2")]),
        ("throttle", vec![("duration_s", "0.2"), ("streams", "2")]),
        ("udp", vec![("duration_s", "0.2")]),
        ("udp", vec![("duration_s", "0.2"), ("rate_bytes_per_s", "1000000")]),
        ("rtt", vec![("duration_s", "0.2")]),
        ("rtt", vec![("duration_s", "0.2"), ("protocol", "udp"), ("interval_s", "0.01")]),
    ] {
        let (client, server, _) = capped(probe, &params, &caps);
        let about = format!("{probe} {params:?} {:#?} {:#?}", client.frames, server.frames);
        assert_eq!((client.outcome.as_str(), server.outcome.as_str()), ("ok", "ok"), "{about}");
        assert!(client.count() > 0 && client.note("capped").is_none() && payload(&client) > 0);
    }
    // A spaced loop and a stated rate below their caps are not held back.
    let params = [("duration_s", "0.3"), ("interval_s", "0.02")];
    let (client, ..) = capped("rtt", &params, &json!({"packets_per_s": 101, "bytes": 2 * 64 * (15 + 50)}));
    assert_eq!(client.outcome, "ok", "{:#?}", client.frames);
    let params = [("duration_s", "0.3"), ("rate_bytes_per_s", "1000000")];
    let (client, ..) = capped("udp", &params, &json!({"bytes_per_s": 1e6, "bytes": 301_184}));
    assert_eq!(client.outcome, "ok", "{:#?}", client.frames);
}

#[test]
fn p15_a_job_beyond_the_caps_is_refused_before_a_port_is_open() {
    let refused = |probe: &str, params: &[(&str, &str)], at: &str, caps: &Value, words: &str| {
        let own = job(probe, params);
        let ip = at.rsplit_once(':').unwrap().0;
        for mut job in [listening(own.clone(), "server", at, ("client", &[ip])), client_of(own, at)] {
            job["caps"] = caps.clone();
            let (code, stream) = Agent::run(&job).end();
            assert_eq!((code, stream.outcome.as_str()), (2, "failed"));
            assert!(stream.error().contains(words) && stream.of("ready").count() == 0, "{}", stream.error());
        }
    };
    let own = "127.0.0.1:9";
    let rate = [("rate_bytes_per_s", "2000000")];
    refused("udp", &rate, own, &json!({"bytes_per_s": 1.9e6}), "bytes_per_s 2000000, and the cap is 1900000");
    refused("udp", &rate, own, &json!({"packets_per_s": 1000}), "packets_per_s 1381.215, and the cap is 1000");
    refused("udp", &rate, own, &json!({"bytes": 1_000_000}), "2001136 bytes, and the cap is 1000000");
    refused("udp", &[LONG], own, &json!({"burst_s": 19}), "a burst of 20 s, and the cap is 19 s");
    refused("tcp", &[LONG], own, &json!({"burst_s": 20}), "a burst of 20.1 s, and the cap is 20 s");
    refused("rtt", &[("interval_s", "0.001")], own, &json!({"packets_per_s": 1999}), "packets_per_s 2000");
    // Between machines the defaults hold: a minute, 5 Gbit/s, 500,000 datagrams a second, and the product of the first
    // two.
    let other = "192.0.2.1:9";
    let none = json!({});
    refused("tcp", &[("duration_s", "60")], other, &none, "a burst of 60.1 s, and the cap is 60 s");
    refused("udp", &[("rate_bytes_per_s", "625000001")], other, &none, "and the cap is 625000000");
    refused("udp", &[("rate_bytes_per_s", "50000100"), ("size_bytes", "100")], other, &none, "the cap is 500000");
    refused("udp", &rate, other, &json!({"burst_s": 1e-3, "bytes_per_s": 1e6}), "a burst of 1 s");
    refused("tcp", &[("duration_s", "1800")], other, &none, "a burst of 1800.1 s");
}

#[test]
fn p15_defaults_between_machines_are_raised_by_name_only() {
    // Nothing listens there and the address is not ours: a job that is not refused fails at the socket at once.
    let outcome = |params: &[(&str, &str)], at: &str, caps: Option<Value>| {
        let ip = at.rsplit_once(':').unwrap().0;
        let mut job = listening(job("tcp", params), "server", at, ("client", &[ip]));
        job["caps"] = caps.into();
        job["deadline_s"] = 0.5.into();
        let (code, stream) = Agent::run(&job).end();
        (code, stream.error().to_owned())
    };
    let long = [("duration_s", "1800")];
    assert!(outcome(&long, "192.0.2.1:0", None).1.contains("a burst of 1800.1 s"));
    assert!(outcome(&long, "192.0.2.1:0", Some(json!({"burst_s": 2000}))).1.contains("cannot listen on"));
    for own in ["127.0.0.1:0", "127.0.0.77:0"] {
        assert!(outcome(&long, own, None).1.contains("the deadline has passed"), "exempt: {own}");
    }
}

#[test]
fn p15_a_server_holds_to_its_own_caps_when_the_client_has_none() {
    for (probe, params, caps) in [
        ("tcp", vec![LONG], json!({"bytes": 2 * MIB})),
        ("tcp", vec![LONG], json!({"bytes_per_s": 1e6})),
        ("udp", vec![LONG], json!({"bytes": 2 * MIB})),
        ("udp", vec![LONG], json!({"bytes_per_s": 1e6})),
        ("udp", vec![LONG], json!({"packets_per_s": 1000})),
        ("rtt", vec![LONG, ("size_bytes", "10000")], json!({"bytes": 2 * MIB})),
        ("rtt", vec![("duration_s", "1.5"), ("protocol", "udp")], json!({"bytes": 20_000})),
        ("rtt", vec![("duration_s", "3")], json!({"packets_per_s": 100})),
        ("throttle", vec![LONG], json!({"bytes": 2 * MIB})),
        ("throttle", vec![LONG], json!({"bytes_per_s": 1e6})),
    ] {
        let (server, client) = start_pair(probe, &params, &json!({"caps": caps}), &json!({}));
        let start = Instant::now();
        let (client, server) = (client.end().1, server.end().1);
        let about = format!("{probe} {params:?} {caps} {:#?} {:#?}", client.frames, server.frames);
        assert_eq!((client.outcome.as_str(), server.outcome.as_str()), ("aborted", "aborted"), "{about}");
        assert!(start.elapsed() < Duration::from_secs(8), "{about}");
    }
}

#[test]
fn p15_the_wire_itself_shows_no_more_than_the_caps() {
    let Some((first, second)) = Space::pair() else { return };
    let cap = 20 * MIB;
    for (probe, params, caps, outcome) in [
        ("tcp", vec![LONG, ("streams", "4")], json!({"bytes": cap}), "aborted"),
        ("udp", vec![LONG, ("size_bytes", "1400")], json!({"bytes": cap}), "aborted"),
        ("rtt", vec![LONG, ("size_bytes", "1400")], json!({"bytes": cap / 20}), "aborted"),
        ("tcp", vec![("duration_s", "0.5")], json!({"bytes_per_s": 1e12, "bytes": 1_u64 << 40}), "ok"),
    ] {
        let before = (first.sent("va").0, second.sent("vb").0);
        let server =
            json!({"listen": "10.9.0.1:0", "targets": [{"role": "client", "address": "10.9.0.2"}], "caps": caps});
        let (server, client) = start_pair_in(Some((&first, &second)), probe, &params, &server, &json!({"caps": caps}));
        let (client, server) = (client.end().1, server.end().1);
        let about = format!("{probe} {:#?} {:#?}", client.frames, server.frames);
        assert_eq!((client.outcome.as_str(), server.outcome.as_str()), (outcome, outcome), "{about}");
        let sent = first.sent("va").0 - before.0 + second.sent("vb").0 - before.1;
        // Headers: 66 B per at least 1400 B, answers of 66 B per second segment; handshakes of a few kB.
        assert!(sent > payload(&server) && payload(&server) <= payload(&client), "{sent} {about}");
        let most = caps["bytes"].as_u64().unwrap() as f64 * 1.12 + MIB as f64;
        assert!((sent as f64) < most, "{sent} of {most} {about}");
    }
}

#[test]
fn p15_between_machines_the_default_caps_hold_without_a_request() {
    let Some((first, second)) = Space::pair() else { return };
    let server = json!({"listen": "10.9.0.1:0", "targets": [{"role": "client", "address": "10.9.0.2"}]});
    let params = [("duration_s", "0.3"), ("size_bytes", "1")];
    let (server, client) = start_pair_in(Some((&first, &second)), "udp", &params, &server, &json!({}));
    let start = Instant::now();
    let (client, server) = (client.end().1, server.end().1);
    let packets = second.sent("vb").1;
    let most = 5e5 * start.elapsed().as_secs_f64() * 1.01 + 20_000.0;
    assert!((packets as f64) < most, "{packets} of {most}");
    // If this machine does not reach the rate, nothing is held back, and the trial is complete.
    let held = client.note("paced_to_packets_per_s").is_some();
    assert_eq!(client.outcome, if held { "aborted" } else { "ok" }, "{:#?} {:#?}", client.frames, server.frames);
}

#[test]
fn p15_when_one_side_dies_in_a_burst_the_other_stops() {
    let spoken = vec![LONG, ("protocol", "udp")];
    for (probe, params) in [("tcp", vec![LONG]), ("udp", vec![LONG]), ("rtt", spoken), ("throttle", vec![LONG])] {
        for client_dies in [true, false] {
            let (mut server, mut client) = start_pair(probe, &params, &json!({}), &json!({}));
            std::thread::sleep(Duration::from_millis(400));
            let (dies, stays) = if client_dies { (&mut client, server) } else { (&mut server, client) };
            dies.child.kill().unwrap();
            dies.child.wait().unwrap();
            let start = Instant::now();
            let (_, stream) = stays.end();
            assert_eq!((stream.outcome.as_str(), stream.of("error").count()), ("failed", 1), "{probe}");
            let most = if client_dies { 6 } else { 8 };
            assert!(start.elapsed() < Duration::from_secs(most), "{probe} {client_dies}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn p15_when_the_controller_goes_both_sides_stop_in_their_burst() {
    for probe in ["tcp", "udp", "rtt", "throttle"] {
        let (mut server, mut client) = start_pair(probe, &[LONG], &json!({}), &json!({}));
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        drop((server.child.stdin.take(), client.child.stdin.take()));
        // Either of the two may notice the other's end first.
        for (_, stream) in [client.end(), server.end()] {
            assert!(["aborted", "failed"].contains(&stream.outcome.as_str()), "{probe}");
        }
        assert!(start.elapsed() < Duration::from_secs(3), "{probe}");
    }
}

#[test]
fn traffic_of_a_trial_is_noted() {
    let (client, server) = measure_pair("rtt", &[("duration_s", "0.1"), ("size_bytes", "500")]);
    let trips = client.note("round_trips").unwrap().as_u64().unwrap();
    assert_eq!(payload(&client), 2 * 500 * (trips + 50), "warm-up included, both directions");
    assert_eq!(payload(&client), payload(&server));
    let (client, _) = measure_pair("udp", &[("duration_s", "0.1")]);
    assert_eq!(payload(&client), client.note("datagrams_sent").unwrap().as_u64().unwrap() * 1448);
}
