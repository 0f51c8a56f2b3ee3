use crate::common::{job, measure};
use serde_json::json;

#[test]
fn every_thread_finds_the_known_placement() {
    let mut lengths = Vec::new();
    for threads in ["one", "all", "3"] {
        let stream = measure(&job("twolf", &[("cells", "300"), ("threads", threads)]));
        let values = stream.values("twolf_time_s", &json!({"cells": "300", "threads": threads}));
        assert!(values.len() == 1 && values[0] > 0.0, "{values:?}");
        lengths.push(stream.note("wire_length").unwrap().clone());
    }
    assert!(lengths.iter().all(|length| *length == lengths[0]), "{lengths:?}");
}
