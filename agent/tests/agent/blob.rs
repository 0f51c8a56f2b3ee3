//! Operations on a blob service that answers rightly, wrongly, late or not at all.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::{Value, json};

use crate::common::store::{Act, Asked, Store};
use crate::common::{Agent, Stream, job, measure, near, tries};

const FORBIDDEN: &str = "<Error><Code>InvalidAccessKeyId</Code><Message>The key 5ec3e7\n is not known</Message></Error>";

fn job_of(store: &Store, params: &[(&str, &str)]) -> Value {
    let mut all = vec![("duration_s", "0.5")];
    all.extend(params.iter().filter(|(name, _)| *name != "duration_s"));
    if let Some(duration) = params.iter().find(|(name, _)| *name == "duration_s") {
        all[0] = *duration;
    }
    let mut job = job("blob", &all);
    job["role"] = "client".into();
    job["targets"] = json!([{"role": "service", "endpoint": store.url(), "protocol": "s3", "data_set": "mine"}]);
    job
}

fn count(stream: &Stream, key: &str) -> u64 {
    stream.note(key).and_then(Value::as_u64).unwrap_or_else(|| panic!("no note {key}: {:#?}", stream.frames))
}

/// Whether a request is of the measured phase, and not of what is done before it.
fn is_measured(asked: &Asked) -> bool {
    asked.method == "GET" && !asked.headers.contains_key("range")
}

fn value(stream: &Stream, metric: &str) -> f64 {
    stream.of("sample").find(|frame| frame["metric"] == metric).and_then(|frame| frame["value"].as_f64()).unwrap()
}

#[test]
fn downloads_uploads_and_lists_are_measured_and_the_data_set_is_written_once() {
    let store = Store::start(|_| Act::Right);
    let stream = measure(&job_of(&store, &[("concurrency", "4")]));
    assert_eq!((count(&stream, "objects_written"), count(&stream, "connections")), (16, 4));
    let begun = count(&stream, "operations");
    assert_eq!(store.count(), begun + 17, "one look, 16 uploads, and not one request more");
    assert!(begun > 100 && value(&stream, "blob_bytes_per_s") > 1e5);
    assert_eq!((value(&stream, "blob_failed_ratio"), value(&stream, "blob_throttled_ratio")), (0.0, 0.0));
    assert_eq!(stream.of("hist").count(), 2);
    assert!(count(&stream, "payload_bytes") >= begun * 1024);
    let stream = measure(&job_of(&store, &[("reuse", "no")]));
    assert_eq!((count(&stream, "objects_written"), count(&stream, "connections")), (0, count(&stream, "operations")));
    let uploads = measure(&job_of(&store, &[("op", "upload"), ("size_bytes", "100000"), ("expect_continue", "yes")]));
    assert!(count(&uploads, "operations") > 4);
    let expected = store.asked.lock().unwrap().iter().filter(|asked| asked.headers.contains_key("expect")).count();
    assert_eq!(expected as u64, count(&uploads, "operations"));
    let lists = measure(&job_of(&store, &[("op", "list")]));
    assert!(count(&lists, "operations") > 4 && count(&lists, "wrong_bodies") == 0);
    let held = store.blobs.lock().unwrap();
    assert!(held["/mine/b/1024/000015"].len() == 1024 && held["/mine/u/100000/000003"].len() == 100_000);
}

#[test]
fn failures_are_counted_apart_by_kind_and_never_as_latencies() {
    let throttle = "<Error><Code>SlowDown</Code></Error>";
    for (act, key) in [
        (Act::Say(503, throttle), "throttled"),
        (Act::Say(500, ""), "server_errors"),
        (Act::Say(403, FORBIDDEN), "client_errors"),
        (Act::Flip(500), "wrong_bodies"),
        (Act::Lacking(1), "wrong_bodies"),
        (Act::Long(9), "wrong_bodies"),
        (Act::Short(1), "broken_connections"),
        (Act::Cut(9), "broken_connections"),
    ] {
        let planted = act.clone();
        let store = Store::start(move |asked| match asked {
            asked if is_measured(asked) && asked.number % 3 == 0 => planted.clone(),
            _ => Act::Right,
        });
        let stream = measure(&job_of(&store, &[("duration_s", "1")]));
        let measured = store.asked.lock().unwrap().iter().filter(|asked| is_measured(asked)).count() as u64;
        let planted = store.asked.lock().unwrap().iter().filter(|asked| is_measured(asked) && asked.number % 3 == 0).count();
        assert_eq!(count(&stream, "operations"), measured, "{act:?}");
        assert_eq!(count(&stream, key), planted as u64, "{act:?} {:#?}", stream.frames);
        let others = ["throttled", "server_errors", "client_errors", "timeouts", "wrong_bodies", "broken_connections"];
        let all: u64 = others.iter().map(|key| count(&stream, key)).sum();
        assert_eq!(all, planted as u64, "{act:?} {:#?}", stream.frames);
        let share = planted as f64 / measured as f64;
        let metric = if key == "throttled" { "blob_throttled_ratio" } else { "blob_failed_ratio" };
        assert!((value(&stream, metric) - share).abs() < 1e-9, "{act:?}");
        assert_eq!(stream.note("limiter").unwrap() == "service throttle", key == "throttled", "{planted} of {measured}");
        let spoilt = if matches!(act, Act::Say(..)) { 0 } else { planted as u64 };
        assert!(count(&stream, "connections") <= 1 + spoilt, "an error of the service ends no connection: {act:?}");
    }
}

