use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Agent, Folder, Stream, agent_path, job, measure};
use serde_json::{Value, json};

const READS: [&str; 5] = ["read", "reread", "random_read", "backward_read", "stride_read"];
const WRITES: [&str; 4] = ["write", "rewrite", "random_write", "record_rewrite"];
const FILE_BYTES: u64 = 262_144;

fn iozone(folder: &Path, params: &[(&str, &str)]) -> Value {
    let small = [("file_bytes", "262144"), ("record_bytes", "8192")];
    let mut job = job("iozone", &[&small, params].concat());
    job["dir"] = folder.to_str().unwrap().into();
    job
}

fn note(stream: &Stream, key: &str) -> f64 {
    stream.note(key).unwrap().as_f64().unwrap()
}

/// Runs a trial that must be ok; checks its one sample against its notes.
fn check(folder: &Folder, params: &[(&str, &str)]) -> Stream {
    let stream = measure(&iozone(&folder.0, params));
    let mut cell = json!({
        "durability": "osync", "file_bytes": "262144", "op": "write", "record_bytes": "8192", "threads": "one"
    });
    for (key, value) in params.iter().filter(|(key, _)| *key != "most_s") {
        cell[key] = (*value).into();
    }
    let values = stream.values("iozone_bytes_per_s", &cell);
    let threads = note(&stream, "threads");
    let moved = note(&stream, "records") * cell["record_bytes"].as_str().unwrap().parse::<f64>().unwrap();
    let sample = stream.of("sample").next().unwrap();
    assert_eq!((values.len(), stream.count()), (1, 1));
    assert!((values[0] * sample["t_s"].as_f64().unwrap() / moved - 1.0).abs() < 1e-9, "{values:?} of {moved} B");
    assert!(note(&stream, "children_bytes_per_s") >= 0.999_999 * values[0], "the last thread is the slowest");
    assert!(note(&stream, "verified_records") >= threads);
    assert_eq!(folder.files(), 0, "the files are gone");
    if stream.note("pass") == Some(&json!("whole")) {
        assert_eq!(moved, note(&stream, "file_bytes") * threads);
    }
    stream
}

fn on_a_disk(folder: &Folder) -> bool {
    let (_, stream) = Agent::run(&iozone(&folder.0, &[("op", "read"), ("durability", "direct")])).end();
    if stream.outcome == "failed" {
        eprintln!("skipped in part: {}", stream.error());
    }
    stream.outcome == "ok"
}

#[test]
fn every_operation_moves_the_whole_file_within_the_page_cache() {
    let folder = Folder::new("iozone");
    for op in READS {
        let stream = check(&folder, &[("op", op), ("durability", "cached")]);
        assert_eq!(stream.note("page_cache"), Some(&json!("warm")), "{op}");
        assert_eq!(note(&stream, "verified_records"), 32.0);
    }
    for op in WRITES {
        let stream = check(&folder, &[("op", op), ("durability", "cached")]);
        assert_eq!(stream.note("page_cache"), Some(&json!(if op == "write" { "empty" } else { "warm" })), "{op}");
        assert_eq!(note(&stream, "verified_records"), if op == "record_rewrite" { 1.0 } else { 32.0 });
    }
    let stream = check(&folder, &[("op", "write"), ("durability", "cached"), ("record_bytes", "5000")]);
    assert_eq!(note(&stream, "file_bytes"), 260_000.0, "whole records of the file");
}

#[test]
fn every_durability_reads_and_writes_and_notes_the_page_cache() {
    let folder = Folder::new("durability");
    if !on_a_disk(&folder) {
        return;
    }
    for (durability, cache) in [("osync", "cold"), ("fsync", "cold"), ("direct", "bypassed")] {
        for op in ["write", "rewrite", "random_write", "reread", "stride_read"] {
            let stream = check(&folder, &[("op", op), ("durability", durability)]);
            let empty = op == "write" && durability != "direct";
            assert_eq!(
                stream.note("page_cache"),
                Some(&json!(if empty { "empty" } else { cache })),
                "{durability} {op}"
            );
            assert_eq!(stream.note("o_direct"), Some(&json!(durability == "direct")));
        }
    }
}

#[test]
fn threads_have_their_own_files_and_mixed_ones_alternate_reads_and_writes() {
    let folder = Folder::new("threads");
    for op in ["write", "backward_read"] {
        let stream = check(&folder, &[("op", op), ("durability", "cached"), ("threads", "3")]);
        assert_eq!(note(&stream, "records") as u64, 3 * FILE_BYTES / 8192);
    }
    // Two readers check a word of each record, and all records of the writer are read back.
    let stream = check(&folder, &[("op", "mixed"), ("durability", "cached"), ("threads", "3")]);
    assert_eq!(note(&stream, "verified_records") as u64, 3 * FILE_BYTES / 8192);
}

#[test]
fn a_pass_that_takes_too_long_is_ended_and_its_rate_covers_the_work_done() {
    let folder = Folder::new("cut");
    let large = [("file_bytes", "67108864"), ("record_bytes", "512"), ("durability", "cached"), ("op", "read")];
    let stream = check(&folder, &[&large[..], &[("most_s", "0.001")]].concat());
    assert_eq!(stream.note("pass"), Some(&json!("cut")));
    assert!(note(&stream, "records") < note(&stream, "file_bytes") / 512.0);
    assert!(stream.note("warning").unwrap().as_str().unwrap().contains("most_s"));
}

#[test]
fn requests_that_cannot_be_measured_are_refused_with_a_reason() {
    let folder = Folder::new("refused");
    let refused = |dir: &Path, params: &[(&str, &str)], word: &str| {
        let (_, stream) = Agent::run(&iozone(dir, params)).end();
        assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0), "{params:?}");
        assert!(stream.error().contains(word), "{}", stream.error());
    };
    let here = folder.0.as_path();
    refused(here, &[("record_bytes", "524288")], "larger than its file");
    refused(here, &[("record_bytes", "1001")], "multiple of 8");
    refused(here, &[("record_bytes", "1000"), ("durability", "direct")], "multiple of 512");
    refused(here, &[("op", "mixed")], "one thread read");
    refused(here, &[("durability", "cached"), ("drop", "all")], "drop=all");
    refused(here, &[("file_bytes", "17592186044416")], "do not fit");
    refused(Path::new("/no/such/folder"), &[], "/no/such/folder");
    if Path::new("/dev/shm").is_dir() {
        refused(Path::new("/dev/shm"), &[], "memory");
        assert_eq!(measure(&iozone(Path::new("/dev/shm"), &[("durability", "cached")])).count(), 1);
    } else {
        eprintln!("skipped in part: no /dev/shm here");
    }
    assert_eq!(folder.files(), 0);
}

#[test]
fn only_root_drops_the_caches_of_the_machine_and_others_get_a_fault() {
    let folder = Folder::new("drop");
    std::fs::set_permissions(&folder.0, PermissionsExt::from_mode(0o777)).unwrap();
    let mut nobody = Command::new("env");
    if unsafe { libc::geteuid() } == 0 {
        nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--clear-groups"]);
        let agent = agent_path();
        let reached = Command::new("setpriv").args(["--reuid=65534", "--clear-groups", &agent, "--version"]).output();
        if !reached.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: another user can not start the agent here");
            return;
        }
    }
    let job = iozone(&folder.0, &[("op", "read"), ("drop", "all")]);
    let (_, stream) = Agent::start_by(nobody, format!("{job}\n").as_bytes()).end();
    assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
    let error = stream.error();
    assert!(error.contains("/proc/sys/vm/drop_caches") || error.contains("in memory"), "{error}");
}
