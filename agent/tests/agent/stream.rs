use crate::common::{Agent, job, measure};
use serde_json::json;

#[test]
fn triad_with_both_stores_and_a_warning_for_small_arrays() {
    for (store, threads) in [("nontemporal", "one"), ("plain", "all")] {
        let params = [("store", store), ("threads", threads), ("array_bytes", "4194304"), ("duration_s", "0.05")];
        let stream = measure(&job("stream", &params));
        let values = stream.values("triad_bytes_per_s", &json!({"store": store, "threads": threads}));
        assert_eq!(values.len(), 1);
        assert!((1e8..1e13).contains(&values[0]), "{values:?}");
        assert_eq!(stream.note("array_bytes"), Some(&json!(4_194_304)));
        assert!(stream.note("warning").is_some());
    }
}

#[test]
fn arrays_that_do_not_fit_or_cannot_be_shared_fail() {
    for (bytes, word) in [("17592186044416", "fit"), ("16384", "small")] {
        let (_, stream) = Agent::run(&job("stream", &[("array_bytes", bytes), ("threads", "64")])).end();
        assert_eq!(stream.outcome, "failed");
        assert!(stream.error().contains(word), "{}", stream.error());
    }
}
