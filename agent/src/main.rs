//! The measuring agent of cloudcmp: reads a job from stdin, runs a probe, writes samples to stdout, nothing else.
//!
//! # Layout
//! - `wire` the output, `job` the input, `targets` the other machines, `fault` the errors
//! - `clock` clocks and their cost, `pace` parallel workers for a fixed time, `record` latency histograms
//! - `caps` limits on network traffic, `traffic_limiter` enforces them, `reached_cap` says which one ended a trial
//! - `pin` CPUs of a thread, `disturbance` disturbance before and during a trial, `watchdog` deadline and controller
//! - `host` facts of the machine, `memory_map` memory, `rng` seeded numbers, `solve` linear systems,
//!   `scratch` an unnamed file, `workdir` a folder of named files, `net` authenticated connections,
//!   `supervisor` a shell command whose processes cannot outlive it
//! - `simd` vectors of doubles, `bt` the flow of the NAS benchmark BT
//! - `service` thin clients of storage services, and the load that they are put under
//! - `serve` the other end: pages, short tasks and what a platform lets a handler do, over HTTP
//! - `wan` names, round trips and pages between vantage points and endpoints
//! - `probe` one file per probe, one table that lists them

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fault::{Fault, Outcome};
use crate::job::Job;
use crate::wire::Out;

mod bt;
mod caps;
mod clock;
mod disturbance;
mod fault;
mod host;
mod job;
mod memory_map;
mod net;
mod pace;
mod pin;
mod probe;
mod reached_cap;
mod record;
mod rng;
mod scratch;
mod serve;
mod service;
mod simd;
mod solve;
mod supervisor;
mod targets;
mod traffic_limiter;
mod wan;
mod watchdog;
mod wire;
mod workdir;

const HINT: &str =
    "cloudcmp-agent reads one job line from stdin; cloudcmp runs it for you. Others: serve, --probes, --version";

fn main() {
    abort_on_panic();
    let flags: Vec<_> = std::env::args_os().skip(1).collect();
    let code = match flags.as_slice() {
        [] if unsafe { libc::isatty(0) } == 1 => usage(HINT),
        [] => measure(),
        [flag] if flag == "--version" => print(&format!("cloudcmp-agent {}", env!("CARGO_PKG_VERSION"))),
        [flag] if flag == "--probes" => print(&probe::table().to_string()),
        [verb, rest @ ..] if verb == serve::VERB => serve::main(rest),
        [flag, dir, line] if flag == supervisor::FLAG => supervisor::supervise(dir, line),
        [flag, rest @ ..] if flag == probe::unixbench::FLAG => probe::unixbench::main(rest),
        _ => usage(HINT),
    };
    std::process::exit(code);
}

fn usage(hint: &str) -> i32 {
    let _ = writeln!(std::io::stderr(), "{hint}"); // ignored: stderr may be closed
    2
}

fn print(text: &str) -> i32 {
    i32::from(writeln!(std::io::stdout(), "{text}").is_err())
}

/// Reads the job, writes the hello record, runs the probe, writes the end record. Returns the exit code.
fn measure() -> i32 {
    let born = Instant::now();
    let out = Arc::new(Out::new(Box::new(std::io::stdout())));
    end_on_panic(Arc::clone(&out));
    // Exceeding a file size limit makes the write fail; it does not end the process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let line = read_line();
    let start = Instant::now(); // excludes the time before the controller sent the job
    let job = line.and_then(|line| job::parse(&line));
    let lease_s = job.as_ref().ok().and_then(|job| job.lease_s);
    let lease = lease_s.map(|seconds| born + Duration::from_secs_f64(seconds));
    if let Some(lease) = lease {
        // Covers every hang, such as facts of a dead disk or a reader that does not read.
        watchdog::leave_at(lease + watchdog::LAST_WORDS);
    }
    let dir = job.as_ref().ok().and_then(|job| job.dir.as_deref());
    let hello = out.hello(hello(dir));
    let result = hello.and(job).and_then(|job| {
        tidy(job.dir.as_deref(), &out)?;
        watchdog::start(Arc::clone(&out), start + Duration::from_secs_f64(job.deadline_s), lease);
        run(&job, &out)
    });
    out.finish(&result);
    result.map_or_else(|fault| fault.exit_code, |()| 0)
}

fn run(job: &Job, out: &Out) -> Result<(), Fault> {
    let context = probe::Context::new(job, out)?;
    pin::to(&job.cpus)?;
    (context.probe.run)(&context)
}

/// Removes leftovers of killed agents from the directory of this trial.
fn tidy(dir: Option<&Path>, out: &Out) -> Result<(), Fault> {
    match dir.map_or(0, workdir::sweep) {
        0 => Ok(()),
        count => out.note("leftovers_removed", count),
    }
}

/// Returns the body of the hello record: the agent, the machine and the clock.
fn hello(dir: Option<&Path>) -> Value {
    let env = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let clock = clock::calibrate();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "target": format!("{}-unknown-{}-{env}", std::env::consts::ARCH, std::env::consts::OS),
        "host": host::facts(dir),
        "clock": {"source": "CLOCK_MONOTONIC_RAW", "resolution_s": clock.resolution_s, "cost_s": clock.cost_s},
    })
}

/// Reads one line from stdin, without its line feed and without reading far beyond it.
fn read_line() -> Result<Vec<u8>, Fault> {
    let next = "send one job line and keep stdin open";
    let mut line = Vec::new();
    let mut chunk = [0_u8; 4096];
    while line.len() < wire::LINE_LIMIT {
        let got = unsafe { libc::read(0, chunk.as_mut_ptr().cast(), chunk.len()) };
        if got <= 0 {
            return Err(Fault::bad_job("bad job: stdin ended before a line did", next));
        }
        line.extend_from_slice(&chunk[..got as usize]);
        if let Some(end) = line.iter().position(|&byte| byte == b'\n') {
            line.truncate(end);
            return Ok(line);
        }
    }
    Err(Fault::bad_job("bad job: a line of 64 KiB or more", next))
}

/// Aborts the process when any thread panics.
fn abort_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        std::process::abort()
    }));
}

/// On a panic, ends the trial as failed and writes the panic message, so that the stream is never cut off.
fn end_on_panic(out: Arc<Out>) {
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
        let words = info.payload_as_str().unwrap_or("a panic");
        let fault = Fault { outcome: Outcome::Failed, ..Fault::failed(format!("{words}{place}"), "report this") };
        let finished = out.finish_within(Duration::from_secs(1), &Err(fault));
        supervisor::end_own_and_wait();
        workdir::remove_own();
        unsafe { libc::_exit(if finished { 0 } else { 1 }) }
    }));
}

/// Number of cases of a test with hostile input: ten thousand, a fifth of that in tests that are not optimised, or the
/// number that the environment sets.
#[cfg(test)]
fn hostile() -> proptest::prelude::ProptestConfig {
    let cases = std::env::var("CLOUDCMP_CASES").ok().and_then(|text| text.parse().ok());
    proptest::prelude::ProptestConfig::with_cases(cases.unwrap_or(if cfg!(debug_assertions) { 2_000 } else { 10_000 }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn a_panic_in_any_thread_ends_the_process() {
        const CHILD: &str = "CLOUDCMP_TEST_PANICS";
        if std::env::var_os(CHILD).is_some() {
            super::abort_on_panic();
            let _ = std::thread::spawn(|| panic!("planted")).join();
            std::process::exit(0);
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        let name = "tests::a_panic_in_any_thread_ends_the_process";
        let output = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("planted"));
    }
}
