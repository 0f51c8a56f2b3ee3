//! Adverse conditions for probes with files: no space, no permission, no direct I/O, no io_uring, few CPUs, death.
//!
//! Each leads to an outcome with a reason, or to a fallback with a note; and nothing is left behind.


use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Agent, Folder, Stream, agent_path, cpus, job};
use serde_json::{Value, json};

/// The probes that write files, with parameters that make their trials short.
const WITH_FILES: [(&str, &[(&str, &str)]); 6] = [
    ("disk", &[("op", "write"), ("durability", "cached"), ("file_bytes", "2097152"), ("duration_s", "0.05")]),
    ("iozone", &[("op", "rewrite"), ("durability", "cached"), ("file_bytes", "2097152")]),
    ("dbench", &[("loadfile", "own"), ("duration_s", "0.5")]),
    ("task", &[("task", "disk"), ("size", "small")]),
    ("postmark", &[("files", "100"), ("size_bytes", "20000-40000"), ("transactions", "400")]),
    ("unixbench", &[("duration_s", "0.01"), ("passes", "1")]),
];

fn of(probe: &str, dir: &Path, params: &[(&str, &str)]) -> Value {
    let mut job = job(probe, params);
    job["dir"] = dir.to_str().unwrap().into();
    job
}

fn run_by(command: Command, job: &Value) -> Stream {
    let (code, stream) = Agent::start_by(command, format!("{job}\n").as_bytes()).end();
    assert_eq!(code, 0, "a fault of the machine is a result: {:#?}", stream.frames);
    stream
}

/// Asserts that every probe with files fails in `dir` when started by `start`, in one line that contains one of the
/// words.
fn all_fail(dir: &Path, words: &[&str], start: impl Fn() -> Command) {
    for (probe, params) in WITH_FILES {
        let stream = run_by(start(), &of(probe, dir, params));
        // UnixBench's tests before the first one with files have values; there is no index.
        let values = stream.of("sample").filter(|sample| sample["metric"] != "unixbench_test_index").count();
        assert_eq!((stream.outcome.as_str(), values), ("failed", 0), "{probe}");
        assert!(words.iter().any(|word| stream.error().contains(word)), "{probe}: {}", stream.error());
        let next = stream.of("error").next().unwrap()["next"].as_str().unwrap();
        assert!(!next.is_empty() && next != "report this", "{probe}: {next}");
    }
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// Whether a command can run here; prints the reason if not.
fn can(words: &[&str]) -> bool {
    let done = command(words).output();
    let well = done.as_ref().is_ok_and(|output| output.status.success());
    if !well {
        let why =
            done.map_or_else(|error| error.to_string(), |done| String::from_utf8_lossy(&done.stderr).into_owned());
        eprintln!("skipped: {} does not work here: {}", words.join(" "), why.trim());
    }
    well
}

/// Returns a command in which system call `call` fails with `errno` if the bits `mask` of its argument `at` are set.
fn forbidden(call: libc::c_long, at: u32, mask: u32, errno: i32) -> Command {
    let load = |offset: u32| libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: offset };
    let give = |value: u32| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: value };
    let allow = libc::SECCOMP_RET_ALLOW;
    let filter = [
        load(0), // the number of the call
        libc::sock_filter { code: 0x15, jt: 0, jf: if mask == 0 { 1 } else { 3 }, k: call as u32 },
        if mask == 0 { give(libc::SECCOMP_RET_ERRNO | errno as u32) } else { load(16 + 8 * at) },
        if mask == 0 { give(allow) } else { libc::sock_filter { code: 0x45, jt: 0, jf: 1, k: mask } },
        give(libc::SECCOMP_RET_ERRNO | errno as u32),
        give(allow),
    ];
    let mut command = Command::new("env");
    let install = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) != 0
        };
        if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    unsafe { command.pre_exec(install) };
    command
}

