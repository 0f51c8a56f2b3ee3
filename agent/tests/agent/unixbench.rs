use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Agent, Folder, agent_path, job, measure};
use serde_json::{Value, json};

const TESTS: [(&str, &str, f64); 12] = [
    ("dhry2reg", "lps", 116_700.0),
    ("whetstone-double", "MWIPS", 55.0),
    ("execl", "lps", 43.0),
    ("fstime", "KBps", 3960.0),
    ("fsbuffer", "KBps", 1655.0),
    ("fsdisk", "KBps", 5800.0),
    ("pipe", "lps", 12_440.0),
    ("context1", "lps", 4000.0),
    ("spawn", "lps", 126.0),
    ("shell1", "lpm", 42.4),
    ("shell8", "lpm", 6.0),
    ("syscall", "lps", 15_000.0),
];

fn unixbench(folder: &Path, copies: &str, duration_s: &str) -> Value {
    let mut job = job("unixbench", &[("copies", copies), ("duration_s", duration_s), ("passes", "1")]);
    job["dir"] = folder.to_str().unwrap().into();
    job
}

/// Returns the number of processes whose current folder is or was in this one.
fn at_work_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .count()
}

fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(8);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn twelve_tests_make_an_index() {
    let folder = Folder::new("unixbench");
    let stream = measure(&unixbench(&folder.0, "2", "0.02"));
    let samples: Vec<&Value> = stream.of("sample").collect();
    assert_eq!(samples.len(), 13);
    let mut logs = 0.0;
    for ((name, unit, base), sample) in TESTS.iter().zip(&samples) {
        assert_eq!(sample["metric"], "unixbench_test_index");
        assert_eq!(sample["params"], json!({"copies": "2", "test": name}));
        let (index, score) = (
            sample["value"].as_f64().unwrap(),
            stream
                .note(&format!("score_{}_{}", name.replace('-', "_"), unit.to_lowercase()))
                .unwrap()
                .as_f64()
                .unwrap(),
        );
        assert!(score > 0.0 && (index / (10.0 * score / base) - 1.0).abs() < 1e-12, "{name} {index} {score}");
        logs += index.ln();
    }
    let whole = samples[12]["value"].as_f64().unwrap();
    assert_eq!((&samples[12]["metric"], &samples[12]["params"]), (&"unixbench_index".into(), &json!({"copies": "2"})));
    assert!((whole / (logs / 12.0).exp() - 1.0).abs() < 1e-12, "{whole}");
    assert!(stream.note("in_memory").unwrap().is_boolean() && stream.note("fs").unwrap().is_string());
    assert!(stream.note("compiler").unwrap().as_str().unwrap().starts_with("rustc "));
    assert!(stream.note("execl_binary_bytes").unwrap().as_u64().unwrap() > 100_000);
    assert_eq!((folder.files(), at_work_in(&folder.0)), (0, 0));
}

#[test]
fn copies_end_with_a_killed_agent_and_the_next_one_cleans_up() {
    let folder = Folder::new("unixbench");
    let mut agent = Agent::run(&unixbench(&folder.0, "3", "30"));
    wait_for("three copies are at work", || at_work_in(&folder.0) >= 3);
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    wait_for("they die with the agent", || at_work_in(&folder.0) == 0);
    assert_eq!(folder.files(), 1, "a killed agent can not remove its folder");
    let mut other = job("chase", &[("duration_s", "0.01")]);
    other["dir"] = folder.0.to_str().unwrap().into();
    let stream = measure(&other);
    assert_eq!((stream.note("leftovers_removed"), folder.files()), (Some(&1.into()), 0));
}

#[test]
fn a_deadline_ends_all_processes() {
    let folder = Folder::new("unixbench");
    let mut job = unixbench(&folder.0, "2", "0.1");
    job["deadline_s"] = 2.6.into(); // in the middle of it
    let (_, stream) = Agent::run(&job).end();
    assert_eq!(stream.outcome, "timeout");
    wait_for("nothing is left", || at_work_in(&folder.0) == 0 && folder.files() == 0);
}

