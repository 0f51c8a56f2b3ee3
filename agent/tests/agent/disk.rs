use std::path::Path;

use crate::common::{Agent, Folder, Stream, job, measure};
use serde_json::{Value, json};

fn disk(folder: &Path, params: &[(&str, &str)]) -> Value {
    let small = [("file_bytes", "4194304"), ("duration_s", "0.05")];
    let mut job = job("disk", &[&small, params].concat());
    job["dir"] = folder.to_str().unwrap().into();
    job
}

fn cell(stream: &Stream, changes: &[(&str, &str)]) -> Value {
    let mut cell = json!({
        "block_bytes": "4096", "depth": "1", "durability": "direct", "op": "read", "pattern": "random", "threads": "one"
    });
    changes.iter().for_each(|(key, value)| cell[key] = (*value).into());
    assert!(stream.of("hist").all(|hist| hist["params"] == cell && hist["hist"].as_str().unwrap().len() > 20));
    cell
}

fn check(params: &[(&str, &str)], engine: &str) {
    let folder = Folder::new("disk");
    let stream = measure(&disk(&folder.0, params));
    let canonical: Vec<(&str, &str)> = params.iter().copied().filter(|(key, _)| *key != "engine").collect();
    let cell = cell(&stream, &canonical);
    let ops = stream.values("disk_op_per_s", &cell);
    let bytes = stream.values("disk_bytes_per_s", &cell);
    let block: f64 = cell["block_bytes"].as_str().unwrap().parse().unwrap();
    assert_eq!((ops.len(), bytes.len(), stream.of("hist").count()), (1, 1, 1));
    assert!(ops[0] > 1.0 && (bytes[0] / ops[0] - block).abs() < 1e-6 * block, "{ops:?} {bytes:?}");
    assert_eq!(stream.note("engine").unwrap(), engine);
    assert_eq!(stream.note("file_bytes").unwrap(), 4_194_304);
    assert!(stream.note("verified_blocks").unwrap().as_u64().unwrap() > 0, "data were looked at");
    assert!(stream.note("operations").unwrap().as_u64().unwrap() > 0);
    assert_eq!(folder.files(), 0, "the file is gone");
}

#[test]
fn cached_reads_and_writes_anywhere() {
    check(&[("durability", "cached")], "preadv2");
    check(&[("durability", "cached"), ("op", "write"), ("pattern", "sequential"), ("threads", "2")], "preadv2");
    check(&[("durability", "cached"), ("op", "write"), ("block_bytes", "1"), ("pattern", "sequential")], "preadv2");
    check(&[("durability", "cached"), ("depth", "4"), ("engine", "preadv2")], "preadv2");
}

#[test]
fn synchronous_writes_and_deep_queues_if_the_disk_supports_them() {
    let folder = Folder::new("probe");
    let (_, stream) = Agent::run(&disk(&folder.0, &[])).end();
    if stream.outcome == "failed" {
        // tmpfs, or a file system without O_DIRECT: must be refused with a reason, not measured as a disk.
        assert!(stream.error().contains("O_DIRECT") || stream.error().contains("memory"), "{}", stream.error());
        return;
    }
    check(&[], "preadv2");
    check(&[("op", "write"), ("durability", "fsync")], "preadv2");
    for durability in ["osync", "fsync"] {
        let file = [("durability", durability), ("pattern", "sequential"), ("file_bytes", "262144")];
        let stream = measure(&disk(&folder.0, &file));
        assert_eq!(stream.note("o_direct"), Some(&json!(true)), "a read never comes from the page cache");
        assert_eq!(measure(&disk(&folder.0, &[("op", "write"), file[0]])).note("o_direct"), Some(&json!(false)));
    }
    check(&[("op", "write"), ("durability", "osync"), ("pattern", "sequential")], "preadv2");
    let (_, stream) = Agent::run(&disk(&folder.0, &[("engine", "io_uring")])).end();
    if stream.outcome == "failed" {
        assert!(stream.error().contains("io_uring"), "{}", stream.error());
        return;
    }
    check(&[("depth", "8")], "io_uring");
    check(&[("depth", "8"), ("op", "write"), ("threads", "2"), ("block_bytes", "8192")], "io_uring");
    check(&[("depth", "4"), ("op", "write"), ("durability", "fsync")], "io_uring");
}

#[test]
fn a_file_system_without_a_disk_is_not_measured_as_one() {
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        eprintln!("skipped: no /dev/shm here");
        return;
    }
    let (code, stream) = Agent::run(&disk(shm, &[])).end();
    assert_eq!((code, stream.outcome.as_str(), stream.count()), (0, "failed", 0));
    assert!(stream.error().contains("memory"), "{}", stream.error());
    assert_eq!(measure(&disk(shm, &[("durability", "cached")])).note("o_direct"), Some(&json!(false)));
}

#[test]
fn files_that_do_not_fit_and_missing_folders_fail_with_a_reason() {
    let folder = Folder::new("full");
    let refused = |job: Value, word: &str| {
        let (_, stream) = Agent::run(&job).end();
        assert_eq!(stream.outcome, "failed");
        assert!(stream.error().contains(word), "{}", stream.error());
    };
    refused(disk(&folder.0, &[("file_bytes", "17592186044416")]), "free");
    refused(disk(&folder.0, &[("file_bytes", "4096"), ("depth", "2")]), "in flight");
    refused(disk(&folder.0, &[("block_bytes", "1000")]), "O_DIRECT");
    for durability in ["osync", "fsync"] {
        refused(disk(&folder.0, &[("block_bytes", "1000"), ("durability", durability)]), "a read is not synchronous");
    }
    refused(disk(Path::new("/no/such/folder"), &[]), "/no/such/folder");
}