#[test]
fn a_full_disk_is_reported_before_anything_is_written() {
    let folder = Folder::new("full");
    let mount = format!("mount -t tmpfs -o size=1m none {} && exec \"$@\"", folder.0.display());
    let inside = ["unshare", "-Urm", "sh", "-c", &mount, "sh"];
    if !can(&[&inside[..], &["true"]].concat()) {
        return;
    }
    all_fail(&folder.0, &["free", "in memory"], || command(&inside));
    let stream = run_by(command(&inside), &of("unixbench", &folder.0, &[("copies", "2")]));
    assert_eq!((stream.count(), stream.error()), (0, "2 copies need 34768000 B free for their files"));
    assert_eq!(folder.files(), 0);
}

#[test]
fn running_out_of_space_is_an_outcome_and_does_not_crash_the_agent() {
    let folder = Folder::new("limit");
    // A limit on the size of files stands for a quota: the write that reaches it fails, earlier ones succeed.
    if !can(&["prlimit", "--fsize=16384", "true"]) {
        return;
    }
    all_fail(&folder.0, &["File too large", " B were moved", " bytes were written"], || {
        command(&["prlimit", "--fsize=16384"])
    });
    let (probe, params) = ("iozone", [("op", "write"), ("durability", "cached"), ("file_bytes", "2097152")]);
    let stream = run_by(command(&["prlimit", "--fsize=16384"]), &of(probe, &folder.0, &params));
    assert!(stream.outcome == "failed" && stream.count() == 0, "in the timed part: {:#?}", stream.frames);
    assert_eq!(folder.files(), 0);
}

#[test]
fn a_folder_that_is_not_writable_or_is_a_file_is_reported() {
    let folder = Folder::new("closed");
    let file = folder.0.join("file");
    std::fs::write(&file, "precious").unwrap();
    all_fail(&file, &["ot a directory"], || Command::new("env"));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    let closed = folder.0.join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o500)).unwrap();
    // Root may write anywhere, unless it has lost its capabilities.
    let powerless = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"];
    if unsafe { libc::geteuid() } != 0 {
        all_fail(&closed, &["ermission denied"], || Command::new("env"));
    } else if can(&[&powerless[..], &["true"]].concat()) {
        all_fail(&closed, &["ermission denied"], || command(&powerless));
    }
    assert_eq!(std::fs::read_dir(&closed).unwrap().count(), 0);
}

#[test]
fn refused_direct_io_is_reported_and_never_replaced_by_the_page_cache() {
    let folder = Folder::new("indirect");
    let start = || forbidden(libc::SYS_openat, 2, libc::O_DIRECT as u32, libc::EINVAL);
    for (probe, op) in [("disk", "read"), ("disk", "write"), ("iozone", "read"), ("iozone", "write")] {
        let job = of(probe, &folder.0, &[("op", op), ("durability", "direct"), ("file_bytes", "1048576")]);
        let stream = run_by(start(), &job);
        assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0), "{probe} {op}");
        let error = stream.error();
        assert!(error.contains("O_DIRECT") || error.contains("in memory"), "{probe} {op}: {error}");
    }
    for (probe, params) in WITH_FILES {
        let stream = run_by(start(), &of(probe, &folder.0, params));
        assert_eq!(stream.outcome, "ok", "{probe} needs none: {:?}", stream.of("error").next());
    }
}

#[test]
fn reads_from_the_page_cache_are_not_measured_as_a_disk() {
    let folder = Folder::new("sticky");
    // The call that should drop the file from the cache reports success without doing so.
    let start = || forbidden(libc::SYS_fadvise64, 0, 0, 0);
    for durability in ["osync", "fsync"] {
        let file = [("durability", durability), ("file_bytes", "1048576")];
        let stream = run_by(start(), &of("iozone", &folder.0, &[&file[..], &[("op", "read")]].concat()));
        assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
        let error = stream.error();
        assert!(error.contains("the page cache keeps 100 % of the file") || error.contains("in memory"), "{error}");
        if error.contains("page cache") {
            let stream = run_by(start(), &of("iozone", &folder.0, &[&file[..], &[("op", "rewrite")]].concat()));
            assert_eq!((stream.outcome.as_str(), stream.note("page_cache")), ("ok", Some(&json!("warm"))));
        }
    }
}

