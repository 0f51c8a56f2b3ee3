mod common;

use common::{Agent, job, measure_pair};
use serde_json::json;

#[test]
fn a_gentle_rate_arrives_whole_and_in_every_interval() {
    let params = [("rate_bytes_per_s", "2000000"), ("duration_s", "0.2"), ("interval_s", "0.1")];
    let (client, _) = measure_pair("udp", &params);
    let cell = json!({"path": "loopback", "rate_bytes_per_s": "2000000", "size_bytes": "1448"});
    let goodput = client.values("udp_bytes_per_s", &cell);
    let loss = client.values("udp_loss_ratio", &cell);
    let jitter = client.values("udp_jitter_s", &cell);
    assert_eq!((goodput.len(), loss.len(), jitter.len()), (2, 2, 2));
    assert!(loss.iter().all(|loss| (0.0..=1.0).contains(loss)), "{loss:?}");
    let sent = client.note("datagrams_sent").unwrap().as_f64().unwrap();
    let received = client.note("datagrams_received").unwrap().as_f64().unwrap();
    assert!((200.0..=280.0).contains(&sent), "2 MB/s for 0.2 s is 276 datagrams: {sent}");
    assert!(received <= sent);
    assert!(goodput.iter().all(|rate| *rate < 4e6), "{goodput:?}");
    assert!(jitter.iter().all(|jitter| (0.0..0.1).contains(jitter)), "{jitter:?}");
}

#[test]
fn full_speed_and_tiny_datagrams() {
    let (client, _) = measure_pair("udp", &[("duration_s", "0.1")]);
    let cell = json!({"path": "loopback", "rate_bytes_per_s": "max", "size_bytes": "1448"});
    assert!(client.values("udp_bytes_per_s", &cell)[0] > 1e6);
    let (client, _) = measure_pair("udp", &[("duration_s", "0.1"), ("size_bytes", "1")]);
    let cell = json!({"path": "loopback", "rate_bytes_per_s": "max", "size_bytes": "1"});
    assert_eq!(client.values("udp_bytes_per_s", &cell).len(), 1);
    assert!(client.values("udp_jitter_s", &cell).is_empty(), "one byte carries no time");
}

#[test]
fn tiny_datagrams_can_not_be_told_apart_by_interval() {
    let mut client = job("udp", &[("size_bytes", "1"), ("duration_s", "2"), ("interval_s", "1")]);
    client["role"] = "client".into();
    let (code, stream) = Agent::run(&client).end();
    assert_eq!(code, 2);
    assert!(stream.error().contains("20 B"), "{}", stream.error());
}
