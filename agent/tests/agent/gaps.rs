use crate::common::{cpus, job, measure};
use serde_json::json;

/// The share of lost time by the gaps, and by the kernel's count of the processor time of all threads.
fn shares(threads: &str, count: f64) -> (f64, f64) {
    let params = [("threads", threads), ("duration_s", "0.4"), ("interval_s", "0.1")];
    let mut job = job("gaps", &params);
    job["cpus"] = json!([cpus()[0]]);
    let stream = measure(&job);
    let values = stream.values("gap_ratio", &json!({"least_s": "0.00002", "threads": threads}));
    assert!(!values.is_empty() && values.iter().all(|&one| (0.0..=1.05).contains(&one)), "{values:?}");
    let gaps = stream.note("gaps").unwrap().as_u64().unwrap();
    assert_eq!(stream.of("hist").count(), usize::from(gaps > 0));
    let note = |key| stream.note(key).unwrap().as_f64().unwrap();
    let used = note("cpu_time_s") / (count * note("elapsed_s"));
    (values.iter().sum::<f64>() / values.len() as f64, 1.0 - used)
}

#[test]
fn what_three_threads_on_one_processor_lose_is_what_the_kernel_did_not_give_them() {
    // Two thirds on a quiet machine, more on a busy one.
    let (lost, not_given) = shares("3", 3.0);
    assert!(lost > 0.5 && not_given > 0.5, "{lost} {not_given}");
    assert!((lost - not_given).abs() < 0.2, "{lost} {not_given}");
}

#[test]
fn one_thread_loses_what_others_take() {
    let (lost, not_given) = shares("one", 1.0);
    assert!((lost - not_given).abs() < 0.2, "{lost} {not_given}");
}
