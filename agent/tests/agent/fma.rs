use crate::common::{job, measure};
use serde_json::json;

#[test]
fn one_value_per_interval_for_one_thread_and_for_all() {
    for (threads, precision) in [("one", "f64"), ("all", "f32"), ("3", "f64")] {
        let params = [("threads", threads), ("precision", precision), ("duration_s", "0.06"), ("interval_s", "0.02")];
        let stream = measure(&job("fma", &params));
        let values = stream.values("fma_flop_per_s", &json!({"precision": precision, "threads": threads}));
        assert!(!values.is_empty() && values.len() <= 3, "{values:?}");
        assert!(values.iter().all(|value| (1e8..1e15).contains(value)), "{values:?}");
        let times: Vec<f64> = stream.of("sample").map(|sample| sample["t_s"].as_f64().unwrap()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]) && *times.last().unwrap() >= 0.06, "{times:?}");
        assert!(stream.note("isa").is_some() && stream.note("disturbed").unwrap().is_boolean());
    }
}

/// The rate cannot exceed that of two of the widest units, by the clock measured right after.
#[test]
fn rate_is_plausible_for_the_clock() {
    let stream = measure(&job("fma", &[("duration_s", "0.1")]));
    let Some(clock_hz) = stream.note("clock_hz").and_then(|hz| hz.as_f64()) else { return };
    let lanes = match stream.note("isa").unwrap().as_str().unwrap() {
        "avx512f" => 8.0,
        "avx2+fma" => 4.0,
        _ => 2.0,
    };
    let per_cycle = stream.values("fma_flop_per_s", &json!({"precision": "f64", "threads": "one"}))[0] / clock_hz;
    // Two operations per lane; at most four units; a slightly higher clock during the run.
    assert!(per_cycle < 2.0 * lanes * 4.0 * 1.2, "{per_cycle} flop a cycle");
}
