//! Tests: what a service or something before it may do to a connection, at any byte.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use serde_json::json;
use tokio::runtime::Runtime;

use super::call::{Blob, Call, Set};
use super::client::Client;
use super::lane::{Lane, Patience, Performed};
use super::load::runtime;
use super::outcome::Kind;
use super::target::Service;
use crate::clock::now_ns;

#[path = "../../tests/agent/common/store.rs"]
mod store;

use store::{Act, Store};

/// Longer than a busy machine keeps a thread from running, except where the silence itself is tested.
const PATIENT_NS: u64 = 5_000_000_000;
const SILENCE_NS: u64 = 60_000_000;
const BLOB: Blob = Blob { set: Set::Kept, size: 1000, index: 3, version: 0 };
/// The length of a right answer with its head.
const WHOLE: usize = "HTTP/1.1 200 Because\r\ncontent-length: 1000\r\n\r\n".len() + 1000;

/// A lane to a store whose next act can be chosen.
struct Bench {
    runtime: Runtime,
    store: Store,
    act: Arc<Mutex<Act>>,
    client: Arc<Client>,
}

impl Bench {
    fn new() -> Bench {
        let act = Arc::new(Mutex::new(Act::Right));
        let own = Arc::clone(&act);
        let store = Store::start(move |_| own.lock().unwrap().clone());
        let target = json!({"role": "service", "endpoint": store.url(), "protocol": "s3", "data_set": "mine"});
        let service = Service::read(target.as_object().unwrap(), |_| true).unwrap();
        let client = Arc::new(Client::new(&service, None).unwrap());
        let bench = Bench { runtime: runtime().unwrap(), store, act, client };
        assert!(bench.perform(Act::Right, &Call::Upload(BLOB)).result.is_ok());
        bench
    }

    /// Performs a call, and then a download on the same lane, which must be right again.
    fn perform(&self, act: Act, call: &Call) -> Performed {
        self.perform_within(PATIENT_NS, act, call)
    }

    fn perform_within(&self, silence_ns: u64, act: Act, call: &Call) -> Performed {
        *self.act.lock().unwrap() = act;
        self.runtime.block_on(async {
            let mut lane = Lane::new(&self.client, 0);
            let performed = one(&mut lane, &self.client, call, silence_ns).await;
            *self.act.lock().unwrap() = Act::Right;
            let again = one(&mut lane, &self.client, &Call::Download(BLOB), PATIENT_NS).await;
            assert!(again.result.is_ok(), "{:?}", again.result);
            performed
        })
    }

    fn kind(&self, act: Act) -> Option<Kind> {
        self.perform(act, &Call::Download(BLOB)).result.err().map(|failure| failure.kind)
    }
}

async fn one(lane: &mut Lane, client: &Client, call: &Call, silence_ns: u64) -> Performed {
    let patience = Patience { silence_ns, until_ns: now_ns() + 2 * PATIENT_NS };
    let request = client.protocol.request(call, SystemTime::now()).unwrap();
    lane.ready(patience).await.unwrap();
    lane.perform(call, request, false, patience).await
}

#[test]
fn a_connection_that_is_cut_at_any_byte_is_a_failure_and_the_lane_goes_on() {
    let bench = Bench::new();
    proptest!(|(at in 0..WHOLE)| {
        prop_assert_eq!(bench.kind(Act::Cut(at)), Some(Kind::Broken), "{} of {}", at, WHOLE);
    });
}

#[test]
fn a_connection_that_dies_silently_at_any_byte_is_a_timeout_in_time() {
    let bench = Bench::new();
    proptest!(ProptestConfig::with_cases(24), |(at in 0..WHOLE)| {
        let start = Instant::now();
        let performed = bench.perform_within(SILENCE_NS, Act::Hole(at), &Call::Download(BLOB));
        let kind = performed.result.err().map(|failure| failure.kind);
        prop_assert_eq!(kind, Some(Kind::Timeout), "{} of {}", at, WHOLE);
        let took = start.elapsed();
        prop_assert!(took >= Duration::from_nanos(SILENCE_NS) && took < Duration::from_secs(2), "{:?}", took);
    });
}

#[test]
fn a_body_with_any_wrong_byte_or_length_is_never_right() {
    let bench = Bench::new();
    proptest!(|(at in 0..1000_usize, bytes in 1..1000_usize)| {
        prop_assert_eq!(bench.kind(Act::Flip(at)), Some(Kind::WrongBody));
        prop_assert_eq!(bench.kind(Act::Lacking(bytes)), Some(Kind::WrongBody));
        prop_assert_eq!(bench.kind(Act::Short(bytes)), Some(Kind::Broken));
        prop_assert_eq!(bench.kind(Act::Long(bytes)), Some(Kind::WrongBody));
    });
}

#[test]
fn a_slow_answer_is_waited_for_as_long_as_bytes_come() {
    let bench = Bench::new();
    let start = Instant::now();
    let silence_ns = 400_000_000;
    let performed = bench.perform_within(silence_ns, Act::Drip(Duration::from_millis(1)), &Call::Download(BLOB));
    assert!(performed.result.is_ok(), "{:?}", performed.result);
    assert!(start.elapsed() > Duration::from_nanos(2 * silence_ns), "longer than one silence");
    assert!(performed.last_ns - performed.first_ns > 2 * silence_ns, "the first byte came long before the last");
}

#[test]
fn any_text_in_place_of_an_answer_never_panics_and_is_never_right() {
    let bench = Bench::new();
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    proptest!(|(status in 100_u16..1000, words in prop::sample::select(vec!["", "<Error><Code>", "<Code>SlowDown</Code>", "x"]))| {
        COUNT.fetch_add(1, Relaxed);
        let failed = if status < 200 { None } else { Some(bench.kind(Act::Say(status, words))) };
        prop_assert!(failed != Some(None), "{}", status);
    });
    assert!(COUNT.load(Relaxed) > 0 && bench.store.count() > 0);
}
