//! What every probe of a table or queue service does with one that answers badly.

use serde_json::{Value, json};

use super::store::{Act, Store};
use super::{Agent, job};

/// A job of the probe with a data set at the store.
fn job_of(probe: &str, params: &[(&str, &str)], protocol: &str, store: &Store) -> Value {
    let data_set = if protocol == "sqs" { "000000000000/mine" } else { "mine" };
    let mut job = job(probe, params);
    job["role"] = "client".into();
    job["targets"] = json!([{"role": "service", "endpoint": store.url(), "protocol": protocol, "data_set": data_set}]);
    job
}

/// A service that refuses everything gives no figure and its own code; one that closes each connection gives none and
/// no hang; and a trial without a service is refused.
pub fn is_told(probe: &str, params: &[(&str, &str)], protocol: &str, answer: &'static str, says: &str) {
    for (act, says) in [(Act::Say(400, answer), says), (Act::Cut(0), "")] {
        let store = Store::start(move |_| act.clone());
        let (code, stream) = Agent::run(&job_of(probe, params, protocol, &store)).end();
        let found = (code, stream.outcome.as_str(), stream.of("hist").count());
        assert_eq!(found, (0, "failed", 0), "{:#?}", stream.frames);
        assert!(stream.error().contains(says), "{}", stream.error());
    }
    let (code, stream) = Agent::run(&job(probe, &[])).end();
    assert_eq!((code, stream.count()), (2, 0));
    assert!(stream.error().starts_with("bad job: "), "{}", stream.error());
}

pub const TABLE: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}"#;
pub const QUEUE: &str = r#"{"__type":"com.amazonaws.sqs#RequestThrottled"}"#;
