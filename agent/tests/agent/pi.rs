use crate::common::{Agent, job, measure};
use serde_json::json;

#[test]
fn verified_digits_have_a_time() {
    for (digits, by) in [("10000", "digest"), ("2345", "hexadecimal_digits")] {
        let stream = measure(&job("pi", &[("digits", digits)]));
        let values = stream.values("pi_time_s", &json!({"digits": digits}));
        assert!(values.len() == 1 && (1e-6..10.0).contains(&values[0]), "{values:?}");
        assert_eq!(stream.note("verified_by").unwrap(), by);
        assert!(stream.note("cpu_time_s").unwrap().as_f64().unwrap() > 0.0);
    }
}

#[test]
fn too_few_digits_are_refused_in_one_line() {
    let (code, stream) = Agent::run(&job("pi", &[("digits", "99")])).end();
    assert_eq!((code, stream.error()), (2, "bad job: pi.digits can not be \"99\""));
}
