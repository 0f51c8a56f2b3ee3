use crate::common::measure_pair;
use serde_json::json;

#[test]
fn round_trips_of_both_protocols_and_of_a_spaced_one() {
    for (protocol, interval_s, size) in [("tcp", "0", "64"), ("udp", "0", "64"), ("tcp", "0.002", "1")] {
        let params = [("protocol", protocol), ("interval_s", interval_s), ("size_bytes", size), ("duration_s", "0.1")];
        let (client, _) = measure_pair("rtt", &params);
        let hists: Vec<_> = client.of("hist").collect();
        assert_eq!(hists.len(), 1);
        assert_eq!(hists[0]["metric"], "rtt_s");
        assert_eq!(hists[0]["params"], json!({"path": "loopback", "protocol": protocol, "size_bytes": size}));
        assert!(hists[0]["hist"].as_str().unwrap().starts_with("HISTF"));
        let trips = client.note("round_trips").unwrap().as_u64().unwrap();
        let most = if interval_s == "0" { 1_000_000 } else { 50 };
        assert!((3..=most).contains(&trips), "{protocol} {interval_s}: {trips}");
        let (kind, missed) = (client.note("loop").unwrap(), client.note("missed").unwrap().as_u64().unwrap());
        assert_eq!(kind, if interval_s == "0" { "closed" } else { "open" });
        let slots = if interval_s == "0" { 0 } else { 50 - trips };
        assert_eq!(missed, slots, "each slot is sent or missed");
        assert_eq!(client.note("spacing_s").unwrap().as_f64(), interval_s.parse().ok());
    }
}
