use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Agent, Folder, Stream, job, measure};
use serde_json::{Value, json};

fn dbench(folder: &Path, params: &[(&str, &str)]) -> Value {
    let mut job = job("dbench", &[&[("duration_s", "0.2"), ("loadfile", "own")], params].concat());
    job["dir"] = folder.to_str().unwrap().into();
    job
}

/// Returns the operations with a value of a metric, and the sum of the values.
fn of_ops(stream: &Stream, metric: &str) -> (BTreeSet<String>, f64) {
    let samples: Vec<&Value> = stream.of("sample").filter(|sample| sample["metric"] == metric).collect();
    let ops = samples.iter().map(|sample| sample["params"]["op"].as_str().unwrap().to_owned()).collect();
    (ops, samples.iter().map(|sample| sample["value"].as_f64().unwrap()).sum())
}

fn check(clients: &str, mode: &str) -> Stream {
    let folder = Folder::new("dbench");
    let stream = measure(&dbench(&folder.0, &[("clients", clients), ("mode", mode)]));
    let cell = json!({"clients": clients, "loadfile": "own", "mode": mode});
    let bytes = stream.values("dbench_bytes_per_s", &cell);
    assert!(bytes.len() == 1 && bytes[0] > 0.0, "{bytes:?}");
    let (ops, per_s) = of_ops(&stream, "dbench_op_per_s");
    let (with_mean, _) = of_ops(&stream, "dbench_mean_latency_s");
    let (with_longest, _) = of_ops(&stream, "dbench_max_latency_s");
    assert!(ops == with_mean && ops == with_longest && ops.contains("writex"), "{ops:?}");
    let (count, seconds) = (stream.note("operations").unwrap(), stream.note("measured_s").unwrap());
    let expected = count.as_f64().unwrap() / seconds.as_f64().unwrap();
    assert!((per_s / expected - 1.0).abs() < 1e-9, "the operations add up: {per_s} {expected}");
    // The load removes its own tree before it starts again: a client that stops there leaves nothing to check.
    let files = stream.note("verified_files").unwrap().as_u64().expect("files were looked at");
    assert!(files > 0 || clients == "1", "{clients} clients left files");
    assert!(stream.note("loadfile").unwrap().as_str().unwrap().starts_with("own 1: "));
    assert_eq!(folder.files(), 0, "the files are gone");
    stream
}

#[test]
fn one_client_replays_every_operation_of_our_own_load() {
    let stream = check("1", "async");
    let (mean, longest): (Vec<f64>, Vec<f64>) = stream
        .of("sample")
        .filter(|sample| sample["metric"] == "dbench_mean_latency_s")
        .map(|mean| {
            let same =
                |sample: &&Value| sample["metric"] == "dbench_max_latency_s" && sample["params"] == mean["params"];
            let longest = stream.of("sample").find(same).unwrap();
            (mean["value"].as_f64().unwrap(), longest["value"].as_f64().unwrap())
        })
        .unzip();
    assert!(mean.iter().zip(&longest).all(|(mean, longest)| *mean > 0.0 && mean <= longest));
}

#[test]
fn many_and_synchronous_clients_run_with_any_number_of_cpus() {
    check("2", "sync");
    check("25", "fsync");
    check("100", "async");
}

/// Runs a loadfile in its own folder.
fn with_load(text: &str, params: &[(&str, &str)]) -> (i32, Stream) {
    let (folder, place) = (Folder::new("dbench"), Folder::new("load"));
    let path = place.0.join("client.txt");
    std::fs::write(&path, text).unwrap();
    let ended = Agent::run(&dbench(&folder.0, &[&[("loadfile", path.to_str().unwrap())], params].concat())).end();
    assert_eq!(folder.files(), 0);
    ended
}

const SMALL: &str = "Deltree \"\\clients\\client1\" NT_STATUS_OK\nMkdir \"\\clients\" NT_STATUS_OK\n\
    NTCreateX \"\\clients\\client1\" 0x1 0x2 1 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n\
    NTCreateX \"\\clients\\client1\\A.DAT\" 0x40 0x2 2 NT_STATUS_OK\nWriteX 2 0 4096 4096 NT_STATUS_OK\n\
    QUERY_PATH_INFORMATION \"\\clients\\client1\\a.dat\" 1004 NT_STATUS_OK\n";