#[test]
fn a_service_that_refuses_or_hangs_ends_the_trial_with_one_line_and_in_time() {
    let ends = |act: Act, deadline_s: f64, words: &str| {
        let store = Store::start(move |_| act.clone());
        let mut job = job_of(&store, &[]);
        job["deadline_s"] = deadline_s.into();
        let start = Instant::now();
        let (code, stream) = Agent::run(&job).end();
        assert_eq!((code, stream.outcome.as_str(), stream.count()), (0, "failed", 0), "{:#?}", stream.frames);
        assert!(stream.error().contains(words), "{}", stream.error());
        assert!(start.elapsed() < Duration::from_secs_f64(deadline_s + 1.0), "{:?}", start.elapsed());
    };
    ends(Act::Say(403, FORBIDDEN), 20.0, "403 InvalidAccessKeyId: The key 5ec3e7 is not known");
    ends(Act::Hole(0), 2.0, "no byte for");
    ends(Act::Hole(30), 2.0, "no byte for");
    ends(Act::Cut(0), 20.0, "the connection ended before an answer");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut job = job_of(&Store::start(|_| Act::Right), &[]);
    job["targets"][0]["endpoint"] = format!("http://{closed}").into();
    let (_, stream) = Agent::run(&job).end();
    assert!(stream.outcome == "failed" && stream.error().contains("cannot connect"), "{}", stream.error());
}

#[test]
fn a_black_hole_in_the_measured_phase_is_a_timeout_and_the_lane_goes_on() {
    let store = Store::start(|asked| if is_measured(asked) && asked.number == 40 { Act::Hole(50) } else { Act::Right });
    let mut job = job_of(&store, &[]);
    job["deadline_s"] = 1.2.into();
    let stream = measure(&job);
    assert_eq!((count(&stream, "timeouts"), count(&stream, "connections")), (1, 2), "{:#?}", stream.frames);
    assert!(count(&stream, "operations") > 40);
}

#[test]
fn caps_of_operations_and_bytes_end_the_trial_exactly() {
    for (cap, word) in [(json!({"operations": 100}), "operations"), (json!({"bytes": 60_000}), "byte cap")] {
        let store = Store::start(|_| Act::Right);
        let mut job = job_of(&store, &[]);
        job["caps"] = cap.clone();
        let (_, stream) = Agent::run(&job).end();
        assert_eq!((stream.outcome.as_str(), stream.count()), ("aborted", 0));
        assert!(stream.error().contains(word), "{}", stream.error());
        if let Some(most) = cap["operations"].as_u64() {
            assert_eq!(store.count(), most);
        }
        assert!(count(&stream, "payload_bytes") <= 60_000 || word == "operations");
    }
    let store = Store::start(|_| Act::Right);
    let mut job = job_of(&store, &[("rate_per_s", "1000"), ("duration_s", "1")]);
    job["caps"] = json!({"operations": 999});
    let (code, stream) = Agent::run(&job).end();
    assert_eq!((code, store.count()), (2, 0));
    assert!(stream.error().contains("the cap is 999 operations"), "{}", stream.error());
}

