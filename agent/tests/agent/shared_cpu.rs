//! Many threads on one CPU, beside one thread there.

use crate::common::{Stream, cpus, job, measure, near};
use serde_json::json;

fn run(threads: &str) -> Stream {
    let mut job = job("fma", &[("threads", threads), ("duration_s", "0.4"), ("interval_s", "0.4")]);
    job["cpus"] = json!([cpus()[0]]);
    measure(&job)
}

/// Returns the rate, and the threads' total share of the CPU: another process's work is not the agent's error.
fn rate_and_share(stream: &Stream, threads: &str) -> (f64, f64) {
    let rate = stream.values("fma_flop_per_s", &json!({"precision": "f64", "threads": threads}))[0];
    let note = |key| stream.note(key).unwrap().as_f64().unwrap();
    (rate, note("cpu_time_s") / note("elapsed_s"))
}

#[test]
fn sixteen_threads_on_one_cpu_are_as_fast_as_one() {
    // The clock of a shared machine changes by a tenth from one run to the next, up as often as down.
    let mut ratios = Vec::new();
    for _ in 0..12 {
        let ((one, one_share), many) = (rate_and_share(&run("1"), "1"), run("16"));
        assert_eq!((many.note("threads"), many.note("cpus_used")), (Some(&json!(16)), Some(&json!(1))));
        let (rate, share) = rate_and_share(&many, "16");
        ratios.push((rate / share) / (one / one_share));
        if near(ratios.iter().sum::<f64>() / ratios.len() as f64, 1.0, 0.05) {
            return;
        }
    }
    panic!("16 threads beside 1 on one CPU: {ratios:?}");
}
