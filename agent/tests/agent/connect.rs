use crate::common::measure_pair;
use serde_json::json;

#[test]
fn connections_are_set_up_and_each_is_counted_at_both_ends() {
    let (client, server) = measure_pair("connect", &[("duration_s", "0.3"), ("interval_s", "0.1")]);
    let rates = client.values("connect_op_per_s", &json!({"path": "loopback"}));
    assert!(rates.len() <= 3 && rates.iter().all(|rate| (10.0..1e7).contains(rate)), "{rates:?}");
    assert_eq!(client.of("hist").count(), 1);
    let count = |key| client.note(key).unwrap().as_u64().unwrap();
    assert_eq!(count("connections_failed"), 0);
    // One that was reset before it was accepted is gone from the queue.
    assert!(count("connections_accepted") <= count("connections"));
    assert!(count("connections_accepted") * 2 > count("connections"), "{}", count("connections_accepted"));
    assert!(server.note("payload_bytes").is_some());
}
