//! The wire: golden streams, bad jobs, a lost controller, an expired deadline.


use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Agent, Folder, agent_path, decode, job, server_of};
use serde_json::{Value, json};

#[test]
fn golden_streams_hold_and_hostile_ones_do_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let (mut good, mut bad) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let read = decode(&std::fs::read(&path).unwrap());
        if name.starts_with("stream-ok-") {
            assert!(read.is_ok(), "{name}: {}", read.err().unwrap());
            good += 1;
        } else if name.starts_with("stream-bad-") {
            assert!(read.is_err(), "{name}");
            bad += 1;
        }
    }
    assert!(good >= 7 && bad >= 19, "{good} good, {bad} bad");
}

#[test]
fn a_bad_job_still_gets_a_complete_stream_and_exit_code_2() {
    let golden = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/job-bad.ndjson")).unwrap();
    let hostile = [vec![b'x'; 70_000], b"no line feed".to_vec(), vec![]];
    for line in golden.split_inclusive(|&byte| byte == b'\n').step_by(5).map(<[u8]>::to_vec).chain(hostile) {
        let mut agent = Command::new(agent_path());
        let mut agent = agent.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // An agent that refuses a long line closes its end before everything is written.
        let _ = agent.stdin.take().unwrap().write_all(&line);
        let output = agent.wait_with_output().unwrap();
        let stream = decode(&output.stdout).unwrap();
        assert_eq!((output.status.code(), stream.outcome.as_str()), (Some(2), "failed"));
        assert!(stream.error().starts_with("bad job: "), "{}", stream.error());
    }
}

#[test]
fn jobs_unknown_to_the_table_are_refused() {
    let refused = |job: Value, word: &str| {
        let (code, stream) = Agent::run(&job).end();
        assert_eq!(code, 2);
        assert!(stream.error().contains(word), "{}", stream.error());
    };
    refused(job("dance", &[]), "unknown probe");
    refused(job("fma", &[("speed", "9")]), "no parameter");
    refused(job("fma", &[("threads", "0")]), "fma.threads");
    refused(job("fma", &[("duration_s", "NaN")]), "fma.duration_s");
    refused(job("fma", &[("duration_s", "inf")]), "fma.duration_s");
    refused(job("fma", &[("duration_s", "80000"), ("interval_s", "0.001")]), "intervals");
    refused(job("disk", &[("op", "erase")]), "disk.op");
    refused(job("disk", &[]), "dir is null");
    refused(job("tcp", &[]), "no role solo");
    let mut server = job("tcp", &[]);
    server["role"] = "server".into();
    refused(server.clone(), "a server takes listen and one client");
    let mut without = server_of(server);
    without["secret"] = Value::Null;
    refused(without, "secret is null");
    for (role, article) in [("endpoint", "an"), ("victim", "a"), ("neighbour", "a"), ("vantage", "a")] {
        for probe in ["fma", "tcp", "command"] {
            let mut job = job(probe, &[]);
            job["role"] = if probe == "tcp" { "client".into() } else { "solo".into() };
            job["targets"] = json!([{"role": role, "endpoint": "https://example.org/", "credential_ref": "mine"}]);
            refused(job, &format!("no probe of this agent measures {article} {role}"));
        }
    }
    let mut of_a_service = job("tcp", &[]);
    of_a_service["role"] = "client".into();
    let store = json!({"role": "service", "endpoint": "http://127.0.0.1:9", "protocol": "s3", "data_set": "mine"});
    of_a_service["targets"] = json!([store]);
    refused(of_a_service, "tcp measures no service");
}

#[test]
fn missing_cpus_fail_with_a_reason() {
    let mut job = job("fma", &[]);
    job["cpus"] = Value::from(vec![1023]);
    let (code, stream) = Agent::run(&job).end();
    assert_eq!((code, stream.outcome.as_str()), (0, "failed"));
    assert!(stream.error().contains("1023"), "{}", stream.error());
}