#[test]
fn a_disk_task_notes_reads_from_the_page_cache() {
    let folder = Folder::new("kept");
    let params = [("task", "disk"), ("size", "small")];
    let sticky = run_by(forbidden(libc::SYS_fadvise64, 0, 0, 0), &of("task", &folder.0, &params));
    if sticky.outcome == "failed" {
        assert!(sticky.error().contains("lives in memory"), "{}", sticky.error());
        return;
    }
    assert_eq!(sticky.note("page_cache"), Some(&json!("warm")));
    assert!(sticky.note("warning").unwrap().as_str().unwrap().contains("not the disk's"));
    let usual = run_by(Command::new("env"), &of("task", &folder.0, &params));
    assert_eq!(usual.note("cpus_used"), Some(&json!(cpus().len())), "one thread may run on all");
    let client = run_by(Command::new("env"), &of("dbench", &folder.0, &[("loadfile", "own"), ("duration_s", "0.1")]));
    assert_eq!(client.note("cpus_used"), Some(&json!(cpus().len())));
    assert!(usual.note("page_cache") != Some(&json!("warm")) && usual.note("warning").is_none());
    assert_eq!(folder.files(), 0);
}

#[test]
fn threads_that_cannot_be_started_are_reported_with_advice() {
    // An otherwise unused user, with few processes: the limit does not apply to root.
    let user = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "--inh-caps=-all"];
    let limited = [&user[..], &["--bounding-set=-all", "prlimit", "--nproc=60"]].concat();
    if !can(&[&limited[..], &["test", "-x", &agent_path()]].concat()) {
        return;
    }
    for (probe, params) in [
        ("fma", &[("threads", "1000"), ("duration_s", "0.01")][..]),
        ("task", &[("task", "hash"), ("size", "small"), ("threads", "1000")]),
        ("npb", &[("benchmark", "ep"), ("class", "S"), ("threads", "1000")]),
    ] {
        let stream = run_by(command(&limited), &job(probe, params));
        assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
        let next = stream.of("error").next().unwrap()["next"].as_str().unwrap();
        assert!(stream.error().contains("thread") && next.contains("lower threads"), "{}: {next}", stream.error());
    }
}

#[test]
fn without_io_uring_another_engine_runs_and_is_named() {
    let folder = Folder::new("ringless");
    let start = || forbidden(libc::SYS_io_uring_setup, 0, 0, libc::EPERM);
    let deep = [("durability", "cached"), ("file_bytes", "1048576"), ("duration_s", "0.05"), ("depth", "4")];
    let stream = run_by(start(), &of("disk", &folder.0, &deep));
    assert_eq!((stream.outcome.as_str(), stream.note("engine")), ("ok", Some(&json!("preadv2"))));
    let stream = run_by(start(), &of("disk", &folder.0, &[&deep[..], &[("engine", "io_uring")]].concat()));
    assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
    assert!(stream.error().contains("io_uring is refused"), "{}", stream.error());
}

#[test]
fn without_their_own_file_tables_clients_share_one_and_a_note_says_so() {
    let folder = Folder::new("shared");
    let start = || forbidden(libc::SYS_unshare, 0, 0, libc::EPERM);
    let params = [("clients", "30"), ("loadfile", "own"), ("duration_s", "0.1")];
    let stream = run_by(start(), &of("dbench", &folder.0, &params));
    assert_eq!((stream.outcome.as_str(), stream.note("own_file_tables")), ("ok", Some(&json!(false))));
    assert_eq!(folder.files(), 0);
}

