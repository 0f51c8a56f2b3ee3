use crate::common::{job, measure};
use serde_json::json;

#[test]
fn the_share_of_the_peak_is_bounded() {
    let stream = measure(&job("peak", &[("duration_s", "0.05")]));
    let cell = json!({"clock_hz": "measured", "per_cycle": "auto", "precision": "f64", "threads": "one"});
    let values = stream.values("peak_ratio", &cell);
    assert!(values.len() == 1 && (0.01..2.1).contains(&values[0]), "{values:?}"); // a core may have four units, not two
    assert!(stream.note("per_cycle").unwrap().as_f64().unwrap() >= 4.0);
}

#[test]
fn a_stated_clock_divides_and_threads_beyond_the_processors_do_not_raise_the_peak() {
    let share = |clock: &'static str, threads: &'static str| {
        let params = [("clock_hz", clock), ("threads", threads), ("per_cycle", "1"), ("duration_s", "0.1")];
        let cell = json!({"clock_hz": clock, "per_cycle": "1", "precision": "f64", "threads": threads});
        measure(&job("peak", &params)).values("peak_ratio", &cell)[0]
    };
    let (slow, fast) = (share("1000000", "1"), share("1000000000", "1"));
    // A thousand times the clock is a thousandth of the share; on a busy machine each of the two may be several times off.
    assert!((30.0..30_000.0).contains(&(slow / fast)), "{slow} {fast}");
    let (two, eight) = (share("1000000000", "2"), share("1000000000", "8"));
    assert!((0.2..5.0).contains(&(eight / two)), "{two} {eight}");
}
