use crate::common::{Agent, job, measure};
use serde_json::json;

fn latency_s(size_bytes: &str, pages: &str) -> f64 {
    let params = [("size_bytes", size_bytes), ("pages", pages), ("duration_s", "0.4")];
    let stream = measure(&job("chase", &params));
    let mut values = stream.values("chase_latency_s", &json!({"pages": pages, "size_bytes": size_bytes}));
    values.sort_by(f64::total_cmp);
    assert!(values.len() >= 2, "a median needs some: {values:?}");
    values[values.len() / 2]
}

#[test]
fn a_load_from_the_first_cache_is_faster_than_one_from_memory() {
    let (near, far) = (latency_s("16384", "base"), latency_s("134217728", "base"));
    assert!((1e-10..2e-8).contains(&near), "{near}");
    assert!(far > 4.0 * near && far < 1e-5, "{near} {far}");
}

#[test]
fn huge_pages_are_huge_or_the_trial_fails() {
    let (_, stream) = Agent::run(&job("chase", &[("pages", "huge"), ("duration_s", "0.02")])).end();
    match stream.outcome.as_str() {
        "ok" => assert!(stream.count() > 0),
        outcome => assert!(outcome == "failed" && stream.error().contains("base pages"), "{}", stream.error()),
    }
}