#[test]
fn what_the_agent_does_not_do_is_refused_before_a_request() {
    let store = Store::start(|_| Act::Right);
    for (change, params, words) in [
        (json!({}), &[("client", "sdk-python")][..], "client is not native"),
        (json!({}), &[("rate_per_s", "5"), ("concurrency", "max")][..], "exclude each other"),
        (json!({"ca": "-----BEGIN CERTIFICATE-----\nnone"}), &[][..], "ca"),
    ] {
        let mut job = job_of(&store, params);
        for (key, value) in change.as_object().unwrap() {
            job["targets"][0][key] = value.clone();
        }
        if change.get("ca").is_some() {
            job["targets"][0]["endpoint"] = store.url().replace("http:", "https:").into();
        }
        let (_, stream) = Agent::run(&job).end();
        assert!(stream.outcome == "failed" && stream.error().contains(words), "{}", stream.error());
    }
    let mut job = job_of(&store, &[]);
    job["targets"][0]["credential_ref"] = "mine".into();
    job["credentials"] = json!({"mine": {"kind": "sas", "query": "sig=5ec3e7"}});
    let (code, stream) = Agent::run(&job).end();
    assert!(code == 2 && stream.error().contains("takes a credential of kind sigv4"), "{}", stream.error());
    assert_eq!(store.count(), 0);
}

/// Returns the latency at a share of all, s.
fn latency_s(stream: &Stream, share: f64) -> f64 {
    let frame = stream.of("hist").find(|frame| frame["metric"] == "blob_latency_s").unwrap();
    let bytes = STANDARD.decode(frame["hist"].as_str().unwrap()).unwrap();
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    histogram.value_at_quantile(share) as f64 * 1e-9
}

/// A store that answers nothing from 0.5 s to 1.5 s after the first measured request.
fn stalling() -> Store {
    let first: OnceLock<Instant> = OnceLock::new();
    Store::start(move |asked| {
        if is_measured(asked) {
            let since = first.get_or_init(Instant::now).elapsed();
            if (0.5..1.5).contains(&since.as_secs_f64()) {
                return Act::Slow(Duration::from_millis(1500) - since);
            }
        }
        Act::Right
    })
}

#[test]
fn a_stall_of_one_second_is_seen_by_an_open_loop_and_hidden_by_a_closed_one() {
    let run = |params: &[(&str, &str)]| {
        let mut all = vec![("duration_s", "2")];
        all.extend(params);
        measure(&job_of(&stalling(), &all))
    };
    // Half of the starts fall into the stall, and wait for its end: uniformly between nothing and a second.
    let right = [(0.75, 0.5), (0.9, 0.8), (0.99, 0.98)];
    tries(|| {
        let open = run(&[("rate_per_s", "200"), ("concurrency", "64")]);
        let seen = right.map(|(share, _)| latency_s(&open, share));
        let good = right.iter().zip(seen).all(|(&(_, right_s), seen_s)| near(seen_s, right_s, 0.05));
        good.then_some(()).ok_or(format!("{seen:?}, and {right:?} is right"))
    });
    let closed = run(&[("concurrency", "1")]);
    assert!(latency_s(&closed, 0.9) < 0.25, "a closed loop asks nothing while it waits");
}

fn paced(store: &Store, rate: &str) -> Stream {
    let stream = measure(&job_of(store, &[("rate_per_s", rate), ("concurrency", "16"), ("duration_s", "1")]));
    let (planned, dropped) = (count(&stream, "planned_starts"), count(&stream, "dropped_starts"));
    assert_eq!(count(&stream, "operations") + dropped, planned, "every start is made or dropped");
    stream
}

#[test]
fn an_open_loop_keeps_its_rate_whatever_the_answers_do() {
    let slow = |asked: &Asked| match is_measured(asked) {
        true => Act::Slow(Duration::from_millis(100)),
        false => Act::Right,
    };
    for (store, rate) in [(Store::start(|_| Act::Right), 200), (Store::start(slow), 100)] {
        tries(|| {
            let stream = paced(&store, &rate.to_string());
            assert_eq!((count(&stream, "planned_starts"), stream.note("loop").unwrap()), (rate, &json!("open")));
            let (dropped, saturated) = (count(&stream, "dropped_starts"), stream.note("saturated").unwrap());
            let good = dropped == 0 && saturated == &json!(false);
            good.then_some(()).ok_or(format!("of {rate} starts {dropped} were dropped: saturated {saturated}"))
        });
    }
}

#[test]
fn concurrency_max_is_where_throughput_stops_growing() {
    let store = Store::start(|asked| match is_measured(asked) {
        true => Act::Slow(Duration::from_millis(20)),
        false => Act::Right,
    });
    // A machine that stands still for a step sees no growth there.
    tries(|| {
        let stream = measure(&job_of(&store, &[("concurrency", "max"), ("duration_s", "2")]));
        let most = count(&stream, "concurrency_reached");
        (most >= 8).then_some(()).ok_or(format!("growth ended at {most}"))
    });
}
