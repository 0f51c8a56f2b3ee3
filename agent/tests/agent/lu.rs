use crate::common::{Agent, job, measure};
use serde_json::json;

#[test]
fn one_sample_per_solve_and_a_small_residual() {
    for threads in ["one", "2"] {
        let stream = measure(&job("lu", &[("n", "200"), ("threads", threads), ("duration_s", "0.05")]));
        let values = stream.values("lu_flop_per_s", &json!({"n": "200", "threads": threads}));
        assert!(!values.is_empty() && values.iter().all(|value| (1e7..1e14).contains(value)), "{values:?}");
        let kernel = stream.note("blas_kernel").unwrap().as_str().unwrap();
        assert!(kernel.starts_with("gemm-f64 "), "{kernel}");
        let residual = stream.note("scaled_residual").unwrap().as_f64().unwrap();
        assert!((0.0..16.0).contains(&residual));
    }
}

#[test]
fn at_least_one_solve_however_short_the_time() {
    let stream = measure(&job("lu", &[("n", "500"), ("duration_s", "0.001")]));
    assert!(stream.count() >= 1);
}

#[test]
fn a_system_larger_than_memory_is_refused_before_it_is_made() {
    let vast = job("lu", &[("n", "65536")]);
    let (code, stream) = Agent::run(&with_deadline(vast)).end();
    // 64 GiB: a machine with that much memory reaches the deadline instead of the refusal.
    assert_eq!(code, 0);
    assert!(["failed", "timeout"].contains(&stream.outcome.as_str()));
}

fn with_deadline(mut job: serde_json::Value) -> serde_json::Value {
    job["deadline_s"] = 2.0.into();
    job
}
