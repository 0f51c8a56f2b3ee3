use crate::common::{Agent, job, measure};
use serde_json::json;

#[test]
fn each_product_has_a_rate_and_the_kernel_is_noted() {
    for threads in ["one", "2"] {
        let stream = measure(&job("gemm", &[("n", "150"), ("threads", threads), ("duration_s", "0.05")]));
        let values = stream.values("gemm_flop_per_s", &json!({"n": "150", "threads": threads}));
        assert!(!values.is_empty() && values.iter().all(|value| (1e7..1e14).contains(value)), "{values:?}");
        assert!(stream.note("blas_kernel").unwrap().as_str().unwrap().starts_with("gemm-f64 "));
    }
}

#[test]
fn matrices_larger_than_memory_are_refused() {
    let (code, stream) = Agent::run(&job("gemm", &[("n", "65536"), ("duration_s", "0.01")])).end();
    assert_eq!(code, 0);
    // 96 GiB: a machine with that much memory reaches the deadline instead of the refusal.
    assert!(["failed", "timeout"].contains(&stream.outcome.as_str()));
}
