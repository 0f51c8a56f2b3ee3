//! Time to consistency of a store whose reads return a change late.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::store::{Act, Asked, Store};
use crate::common::{Agent, Stream, client_of, job, measure, server_of, tries};

const NONE: &str = "<Error><Code>NoSuchKey</Code></Error>";

/// The job of a reader whose changes another agent makes, and that of the writer.
fn jobs_of_two(store: &Store, change: &str, address: &str) -> (Value, Value) {
    let mut alone = job_of(store, change);
    alone["params"]["writer"] = "loopback".into();
    let service = alone["targets"][0].clone();
    let with_service = |mut job: Value| {
        job["targets"].as_array_mut().unwrap().push(service.clone());
        job
    };
    (with_service(client_of(alone.clone(), address)), with_service(server_of(alone.clone())))
}

/// Runs a reader and a writer of changes; returns what each said.
fn read_and_write(store: &Store, change: &str) -> (Stream, Stream) {
    let mut writer = Agent::run(&jobs_of_two(store, change, "127.0.0.1:1").1);
    assert_eq!(writer.frame()["type"], "hello");
    let address = writer.frame()["addr"].as_str().unwrap().to_owned();
    let (_, reader) = Agent::run(&jobs_of_two(store, change, &address).0).end();
    (reader, writer.end().1)
}

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
    tries(|| {
        let stream = measure(&job_of(&late(Duration::from_millis(40)), "write"));
        assert_eq!((stream.note("censored").unwrap(), stream.note("server_errors").unwrap()), (&json!(0), &json!(0)));
        let mut seen = delays(&stream);
        seen.sort_by(f64::total_cmp);
        let good = seen.len() >= 4 && (0.035..0.08).contains(&seen[seen.len() / 2]) && stale(&stream) > 0.9;
        good.then_some(()).ok_or_else(|| format!("{} stale, {seen:?}", stale(&stream)))
    });
    let at_once = measure(&job_of(&Store::start(|_| Act::Right), "write"));
    assert!(delays(&at_once).iter().all(|&delay| delay == 0.0) && stale(&at_once) == 0.0);
}

#[test]
fn updates_deletes_and_lists_are_followed_too() {
    for change in ["update", "delete", "list"] {
        let stream = measure(&job_of(&Store::start(|_| Act::Right), change));
        let changes = stream.note("changes").and_then(Value::as_u64).unwrap();
        assert!(changes > 0 && stale(&stream) == 0.0, "{change}: {:#?}", stream.frames);
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

#[test]
fn another_agent_makes_the_changes_and_its_way_is_noted() {
    for change in ["write", "update", "delete", "list"] {
        tries(|| {
            let store = late(Duration::from_millis(if change == "write" { 40 } else { 0 }));
            let (reader, writer) = read_and_write(&store, change);
            assert_eq!((reader.outcome.as_str(), writer.outcome.as_str()), ("ok", "ok"), "{:#?}", reader.frames);
            let way_s = |key| reader.note(key).and_then(Value::as_f64).unwrap();
            assert!(0.0 < way_s("writer_way_s") && way_s("writer_way_s") <= way_s("writer_way_max_s"));
            // Only the writer writes, once an order; only the reader reads.
            let asked = store.asked.lock().unwrap();
            let writes = asked.iter().filter(|one| one.method != "GET").count() as u64;
            assert_eq!(writer.note("operations").and_then(Value::as_u64), Some(writes));
            assert_eq!(reader.note("writer_operations").and_then(Value::as_u64), Some(writes));
            assert_eq!(reader.note("operations").and_then(Value::as_u64), Some(asked.len() as u64));
            assert_eq!(writer.count(), 0, "only the reader sends samples");
            let cell = json!({"service": "blob", "change": change, "read": "eventual", "writer": "loopback"});
            let mut seen = reader.values("consistency_time_s", &cell);
            seen.sort_by(f64::total_cmp);
            let median = seen[seen.len() / 2];
            let good = change != "write" || median < 0.08 && median + way_s("writer_way_max_s") > 0.035;
            good.then_some(()).ok_or_else(|| format!("{seen:?}"))
        });
    }
}

#[test]
fn the_failure_of_another_writer_is_told_with_the_services_code() {
    let store = Store::start(|asked: &Asked| match asked.method.as_str() {
        "PUT" => Act::Say(503, "<Error><Code>SlowDown</Code></Error>"),
        _ => Act::Right,
    });
    let (reader, writer) = read_and_write(&store, "write");
    assert_eq!((reader.outcome.as_str(), writer.outcome.as_str(), reader.count()), ("failed", "failed", 0));
    assert!(reader.error().contains("the writer: 503 SlowDown"), "{}", reader.error());
    let throttled = |stream: &Stream| stream.note("throttled").and_then(Value::as_u64);
    assert_eq!((throttled(&reader), throttled(&writer)), (Some(4), Some(4)));
}

#[test]
fn jobs_whose_writer_does_not_fit_their_targets_are_refused() {
    let store = Store::start(|_| Act::Right);
    let (reader, writer) = jobs_of_two(&store, "write", "127.0.0.1:9");
    let refused = |job: &Value, words: &str| {
        let (code, stream) = Agent::run(job).end();
        assert_eq!((code, stream.of("ready").count()), (2, 0));
        assert!(stream.error().contains(words), "{}", stream.error());
    };
    for job in [&reader, &writer] {
        let mut own = job.clone();
        own["params"]["writer"] = "here".into();
        refused(&own, "writer is here, and the targets name another agent");
    }
    let mut alone = job_of(&store, "write");
    alone["params"]["writer"] = "zone".into();
    refused(&alone, "writer is zone, and the targets name no other agent");
    let mut table = reader.clone();
    (table["probe"], table["params"]) = ("blob".into(), json!({}));
    refused(&table, "blob measures a service with one agent");
    (table["probe"], table["role"]) = ("blob".into(), "server".into());
    refused(&table, "bad job");
    assert_eq!(store.count(), 0);
}
