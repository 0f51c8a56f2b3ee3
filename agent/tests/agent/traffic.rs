use crate::common::{measure_pair, start_pair};
use serde_json::json;

#[test]
fn each_interval_says_what_arrived_while_the_load_goes_on() {
    let params = [("rate_bytes_per_s", "2000000"), ("duration_s", "0.5"), ("interval_s", "0.1")];
    let (client, _) = measure_pair("traffic", &params);
    let rates = client.values(
        "traffic_bytes_per_s",
        &json!({"path": "loopback", "rate_bytes_per_s": "2000000", "size_bytes": "1448"}),
    );
    assert!((4..=6).contains(&rates.len()), "{rates:?}");
    assert!(rates.iter().sum::<f64>() / rates.len() as f64 <= 2.2e6, "no more than was asked for: {rates:?}");
    assert!(rates.iter().any(|&rate| rate > 1e6), "{rates:?}");
}

#[test]
fn as_fast_as_it_goes() {
    let (client, _) = measure_pair("traffic", &[("duration_s", "0.2"), ("interval_s", "0.1")]);
    let rates = client.values(
        "traffic_bytes_per_s",
        &json!({"path": "loopback", "rate_bytes_per_s": "max", "size_bytes": "1448"}),
    );
    assert!(rates.iter().any(|&rate| rate > 1e7), "{rates:?}");
}

#[test]
fn both_ends_end_once_the_controller_hangs_up() {
    let params = [("rate_bytes_per_s", "1000000"), ("duration_s", "60"), ("interval_s", "0.05")];
    let (mut server, mut client) = start_pair("traffic", &params, &json!({}), &json!({}));
    while client.frame()["type"] != "sample" {}
    drop(client.child.stdin.take());
    let (code, stream) = client.end();
    assert_eq!((code, stream.outcome.as_str()), (0, "aborted"));
    drop(server.child.stdin.take());
    let (_, stream) = server.end();
    assert_ne!(stream.outcome, "ok", "its client is gone");
}

#[test]
fn p15_a_cap_on_bytes_ends_the_load() {
    let caps = json!({"caps": {"bytes": 2_000_000}});
    let (server, client) = start_pair("traffic", &[("duration_s", "30")], &caps, &caps);
    let (_, stream) = client.end();
    assert_ne!(stream.outcome, "ok");
    assert_ne!(server.end().1.outcome, "ok");
}
