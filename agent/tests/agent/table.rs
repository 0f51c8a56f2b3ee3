//! Operations on a table service that answers badly; right answers are compared by the tests of the controller.

use serde_json::{Value, json};

use crate::common::store::{Act, Store};
use crate::common::{Agent, job};

const THROTTLED: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"too much"}"#;

fn job_of(store: &Store) -> Value {
    let mut job = job("table", &[("duration_s", "0.2"), ("entries", "20")]);
    job["role"] = "client".into();
    job["targets"] =
        json!([{"role": "service", "endpoint": store.url(), "protocol": "dynamodb", "data_set": "mine"}]);
    job["credentials"] = Value::Null;
    job
}

#[test]
fn a_service_that_refuses_everything_gives_no_figure_and_its_own_code() {
    let (code, stream) = Agent::run(&job_of(&Store::start(|_| Act::Say(400, THROTTLED)))).end();
    assert_eq!((code, stream.outcome.as_str(), stream.of("hist").count()), (0, "failed", 0), "{:#?}", stream.frames);
    assert!(stream.error().contains("ProvisionedThroughputExceededException"), "{}", stream.error());
}

#[test]
fn a_connection_that_is_closed_at_once_is_a_failure_and_no_hang() {
    let (_, stream) = Agent::run(&job_of(&Store::start(|_| Act::Cut(0)))).end();
    assert_eq!((stream.outcome.as_str(), stream.of("hist").count()), ("failed", 0), "{:#?}", stream.frames);
}

#[test]
fn a_trial_without_a_service_is_refused() {
    let (code, stream) = Agent::run(&job("table", &[])).end();
    assert_eq!((code, stream.count()), (2, 0));
    assert!(stream.error().starts_with("bad job: "), "{}", stream.error());
}
