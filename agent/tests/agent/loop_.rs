use crate::common::{job, measure};
use serde_json::json;

#[test]
fn one_value_per_loop() {
    let stream = measure(&job("loop", &[("iterations", "2"), ("loops", "5")]));
    let values = stream.values("n_index", &json!({"iterations": "2", "loops": "5"}));
    // Five dependent operations per step: never one per cycle, and never as few as one per thousand cycles.
    assert!(values.len() == 5 && values.iter().all(|value| (0.1..100.0).contains(value)), "{values:?}");
    assert!(stream.note("clock_hz").unwrap().as_f64().unwrap() > 1e8);
}