#[test]
fn shells_end_with_their_copy() {
    let folder = Folder::new("unixbench");
    let scripts = [("many.sh", "sleep 60\n"), ("keep.sh", ""), ("once.sh", ""), ("text", "")];
    scripts.iter().for_each(|(name, text)| std::fs::write(folder.0.join(name), text).unwrap());
    let mut copy = Command::new(agent_path());
    copy.args(["--unixbench-copy", "shell1", "20"]).current_dir(&folder.0).stdin(Stdio::null()).stdout(Stdio::null());
    let mut copy = copy.spawn().unwrap();
    let shell_of = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    wait_for("a shell runs", || {
        shell_of(copy.id()).trim().parse().is_ok_and(|shell: u32| {
            std::fs::read_to_string(format!("/proc/{shell}/comm")).is_ok_and(|name| name.trim() != "cloudcmp-agent")
        })
    });
    let shell: u32 = shell_of(copy.id()).trim().parse().unwrap();
    let child = shell_of(shell).trim().parse::<i32>().ok();
    copy.kill().unwrap();
    copy.wait().unwrap();
    wait_for("the shell is gone", || {
        std::fs::read_to_string(format!("/proc/{shell}/stat")).map_or(true, |stat| stat.contains(") Z "))
    });
    // Processes of our scripts end soon; this test's own sleep does not, so the test ends it.
    child.iter().for_each(|&child| assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0));
}

#[test]
fn wrong_results_of_the_tools_are_detected() {
    let folder = Folder::new("unixbench");
    let scripts = [("many.sh", "true\n"), ("keep.sh", "echo wrong > sorted.$$\n")];
    scripts.iter().for_each(|(name, text)| std::fs::write(folder.0.join(name), text).unwrap());
    let text = copy_says(&["shell1", "0.01"], &folder.0);
    assert_eq!(
        text,
        "ready\ninvalid the shell's tools gave wrong answers\tlook at this machine's sort, od, grep, tee and wc\n"
    );
    std::fs::write(folder.0.join("many.sh"), "exit 3\n").unwrap();
    assert_eq!(
        copy_says(&["shell1", "0.01"], &folder.0),
        "ready\nfailed a shell script ended with status 0x300\traise the limit of processes\n"
    );
}

#[test]
fn without_a_shell_the_trial_fails_soon() {
    let folder = Folder::new("unixbench");
    for (hidden, error) in
        [("/bin/sh", "the shell tests have no /bin/sh here"), ("/usr/bin/od", "the shell tests have no od here")]
    {
        // Hides it behind a file that cannot be executed, in a namespace of this command alone.
        let hide = format!("mount --bind /dev/null $(readlink -f {hidden}) && exec \"$@\"");
        let inside = |words: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(["-Urm", "sh", "-c", &hide, "sh"]).args(words);
            command
        };
        let can = inside(&["/usr/bin/env", "true"]).output();
        if !can.as_ref().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: {hidden} can not be hidden here: {can:?}");
            return;
        }
        let job = unixbench(&folder.0, "1", "10");
        let (code, stream) = Agent::start_by(inside(&[]), format!("{job}\n").as_bytes()).end();
        assert_eq!((code, stream.outcome.as_str(), stream.count(), stream.error()), (0, "failed", 0, error));
        let next = stream.of("error").next().unwrap()["next"].as_str().unwrap();
        assert!(next.contains("install a shell"), "{next}");
        assert_eq!(folder.files(), 0);
    }
}

#[test]
fn a_copy_refuses_other_arguments() {
    let folder = Folder::new("unixbench");
    for arguments in
        [&[][..], &["pipe"], &["pipe", "0"], &["pipe", "nan"], &["execl", "1", "x", "2"], &["pipe", "1", "2", "3"]]
    {
        assert_eq!(copy_says(arguments, &folder.0), "");
    }
    assert_eq!(copy_says(&["nothing", "1"], &folder.0), "ready\nfailed no such test\tsee the table of tests\n");
}

#[test]
fn a_folder_is_needed_and_bounds_hold() {
    let (code, stream) = Agent::run(&job("unixbench", &[])).end();
    assert_eq!((code, stream.outcome.as_str(), stream.error()), (2, "failed", "bad job: dir is null"));
    for (name, value) in [("copies", "0"), ("copies", "257"), ("duration_s", "0"), ("passes", "0"), ("passes", "1.5")] {
        let (code, stream) = Agent::run(&job("unixbench", &[(name, value)])).end();
        assert_eq!((code, stream.error()), (2, format!("bad job: unixbench.{name} can not be {value:?}").as_str()));
    }
}

fn copy_says(arguments: &[&str], folder: &Path) -> String {
    let mut copy = Command::new(agent_path());
    copy.arg("--unixbench-copy").args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut copy = copy.spawn().unwrap();
    let mut text = String::new();
    copy.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    copy.wait().unwrap();
    text
}
