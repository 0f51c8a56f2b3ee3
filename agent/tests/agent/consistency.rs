//! Time to consistency of a store whose reads return a change late.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::store::{Act, Asked, Store};
use crate::common::{Agent, Stream, job, measure};

const NONE: &str = "<Error><Code>NoSuchKey</Code></Error>";

fn job_of(store: &Store, change: &str) -> Value {
    let mut job = job("consistency", &[("service", "blob"), ("change", change), ("duration_s", "1")]);
    job["role"] = "client".into();
    job["targets"] = json!([{"role": "service", "endpoint": store.url(), "protocol": "s3", "data_set": "mine"}]);
    job
}

/// A store that does not show a new blob to reads that begin within this time of its upload.
fn late(delay: Duration) -> Store {
    let written: Arc<Mutex<BTreeMap<String, Instant>>> = Arc::default();
    Store::start(move |asked: &Asked| {
        let mut written = written.lock().unwrap();
        if asked.method == "PUT" {
            written.insert(asked.target.clone(), Instant::now());
        }
        match written.get(&asked.target) {
            Some(then) if asked.method == "GET" && then.elapsed() < delay => Act::Say(404, NONE),
            _ => Act::Right,
        }
    })
}

fn delays(stream: &Stream) -> Vec<f64> {
    stream.values("consistency_time_s", &json!({"service": "blob", "change": "write", "read": "eventual"}))
}

fn stale(stream: &Stream) -> f64 {
    let sample = stream.of("sample").find(|frame| frame["metric"] == "stale_read_ratio").unwrap();
    sample["value"].as_f64().unwrap()
}

#[test]
fn a_planted_delay_is_seen_and_none_is_none() {
    let stream = measure(&job_of(&late(Duration::from_millis(40)), "write"));
    let mut seen = delays(&stream);
    seen.sort_by(f64::total_cmp);
    let median = seen[seen.len() / 2];
    assert!(seen.len() >= 4 && (0.035..0.08).contains(&median), "{seen:?}");
    assert!(stale(&stream) > 0.9, "{}", stale(&stream));
    assert_eq!((stream.note("censored").unwrap(), stream.note("server_errors").unwrap()), (&json!(0), &json!(0)));
    let at_once = measure(&job_of(&Store::start(|_| Act::Right), "write"));
    assert!(delays(&at_once).iter().all(|&delay| delay == 0.0) && stale(&at_once) == 0.0);
}

#[test]
fn updates_deletes_and_lists_are_followed_too() {
    for change in ["update", "delete", "list"] {
        let stream = measure(&job_of(&Store::start(|_| Act::Right), change));
        let changes = stream.note("changes").and_then(Value::as_u64).unwrap();
        assert!(changes > 5 && stale(&stream) == 0.0, "{change}: {:#?}", stream.frames);
    }
}

#[test]
fn a_change_that_is_never_seen_is_censored_at_the_wait() {
    let stream = measure(&job_of(&late(Duration::from_secs(60)), "write"));
    let seen = delays(&stream);
    assert!(!seen.is_empty() && seen.iter().all(|&delay| delay == 0.5), "{seen:?}");
    assert_eq!(stream.note("censored").and_then(Value::as_u64), Some(seen.len() as u64));
}

#[test]
fn what_a_service_cannot_answer_is_refused_before_a_request() {
    let store = Store::start(|_| Act::Right);
    for (change, words) in [("write", "s3 has no such operation"), ("update", "a message in a queue has no update")] {
        let mut job = job_of(&store, change);
        job["params"]["service"] = "queue".into();
        let (code, stream) = Agent::run(&job).end();
        assert!(code == 2 && stream.error().contains(words), "{}", stream.error());
    }
    assert_eq!(store.count(), 0);
}
