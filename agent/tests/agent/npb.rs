use crate::common::{Agent, job, measure};
use serde_json::json;

#[test]
fn a_small_flow_is_verified_with_one_and_two_threads() {
    for threads in ["one", "2"] {
        let job = job("npb", &[("benchmark", "bt"), ("class", "S"), ("threads", threads)]);
        let stream = measure(&job);
        let cell = json!({"benchmark": "bt", "class": "S", "threads": threads});
        let (rates, times) = (stream.values("npb_op_per_s", &cell), stream.values("npb_time_s", &cell));
        assert!(rates.len() == 1 && times.len() == 1 && times[0] > 0.0, "{rates:?} {times:?}");
        // 60 steps of 12^3 points by the published count.
        let operations = 60.0 * (3478.8 * 1728.0 - 17655.7 * 144.0 + 28023.7 * 12.0);
        assert!((rates[0] * times[0] / operations - 1.0).abs() < 1e-12);
        assert!(stream.note("verification_error").unwrap().as_f64().unwrap() < 1e-8);
        assert!(stream.note("isa").is_some() && stream.note("cpu_time_s").is_some());
    }
}

#[test]
fn an_unknown_benchmark_is_refused_in_one_line() {
    let (code, stream) = Agent::run(&job("npb", &[("benchmark", "xx")])).end();
    assert_eq!((code, stream.outcome.as_str(), stream.count()), (2, "failed", 0));
    assert_eq!(stream.error(), "bad job: npb.benchmark can not be \"xx\"");
}
