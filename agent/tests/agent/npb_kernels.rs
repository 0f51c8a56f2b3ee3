use crate::common::{Agent, job, measure};
use serde_json::json;

/// Each benchmark and its published count of operations for class S.
fn kernels() -> [(&'static str, f64); 5] {
    let points = 262_144.0_f64;
    let log = points.ln();
    [
        ("ep", 33_554_432.0),
        ("cg", 2.0 * 15.0 * 1400.0 * (3.0 + 56.0 + 25.0 * (5.0 + 56.0) + 3.0)),
        ("mg", 58.0 * 4.0 * 32_768.0),
        ("ft", points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * 6.0)),
        ("is", 655_360.0),
    ]
}

#[test]
fn every_kernel_is_verified_with_one_and_two_threads_and_its_published_count() {
    for (name, operations) in kernels() {
        for threads in ["one", "2"] {
            let stream = measure(&job("npb", &[("benchmark", name), ("class", "S"), ("threads", threads)]));
            let cell = json!({"benchmark": name, "class": "S", "threads": threads});
            let (rates, times) = (stream.values("npb_op_per_s", &cell), stream.values("npb_time_s", &cell));
            assert!(rates.len() == 1 && times.len() == 1 && times[0] > 0.0, "{name} {rates:?} {times:?}");
            assert!((rates[0] * times[0] / operations - 1.0).abs() < 1e-9, "{name} {}", rates[0] * times[0]);
            assert!(stream.note("verification_error").unwrap().as_f64().unwrap() < 1e-8);
        }
    }
}

#[test]
fn an_unknown_class_is_refused_in_one_line() {
    let (code, stream) = Agent::run(&job("npb", &[("benchmark", "cg"), ("class", "Z")])).end();
    assert_eq!((code, stream.outcome.as_str(), stream.count()), (2, "failed", 0));
    assert_eq!(stream.error(), "bad job: npb.class can not be \"Z\"");
}