#[test]
fn several_threads_on_one_cpu_are_noted() {
    let folder = Folder::new("one");
    let cpu = cpus()[0];
    let taskset = ["taskset", "-c", &cpu.to_string()].map(str::to_owned);
    let words: Vec<&str> = taskset.iter().map(String::as_str).collect();
    if !can(&[&words[..], &["true"]].concat()) {
        return;
    }
    for (probe, params) in WITH_FILES {
        let (many, count) = match probe {
            "postmark" => (None, 1), // always uses one thread
            "dbench" => (Some(("clients", "3")), 3),
            "unixbench" => continue, // its copies are processes, and are not adapted to the CPUs
            _ => (Some(("threads", "3")), 3),
        };
        let mut job = of(probe, &folder.0, &[params, many.as_slice()].concat());
        job["cpus"] = json!([cpu]);
        let stream = run_by(command(&words), &job);
        assert_eq!(stream.outcome, "ok", "{probe}");
        assert_eq!((stream.note("threads"), stream.note("cpus_used")), (Some(&json!(count)), Some(&json!(1))));
        assert_eq!(stream.of("hello").next().unwrap()["host"]["limits"]["cpuset"], cpu.to_string());
    }
}

/// A control group with a twentieth of a CPU; `None`, with the reason printed, if it cannot be created here.
struct Quota(PathBuf);

impl Quota {
    fn new() -> Option<Quota> {
        let name = format!("cloudcmp-test-{}", std::process::id());
        let limits = [("cpu", "cpu.cfs_quota_us", "5000"), ("", "cpu.max", "5000 100000")];
        for (controller, file, limit) in limits {
            let path = Path::new("/sys/fs/cgroup").join(controller).join(&name);
            if std::fs::create_dir(&path).is_ok() {
                let quota = Quota(path);
                if std::fs::write(quota.0.join(file), limit).is_ok() {
                    return Some(quota);
                }
            }
        }
        eprintln!("skipped: no control group with a quota of CPU time can be made here");
        None
    }

    /// Returns a command that first enters the group.
    fn enter(&self) -> Command {
        let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        command(&["sh", "-c", &script, "sh"])
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        std::fs::remove_dir(&self.0).unwrap();
    }
}

#[test]
fn a_cpu_quota_is_a_host_fact_and_its_throttling_is_noted() {
    let Some(quota) = Quota::new() else { return };
    let stream = run_by(quota.enter(), &job("fma", &[("duration_s", "0.6")]));
    assert_eq!(stream.outcome, "ok");
    let limits = &stream.of("hello").next().unwrap()["host"]["limits"];
    assert!((limits["cpu_quota"].as_f64().unwrap() - 0.05).abs() < 1e-9, "{limits}");
    let note = |key: &str| stream.note(key).unwrap().as_f64().unwrap();
    assert!(note("throttled_periods") >= 1.0 && note("throttled_s") > 0.0, "{:#?}", stream.frames);
    assert!(note("cpu_time_s") < 0.5 * note("elapsed_s"), "a twentieth of a CPU");
}

#[test]
fn the_next_agent_removes_all_leftovers_of_a_killed_one() {
    let folder = Folder::new("killed");
    let much = [
        ("duration_s", "20"),
        ("file_bytes", "1073741824"),
        ("duration_s", "20"),
        ("size", "full"),
        ("transactions", "1000000"),
    ];
    // Another test covers UnixBench's copies.
    for ((probe, params), much) in WITH_FILES.into_iter().zip(much) {
        let longer: Vec<_> = params.iter().filter(|(key, _)| *key != much.0).copied().chain([much]).collect();
        let mut agent = Agent::run(&of(probe, &folder.0, &longer));
        assert_eq!(agent.frame()["type"], "hello");
        let begun = Instant::now();
        let pid = agent.child.id();
        while !has_a_file(pid, &folder.0) {
            assert!(begun.elapsed() < Duration::from_secs(5), "{probe} never opened its file");
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(50));
        agent.child.kill().unwrap();
        agent.child.wait().unwrap();
        let stream = run_by(Command::new("env"), &of(probe, &folder.0, params));
        let error = stream.of("error").next();
        assert_eq!((stream.outcome.as_str(), folder.files()), ("ok", 0), "{probe}: {error:?}");
    }
}

/// Whether a process has a file open in a folder, with or without a name.
fn has_a_file(pid: u32, folder: &Path) -> bool {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|path| path.starts_with(folder))
}