#[test]
fn a_named_loadfile_is_replayed_repeatedly() {
    let (code, stream) = with_load(SMALL, &[("clients", "3")]);
    assert_eq!((code, stream.outcome.as_str()), (0, "ok"), "{:?}", stream.frames);
    assert!(stream.note("replays").unwrap().as_u64().unwrap() > 10);
    assert!(stream.note("loadfile").unwrap().as_str().unwrap().starts_with("client.txt: 7 operations, SHA-256 "));
    let (ops, _) = of_ops(&stream, "dbench_op_per_s");
    assert!(ops.contains("deltree") && !ops.contains("rename"), "what does not happen has no value: {ops:?}");
}

#[test]
fn operations_with_times_wait_for_them() {
    // 7 operations at once, then 4 per replay of at least 0.02 s: at most 10 replays in 0.2 s and the warm-up.
    let paced = SMALL.replace("WriteX 2", "0.02 WriteX 2");
    let (_, stream) = with_load(&paced, &[]);
    assert_eq!(stream.outcome, "ok", "{:?}", stream.frames);
    let replays = stream.note("replays").unwrap().as_u64().unwrap();
    assert!((1..=13).contains(&replays), "{replays}");
}

#[test]
fn a_deviation_from_the_loadfile_is_reported_with_its_line() {
    for (more, line, says) in [
        ("Frobnicate 1 NT_STATUS_OK", 8, "no operation"),
        ("Close 9 NT_STATUS_OK", 8, "not open"),
        ("ReadX 2 4096 10 10 NT_STATUS_OK", 8, "ReadX failed"),
        ("Unlink \"\\clients\\none\" 0x6 NT_STATUS_OK", 8, "Unlink failed, success was expected"),
        ("Flush 2 NT_STATUS_ACCESS_DENIED", 8, "succeeded where the loadfile has a failure"),
        ("Unlink \"\\..\\precious\" 0x6 NT_STATUS_OK", 8, "leaves the folder"),
    ] {
        let (_, stream) = with_load(&format!("{SMALL}{more}\n"), &[("clients", "2")]);
        assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0), "{more}");
        let error = stream.error();
        assert!(error.starts_with(&format!("loadfile line {line}: ")) && error.contains(says), "{error}");
    }
    let (_, stream) = with_load(&SMALL.replace("WriteX 2 0", "WriteX 2 99999999999"), &[("clients", "1000")]);
    assert!(stream.outcome == "failed" && stream.error().starts_with("no space: "), "{}", stream.error());
}

#[test]
fn an_invalid_loadfile_fails_with_a_reason() {
    let folder = Folder::new("dbench");
    for (path, says) in [("/no/such/file", "cannot read"), ("/dev/zero", "it is no file"), ("/", "it is no file")] {
        let (code, stream) = Agent::run(&dbench(&folder.0, &[("loadfile", path)])).end();
        assert_eq!((code, stream.outcome.as_str()), (0, "failed"), "{path}");
        assert!(stream.error().contains(says), "{}", stream.error());
    }
    let (code, _) = Agent::run(&dbench(&folder.0, &[("clients", "0")])).end();
    assert_eq!(code, 2);
}

#[test]
fn too_few_open_files_are_reported_with_advice() {
    let folder = Folder::new("dbench");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 24 && exec \"$0\""]);
    let line = format!("{}\n", dbench(&folder.0, &[("clients", "2")]));
    let (_, stream) = Agent::start_by(command, line.as_bytes()).end();
    assert_eq!(stream.outcome, "failed");
    assert!(stream.error().contains("open files"), "{}", stream.error());
}

#[test]
fn leftovers_of_a_killed_agent_are_removed_at_the_next_start() {
    let folder = Folder::new("dbench");
    let mut agent = Agent::run(&dbench(&folder.0, &[("duration_s", "20"), ("clients", "2")]));
    let until = Instant::now() + Duration::from_secs(10);
    let works =
        || std::fs::read_dir(&folder.0).unwrap().flatten().any(|work| work.path().join("client1/clients").exists());
    while !works() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    agent.child.kill().unwrap(); // SIGKILL: nothing can be cleaned up
    agent.child.wait().unwrap();
    assert_eq!(folder.files(), 1, "it was at work");
    let stream = measure(&dbench(&folder.0, &[("duration_s", "0.5")]));
    assert_eq!((stream.note("leftovers_removed"), folder.files()), (Some(&json!(1)), 0));
}