#[test]
fn a_lost_controller_aborts_the_run_at_once() {
    let mut agent = Agent::run(&job("fma", &[("duration_s", "20")]));
    assert_eq!(agent.frame()["type"], "hello");
    let start = Instant::now();
    drop(agent.child.stdin.take());
    let (code, stream) = agent.end();
    assert_eq!((code, stream.outcome.as_str()), (0, "aborted"));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_deadline_ends_the_run_as_timeout_and_keeps_what_was_measured() {
    let mut long = job("fma", &[("duration_s", "20"), ("interval_s", "0.1")]);
    long["deadline_s"] = 0.7.into();
    let (code, stream) = Agent::run(&long).end();
    assert_eq!((code, stream.outcome.as_str()), (0, "timeout"));
    assert!(stream.count() >= 1, "one value an interval, while it runs");
    assert!(stream.error().contains("deadline"));
}

#[test]
fn a_killed_agent_leaves_no_file() {
    let folder = Folder::new("killed");
    let mut job = job("disk", &[("duration_s", "20"), ("file_bytes", "1048576"), ("durability", "cached")]);
    job["dir"] = folder.0.to_str().unwrap().into();
    let mut agent = Agent::run(&job);
    while agent.frame()["key"] != "quiet_wait_s" {}
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    assert_eq!(folder.files(), 0);
}

#[test]
fn the_table_and_the_version_are_machine_readable() {
    let say = |flag: &str| {
        let output = Command::new(agent_path()).arg(flag).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = say("--probes");
    let table: Value = serde_json::from_str(&text).unwrap();
    let names: Vec<&str> = table["probes"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    let written = include_str!("../../src/probe/mod.rs").matches("::PROBE,").count();
    assert_eq!((code, names.len(), names[0]), (0, written, "fma"));
    assert!(names.contains(&"rtt") && names.contains(&"command"));
    for probe in table["probes"].as_array().unwrap() {
        let params: Vec<&Value> = probe["params"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
        for metric in probe["metrics"].as_array().unwrap() {
            // One trial of these has a cell for each test of an index, each operation of a load, and two senders.
            let known = |name: &Value| params.contains(&name) || name == "test" || name == "op" || name == "sender";
            assert!(metric["params"].as_array().unwrap().iter().all(known), "{metric}");
            assert!(metric["unit"].is_string());
        }
    }
    assert_eq!(say("--version"), (0, format!("cloudcmp-agent {}\n", env!("CARGO_PKG_VERSION"))));
    assert_eq!(say("--help").0, 2);
}

#[test]
fn hello_contains_the_uptime_in_fine_steps() {
    let uptime_s = || {
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        text.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    let uptimes: Vec<f64> = (0..3)
        .map(|_| {
            let before = uptime_s();
            let hello = Agent::run(&job("fma", &[("duration_s", "0.01")])).frame();
            let uptime = hello["host"]["uptime_s"].as_f64().unwrap();
            // The kernel's file shows hundredths, truncated.
            assert!(before <= uptime && uptime <= uptime_s() + 0.01, "{uptime}");
            uptime
        })
        .collect();
    assert!(uptimes.iter().any(|uptime| (uptime * 100.0).fract() > 1e-4), "finer than the file: {uptimes:?}");
}

#[test]
fn hello_comes_first_and_soon_and_describes_the_machine() {
    let start = Instant::now();
    let mut agent = Agent::run(&job("fma", &[("duration_s", "0.01")]));
    let hello = agent.frame();
    assert!(start.elapsed() < Duration::from_secs(1));
    assert!(hello["clock"]["cost_s"].as_f64().unwrap() > 0.0);
    assert!(hello["target"].as_str().unwrap().starts_with(std::env::consts::ARCH));
    assert!(hello["host"]["memory"]["total_bytes"].as_u64().unwrap() > 0);
    assert_eq!(hello["host"]["disk"], Value::Null, "no directory was named");
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(hello["host"]["boot_id"], boot_id.trim());
    assert_eq!(agent.end().1.outcome, "ok");
}
