use crate::common::{job, measure};
use serde_json::json;

#[test]
fn integer_rate_for_one_thread_and_for_all() {
    for threads in ["one", "all"] {
        let stream = measure(&job("int", &[("threads", threads), ("duration_s", "0.05")]));
        let values = stream.values("int_op_per_s", &json!({"threads": threads}));
        assert_eq!(values.len(), 1);
        assert!((1e8..1e15).contains(&values[0]), "{values:?}");
        assert!(stream.note("isa").is_some() && stream.note("cpu_time_s").unwrap().as_f64().unwrap() > 0.0);
    }
}
