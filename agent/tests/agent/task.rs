use std::path::Path;

use crate::common::{Agent, Folder, Stream, job, measure};
use serde_json::{Value, json};

const ALONE: &[&str] =
    &["aes", "hash", "sign", "compress", "fft", "lu", "sor", "sparse", "monte_carlo", "serialise", "memory"];

fn task(name: &str, threads: &str) -> Value {
    job("task", &[("task", name), ("size", "small"), ("threads", threads)])
}

/// Checks for one value, the threads' own times around it, and the code path.
fn check(stream: &Stream, name: &str, threads: &str) {
    let values = stream.values("task_time_s", &json!({"size": "small", "task": name, "threads": threads}));
    let count = stream.note("threads").unwrap().as_f64().unwrap();
    let number = |key: &str| stream.note(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("{name}: no {key}"));
    assert_eq!(values.len(), 1, "{name}");
    assert!(values[0] > 0.0 && (values[0] * count - number("thread_max_s")).abs() < 1e-9, "{name}: amortised");
    assert!(number("thread_min_s") <= number("thread_median_s"), "{name}");
    assert!(number("thread_median_s") <= number("thread_max_s"), "{name}");
    assert!(number("cpu_time_s") <= count * number("elapsed_s") * 1.02, "{name}");
    assert!(number("passes") >= 1.0 && !stream.note("isa").unwrap().as_str().unwrap().is_empty(), "{name}");
}

#[test]
fn every_task_alone_and_with_as_many_threads_as_processors() {
    for name in ALONE {
        for threads in ["one", "all"] {
            check(&measure(&task(name, threads)), name, threads);
        }
    }
}

#[test]
fn more_threads_than_processors_and_a_single_processor() {
    let mut one = task("hash", "all");
    one["cpus"] = json!([crate::common::cpus()[0]]);
    let stream = measure(&one);
    check(&stream, "hash", "all");
    assert_eq!(stream.note("threads").unwrap(), 1);
    one["params"]["threads"] = "3".into();
    let stream = measure(&one);
    check(&stream, "hash", "3");
    assert_eq!((stream.note("threads").unwrap(), stream.note("cpus_used").unwrap()), (&json!(3), &json!(1)));
}

#[test]
fn the_composite_names_the_path_of_each_part() {
    let stream = measure(&task("cpu", "2"));
    check(&stream, "cpu", "2");
    let isa = stream.note("isa").unwrap().as_str().unwrap();
    assert!(isa.starts_with("aes=") && isa.split(' ').count() == ALONE.len() - 1, "{isa}");
}

#[test]
fn the_seed_of_a_trial_changes_nothing() {
    let mut other = task("compress", "one");
    other["seed"] = 12_345.into();
    check(&measure(&other), "compress", "one");
}

#[test]
fn files_are_written_read_back_and_removed() {
    let folder = Folder::new("task");
    for threads in ["one", "all"] {
        let mut disk = task("disk", threads);
        disk["dir"] = folder.0.to_str().unwrap().into();
        let (_, stream) = Agent::run(&disk).end();
        if stream.outcome == "failed" {
            assert!(stream.error().contains("lives in memory"), "{}", stream.error());
            eprintln!("skipped: the build's folder is in memory");
            return;
        }
        check(&stream, "disk", threads);
        assert_eq!(folder.files(), 0, "nothing is left");
    }
}

#[test]
fn a_disk_task_needs_a_disk() {
    let refused = |dir: Value, word: &str| {
        let mut disk = task("disk", "one");
        disk["dir"] = dir;
        let (_, stream) = Agent::run(&disk).end();
        assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
        assert!(stream.error().contains(word), "{}", stream.error());
    };
    refused(Value::Null, "dir is null");
    refused("/no/such/folder".into(), "/no/such/folder");
    if Path::new("/dev/shm").is_dir() {
        refused("/dev/shm".into(), "lives in memory");
    } else {
        eprintln!("skipped in part: no /dev/shm here");
    }
}

#[test]
fn an_oversized_or_unknown_task_is_refused() {
    let (_, stream) = Agent::run(&task("nonsense", "one")).end();
    assert!(stream.error().contains("task.task can not be \"nonsense\""), "{}", stream.error());
    let bytes = std::fs::read_to_string("/proc/meminfo").unwrap();
    let kib: u64 = bytes.lines().next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    if kib >= 128 * 1024 * 1024 {
        eprintln!("skipped in part: 1024 threads fit into this machine");
        return;
    }
    let (_, stream) = Agent::run(&task("memory", "1024")).end();
    assert_eq!(stream.outcome, "failed");
    assert!(stream.error().contains("1024 threads"), "{}", stream.error());
}
