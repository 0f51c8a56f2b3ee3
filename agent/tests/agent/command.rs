//! User-defined commands: their timing, their output, and that no process outlives them.


use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Agent, Folder, Stream, job, measure};
use serde_json::Value;

fn command(folder: &Folder, params: &[(&str, &str)]) -> Value {
    let mut job = job("command", params);
    job["params"]["command"] = "mine".into();
    job["dir"] = folder.0.to_str().unwrap().into();
    job
}

fn ended(folder: &Folder, params: &[(&str, &str)]) -> Stream {
    let (code, stream) = Agent::run(&command(folder, params)).end();
    assert_eq!(code, 0);
    stream
}

fn text(stream: &Stream, name: &str) -> String {
    let pieces = stream.frames.iter().filter(|frame| frame["type"] == "text" && frame["name"] == name);
    pieces.map(|frame| frame["text"].as_str().unwrap()).collect()
}

/// Returns the processes whose command line contains this word.
fn alive(word: &str) -> Vec<String> {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let holds = |pid: &String| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))
    };
    pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit())).filter(holds).collect()
}

fn gone_soon(word: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    while !alive(word).is_empty() {
        assert!(Instant::now() < until, "{word} is still there: {:?}", alive(word));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns a word that no other process of the machine uses: a number of seconds to sleep.
fn word(n: u32) -> String {
    format!("7{:07}.{n}", std::process::id())
}

#[test]
fn the_time_covers_the_run_only() {
    let folder = Folder::new("command");
    let slow = "sleep 0.3";
    let stream = measure(&command(
        &folder,
        &[("run", "sleep 0.2; echo done"), ("setup", slow), ("warmup", slow), ("check", slow)],
    ));
    let values = stream.values("command_time_s", &serde_json::json!({"command": "mine"}));
    assert!(values.len() == 1 && (0.2..0.3).contains(&values[0]), "{values:?}");
    assert_eq!(text(&stream, "stdout"), "done\n");
    assert!(
        stream.note("cpu_time_s").unwrap().as_f64().unwrap() < 0.2
            && stream.note("max_rss_bytes").unwrap().as_f64().unwrap() > 1e5
    );
}

#[test]
fn the_setup_runs_once_per_launch_and_its_files_stay() {
    let folder = Folder::new("setup");
    let params = [
        ("setup", "echo once >> made; echo tool > tool"),
        ("run", "ls; cat $CLOUDCMP_FILES/made $CLOUDCMP_FILES/tool; touch left; echo $HOME | grep -c work"),
    ];
    for _ in 0..2 {
        assert_eq!(text(&measure(&command(&folder, &params)), "stdout"), "once\ntool\n1\n");
    }
    assert_eq!(folder.files(), 1, "only the launch's files stay");
    let other = [("setup", "cat made; echo twice >> made"), params[1]];
    assert!(text(&measure(&command(&folder, &other)), "stdout").starts_with("once\ntwice\n"));
}

#[test]
fn the_environment_is_clean_and_contains_the_values_of_the_study() {
    let folder = Folder::new("environ");
    let line = "env | cut -d= -f1 | sort | tr '\\n' ' '; echo; cat; pwd; echo $CLOUDCMP_THREADS $CLOUDCMP_SEED";
    let output = text(&measure(&command(&folder, &[("run", line), ("threads", "3")])), "stdout");
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "CLOUDCMP_FILES CLOUDCMP_SEED CLOUDCMP_THREADS HOME LANG PATH PWD ");
    assert!(lines[1].ends_with("/run") && !Path::new(lines[1]).exists());
    assert_eq!(lines[2], "3 7");
}

#[test]
fn bad_ends_are_failures_with_the_last_line_of_the_errors() {
    let folder = Folder::new("ends");
    for (line, outcome, words) in [
        ("echo first >&2; echo 'out of luck' >&2; exit 3", "failed", "run ended with exit 3: out of luck"),
        ("no-such-program-here", "failed", "run ended with exit 127"),
        ("kill -SEGV $$", "failed", "run was killed by signal 11"),
        ("kill -KILL $PPID; sleep 9", "failed", "its supervisor was killed"),
    ] {
        let stream = ended(&folder, &[("run", line)]);
        assert_eq!((stream.outcome.as_str(), stream.count()), (outcome, 0), "{line}");
        assert!(stream.error().contains(words), "{}", stream.error());
    }
    for (key, line) in [("setup", "exit 4"), ("warmup", "exit 4")] {
        let stream = ended(&folder, &[("run", "true"), (key, line)]);
        assert_eq!((stream.outcome.as_str(), stream.error()), ("failed", &*format!("{key} ended with exit 4")));
    }
}

#[test]
fn a_check_reads_the_output_and_a_refused_one_is_invalid() {
    let folder = Folder::new("check");
    let right = [("run", "echo 42; echo x > made"), ("check", "grep -qx 42 $CLOUDCMP_OUTPUT && test -s made")];
    assert_eq!(measure(&command(&folder, &right)).count(), 1);
    let stream = ended(&folder, &[("run", "echo 41"), right[1]]);
    assert_eq!((stream.outcome.as_str(), stream.count()), ("invalid", 0));
    assert_eq!(text(&stream, "stdout"), "41\n");
}

#[test]
fn outputs_are_limited_and_truncated_or_non_utf8_ones_are_noted() {
    let folder = Folder::new("bounds");
    let flood = "head -c 3000000 /dev/zero | tr '\\0' '\\001'; head -c 200000 /dev/zero | tr '\\0' e >&2; echo end >&2";
    let stream = measure(&command(&folder, &[("run", flood)]));
    assert_eq!(text(&stream, "stdout").len(), 1 << 20);
    assert!(text(&stream, "stderr").len() == 64 << 10 && text(&stream, "stderr").ends_with("end\n"));
    assert!(stream.note("stdout_cut").is_some() && stream.note("stderr_cut").is_some());
    let stream = measure(&command(&folder, &[("run", "printf 'a\\377b'")]));
    assert_eq!(
        (text(&stream, "stdout").as_str(), stream.note("stdout_not_utf8")),
        ("a\u{fffd}b", Some(&Value::Bool(true)))
    );
    assert!(stream.note("stdout_cut").is_none());
}

#[test]
fn a_daemonised_grandchild_ends_with_its_run() {
    let folder = Folder::new("daemon");
    let (nap, line) =
        (word(1), |nap: &str| format!("setsid sh -c 'trap \"\" TERM HUP; sleep {nap} & sleep {nap}' & echo up"));
    let start = Instant::now();
    let stream = measure(&command(&folder, &[("run", &line(&nap))]));
    assert_eq!(text(&stream, "stdout"), "up\n");
    assert!(alive(&nap).is_empty() && start.elapsed() < Duration::from_secs(4));
}

#[test]
fn a_run_beyond_its_limit_or_its_deadline_ends_with_all_its_processes() {
    let folder = Folder::new("limit");
    let nap = word(2);
    let line = format!("setsid sleep {nap} & sleep {nap}");
    let stream = ended(&folder, &[("run", &line), ("limit_s", "0.3")]);
    assert_eq!((stream.outcome.as_str(), stream.count()), ("timeout", 0));
    assert!(alive(&nap).is_empty());
    let mut late = command(&folder, &[("run", &line)]);
    late["deadline_s"] = 0.4.into();
    let (_, stream) = Agent::run(&late).end();
    assert_eq!((stream.outcome.as_str(), stream.error()), ("timeout", "the deadline has passed"));
    gone_soon(&nap);
    assert_eq!(folder.files(), 1, "only the launch's files stay");
}

#[test]
fn nothing_outlives_an_agent_that_is_killed_or_left_alone() {
    for (n, kill) in [(3, true), (4, false)] {
        let folder = Folder::new("killed");
        let nap = word(n);
        let line = format!("setsid sh -c 'sleep {nap} & sleep {nap}' & sleep {nap}");
        let mut agent = Agent::run(&command(&folder, &[("run", &line)]));
        assert_eq!(agent.frame()["type"], "hello");
        let until = Instant::now() + Duration::from_secs(5);
        // Three sleeping processes, and the shells and the agent's supervisor, whose command lines also contain the
        // word.
        while alive(&nap).len() < 5 {
            assert!(Instant::now() < until, "{:?}", alive(&nap));
            std::thread::sleep(Duration::from_millis(5));
        }
        if kill {
            agent.child.kill().unwrap();
        }
        drop(agent.child.stdin.take());
        agent.child.wait().unwrap();
        gone_soon(&nap);
    }
}

#[test]
fn a_missing_program_is_installed_only_if_the_study_allows_it() {
    let folder = Folder::new("program");
    let needs = [("run", "true"), ("program", "no-such-tool"), ("packages", "pacman=no-such-tool")];
    let stream = ended(&folder, &needs);
    assert_eq!((stream.outcome.as_str(), stream.error()), ("failed", "no-such-tool is not installed"));
    let stream = ended(&folder, &[needs[0], needs[1], needs[2], ("install", "yes")]);
    assert!(stream.error().contains("no package manager here has it"), "{}", stream.error());
    let stream = measure(&command(&folder, &[("run", "true"), ("program", "sh"), ("version", "echo; echo sh 1.2")]));
    assert_eq!(stream.note("tool_version").unwrap(), "sh 1.2");
    let stream = Agent::run(&command(&folder, &[("run", "true"), ("program", "a;b")])).end();
    assert_eq!((stream.0, stream.1.outcome.as_str()), (2, "failed"));
}

#[test]
fn a_missing_or_unusable_image_is_a_failure() {
    let folder = Folder::new("image");
    let job = command(&folder, &[("run", "echo in"), ("image", "yes")]);
    let (_, stream) = Agent::run(&job).end();
    let there = ["/usr/bin", "/usr/local/bin", "/bin"]
        .iter()
        .any(|dir| ["podman", "docker"].iter().any(|engine| Path::new(dir).join(engine).exists()));
    let words = if there { "the image is not on the machine" } else { "no podman or docker on the machine" };
    assert!(stream.outcome == "failed" && stream.error().contains(words), "{}", stream.error());
    std::fs::create_dir(folder.0.join("images")).unwrap();
    std::fs::write(folder.0.join("images/mine.tar"), "no archive").unwrap();
    let (_, stream) = Agent::run(&job).end();
    assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
}

#[test]
fn jobs_without_a_line_or_a_folder_are_refused() {
    let folder = Folder::new("bad");
    let mut nowhere = command(&folder, &[("run", "true")]);
    nowhere["dir"] = Value::Null;
    for wrong in [command(&folder, &[("run", "  ")]), nowhere, command(&folder, &[("run", "true"), ("limit_s", "0")])] {
        let (code, stream) = Agent::run(&wrong).end();
        assert_eq!((code, stream.outcome.as_str()), (2, "failed"));
    }
}
