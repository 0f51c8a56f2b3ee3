use crate::common::{cpus, job, measure};
use serde_json::json;

fn share(threads: &str) -> f64 {
    let params = [("threads", threads), ("duration_s", "0.4"), ("interval_s", "0.1")];
    let mut job = job("gaps", &params);
    job["cpus"] = json!([cpus()[0]]);
    let stream = measure(&job);
    let values = stream.values("gap_ratio", &json!({"least_s": "0.00002", "threads": threads}));
    assert!(!values.is_empty() && values.iter().all(|&one| (0.0..=1.0).contains(&one)), "{values:?}");
    let gaps = stream.note("gaps").unwrap().as_u64().unwrap();
    assert_eq!(stream.of("hist").count(), usize::from(gaps > 0));
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn three_threads_on_one_processor_lose_two_thirds_of_their_time() {
    let lost = share("3");
    assert!((0.55..0.9).contains(&lost), "{lost}");
    let alone = share("one");
    assert!(alone < lost, "{alone} {lost}");
}
