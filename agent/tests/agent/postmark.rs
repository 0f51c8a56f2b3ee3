use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Agent, Folder, Stream, job, measure};
use serde_json::{Value, json};

fn postmark(folder: &Path, params: &[(&str, &str)]) -> Value {
    let small = [("files", "100"), ("transactions", "400"), ("size_bytes", "500-10000")];
    let given: Vec<_> = small.into_iter().filter(|(key, _)| params.iter().all(|(given, _)| given != key)).collect();
    let mut job = job("postmark", &[&given[..], params].concat());
    job["dir"] = folder.to_str().unwrap().into();
    job
}

fn value(stream: &Stream, metric: &str, op: &str) -> Option<f64> {
    let of = |sample: &&Value| sample["metric"] == metric && (op.is_empty() || sample["params"]["op"] == op);
    stream.of("sample").find(of).map(|sample| sample["value"].as_f64().unwrap())
}

fn check(params: &[(&str, &str)]) -> Stream {
    let folder = Folder::new("postmark");
    let stream = measure(&postmark(&folder.0, params));
    let rates: Vec<f64> = stream.of("sample").map(|sample| sample["value"].as_f64().unwrap()).collect();
    assert!(rates.iter().all(|rate| *rate > 0.0), "{rates:?}");
    assert!(stream.note("verified_files").unwrap().as_u64().unwrap() > 0, "files were read back");
    assert_eq!(folder.files(), 0, "the files are gone");
    stream
}

#[test]
fn transactions_and_their_operations_add_up() {
    let stream = check(&[]);
    let cell = json!({
        "buffered": "yes", "files": "100", "folders": "1", "size_bytes": "500-10000", "transactions": "400"
    });
    let per_s = stream.values("postmark_op_per_s", &cell)[0];
    let file = |op: &str| value(&stream, "postmark_file_op_per_s", op).unwrap();
    // Each transaction creates or deletes a file, and reads one or appends to one unless that file is full.
    assert!(((file("create") + file("delete")) / per_s - 1.0).abs() < 1e-9);
    let either = (file("read") + file("append")) / per_s;
    assert!(either > 0.98 && either < 1.0 + 1e-9, "{either}");
    let whole_s = stream.values("postmark_time_s", &cell)[0];
    let made_s = 400.0 / per_s + 100.0 / file("create_alone");
    assert!(whole_s > made_s && whole_s < 10.0, "{whole_s} {made_s}");
    let bytes = |op: &str| value(&stream, "postmark_bytes_per_s", op).unwrap() * whole_s;
    // 100 files and about 200 more of 5250 B on average, and about 200 appends; about 200 reads.
    assert!((1.2e6..3.5e6).contains(&bytes("write")) && (5e5..2.5e6).contains(&bytes("read")));
    assert!(stream.note("page_cache").unwrap().as_str().unwrap().contains("fit into memory"));
}

#[test]
fn the_same_seed_does_the_same_work_with_any_block_size() {
    let work = |params: &[(&str, &str)]| {
        let stream = check(params);
        let whole_s = value(&stream, "postmark_time_s", "").unwrap();
        let bytes = ["read", "write"].map(|op| (value(&stream, "postmark_bytes_per_s", op).unwrap() * whole_s).round());
        (bytes, stream.note("verified_files").cloned(), stream.note("peak_bytes").cloned())
    };
    let first = work(&[]);
    assert_eq!(first, work(&[("buffered", "no"), ("read_bytes", "4096"), ("write_bytes", "1")]));
    assert_eq!(first, work(&[("buffered", "yes"), ("read_bytes", "10000"), ("write_bytes", "8192")]));
    assert_ne!(first, work(&[("seed", "7")]));
}

#[test]
fn folders_biases_and_ends_of_ranges() {
    check(&[("folders", "7")]);
    let stream = check(&[("bias_read", "10"), ("bias_create", "10"), ("size_bytes", "1-1")]);
    assert!(value(&stream, "postmark_file_op_per_s", "append").is_none(), "what did not happen has no rate");
    assert!(value(&stream, "postmark_file_op_per_s", "delete").is_none());
    assert_eq!(stream.note("verified_files"), Some(&json!(500)));
    let folder = Folder::new("postmark");
    // More deletions than files: when the pool is empty, a deletion does nothing.
    measure(&postmark(&folder.0, &[("files", "1"), ("transactions", "50"), ("bias_create", "1")]));
}

#[test]
fn impossible_requests_fail_with_a_reason() {
    let folder = Folder::new("postmark");
    let refused = |job: Value, code: i32, says: &str| {
        let (ended, stream) = Agent::run(&job).end();
        assert_eq!((ended, stream.outcome.as_str(), stream.count()), (code, "failed", 0));
        assert!(stream.error().contains(says), "{}", stream.error());
    };
    refused(postmark(&folder.0, &[("size_bytes", "9-5")]), 2, "size_bytes");
    refused(postmark(&folder.0, &[("files", "0")]), 2, "files");
    refused(postmark(&folder.0, &[("files", "1000000"), ("size_bytes", "67108864-67108864")]), 0, "no space");
    refused(postmark(Path::new("/no/such/folder"), &[]), 0, "/no/such/folder");
}

#[test]
fn leftovers_of_a_killed_agent_are_removed_at_the_next_start() {
    let folder = Folder::new("postmark");
    let mut agent = Agent::run(&postmark(&folder.0, &[("transactions", "1000000")]));
    let until = Instant::now() + Duration::from_secs(10);
    let works = || std::fs::read_dir(&folder.0).unwrap().flatten().any(|work| work.path().join("50").exists());
    while !works() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    agent.child.kill().unwrap(); // SIGKILL: nothing can be cleaned up
    agent.child.wait().unwrap();
    assert_eq!(folder.files(), 1, "it was at work");
    let stream = measure(&postmark(&folder.0, &[]));
    assert_eq!((stream.note("leftovers_removed"), folder.files()), (Some(&json!(1)), 0));
}
