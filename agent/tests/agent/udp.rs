use crate::common::measure_pair;
use serde_json::json;

#[test]
fn a_low_rate_arrives_completely_in_every_interval() {
    let params = [("rate_bytes_per_s", "2000000"), ("duration_s", "0.2"), ("interval_s", "0.1")];
    let (client, _) = measure_pair("udp", &params);
    let cell = json!({"path": "loopback", "rate_bytes_per_s": "2000000", "size_bytes": "1448"});
    let goodput = client.values("udp_bytes_per_s", &cell);
    let loss = client.values("udp_loss_ratio", &cell);
    let jitter = client.values("udp_jitter_s", &cell);
    assert_eq!((goodput.len(), loss.len(), jitter.len()), (2, 1, 2));
    assert_eq!(client.values("udp_reordered_ratio", &cell), [0.0]);
    let sent = client.note("datagrams_sent").unwrap().as_f64().unwrap();
    let received = client.note("datagrams_received").unwrap().as_f64().unwrap();
    assert!((200.0..=277.0).contains(&sent), "2 MB/s for 0.2 s is 277 datagrams: {sent}");
    assert!(received <= sent);
    assert_eq!(loss, [(sent - received) / sent], "of all that was sent, in one value");
    assert_eq!(client.note("datagrams_refused"), Some(&json!(0)));
    let times: Vec<f64> =
        client.of("sample").filter(|s| s["metric"] == "udp_bytes_per_s").map(|s| s["t_s"].as_f64().unwrap()).collect();
    let bytes = goodput[0] * times[0] + goodput[1] * (times[1] - times[0]);
    assert!((bytes - received * 1448.0).abs() < 1.0 && times[1] >= 0.2, "{goodput:?} {times:?}");
    assert!(jitter.iter().all(|jitter| (0.0..0.1).contains(jitter)), "{jitter:?}");
}

#[test]
fn full_speed_and_tiny_datagrams() {
    let (client, _) = measure_pair("udp", &[("duration_s", "0.1")]);
    let cell = json!({"path": "loopback", "rate_bytes_per_s": "max", "size_bytes": "1448"});
    assert!(client.values("udp_bytes_per_s", &cell)[0] > 1e6);
}

#[test]
fn tiny_datagrams_have_intervals_and_loss_but_no_jitter() {
    for size in ["1", "19", "32"] {
        let params =
            [("size_bytes", size), ("rate_bytes_per_s", "20000"), ("duration_s", "0.3"), ("interval_s", "0.1")];
        let (client, _) = measure_pair("udp", &params);
        let cell = json!({"path": "loopback", "rate_bytes_per_s": "20000", "size_bytes": size});
        assert_eq!(client.values("udp_bytes_per_s", &cell).len(), 3);
        assert_eq!(client.values("udp_jitter_s", &cell).len(), if size == "32" { 3 } else { 0 });
        assert_eq!(client.values("udp_reordered_ratio", &cell).len(), usize::from(size == "32"));
        let count = |key| client.note(key).unwrap().as_u64().unwrap();
        assert!(count("datagrams_received") <= count("datagrams_sent"), "no cookie counts as data");
        assert_eq!(client.values("udp_loss_ratio", &cell).len(), 1);
    }
    let (client, _) = measure_pair("udp", &[("duration_s", "0.1"), ("size_bytes", "1")]);
    let cell = json!({"path": "loopback", "rate_bytes_per_s": "max", "size_bytes": "1"});
    assert!(client.values("udp_bytes_per_s", &cell)[0] > 1e3);
}
