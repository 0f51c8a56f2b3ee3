use crate::common::{Agent, Folder, job, measure};
use serde_json::json;

fn load(name: &str, threads: &str, folder: &Folder) -> serde_json::Value {
    let mut job = job("neighbour", &[("load", name), ("threads", threads), ("duration_s", "0.3"), ("interval_s", "0.05")]);
    (job["role"], job["dir"]) = ("neighbour".into(), folder.0.to_str().unwrap().into());
    job
}

#[test]
fn every_load_works_in_each_interval_and_leaves_no_file() {
    for (name, threads) in [
        ("cpu", "one"),
        ("cpu", "3"),
        ("memory", "2"),
        ("disk_read", "one"),
        ("disk_write", "2"),
        ("disk_mixed", "one"),
        ("small_files", "2"),
    ] {
        let folder = Folder::new("neighbour");
        let stream = measure(&load(name, threads, &folder));
        let rates = stream.values("neighbour_op_per_s", &json!({"load": name, "threads": threads}));
        assert!(!rates.is_empty() && rates.iter().all(|&rate| rate > 0.0), "{name}: {rates:?}");
        assert_eq!(folder.files(), 0, "{name}");
    }
}

#[test]
fn a_neighbour_whose_controller_hangs_up_ends_at_once_and_leaves_no_file() {
    let folder = Folder::new("hung-up");
    let mut job = load("small_files", "2", &folder);
    job["params"]["duration_s"] = "60".into();
    let mut agent = Agent::run(&job);
    while agent.frame()["type"] != "sample" {}
    assert_ne!(folder.files(), 0);
    drop(agent.child.stdin.take());
    let (code, stream) = agent.end();
    assert_eq!((code, stream.outcome.as_str()), (0, "aborted"));
    assert_eq!(folder.files(), 0);
}

#[test]
fn a_victim_names_its_neighbour_in_each_cell() {
    let params = [("duration_s", "0.02"), ("interval_s", "0.02"), ("neighbour", "memory"), ("intensity", "2")];
    let stream = measure(&job("int", &params));
    let cell = json!({"intensity": "2", "neighbour": "memory", "threads": "one"});
    assert!(!stream.values("int_op_per_s", &cell).is_empty(), "{:?}", stream.of("sample").next());
}
