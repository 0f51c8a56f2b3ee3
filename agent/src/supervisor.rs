//! Runs one shell line whose processes cannot outlive it, whatever they do and however the agent ends.
//!
//! A supervisor runs the line: this program again, in its own session, as the reaper of all descendants. It times the
//! line, then ends all remaining processes. It does the same when its socket closes, which happens when the agent is
//! killed; and the kernel kills the line when its supervisor ends. Two kinds of process cannot be ended: those that
//! root creates for an unprivileged user through sudo, and those that a service such as Docker's creates for the line.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::clock;
use crate::fault::{Fault, OrFault};

/// The flag that makes this program a supervisor; a folder and a line follow it.
pub const FLAG: &str = "--keep";
const PATIENCE: Duration = Duration::from_secs(5);

/// The sockets of this process's supervisors, for a guard that cannot wait for the probe.
static OWN: Mutex<Vec<UnixStream>> = Mutex::new(Vec::new());

/// A line for `/bin/sh -c`, and the limits of the output to keep.
pub struct Line<'a> {
    pub dir: &'a Path,
    pub text: &'a str,
    pub environ: &'a [(&'static str, OsString)],
    pub limit: Duration,
    pub stdout_bytes: usize,
    pub stderr_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Exit(i32),
    Signal(i32),
    /// The line exceeded its time limit and was ended.
    Overdue,
}

/// The beginning and the end of an output, together no longer than requested.
pub struct Output {
    pub bytes: Vec<u8>,
    pub cut: bool,
}

/// The result of a line: `time_s` runs from before the spawn until the line is reaped; processor time and the largest
/// resident set cover the line and the children that it waited for.
pub struct Done {
    pub how: How,
    pub time_s: f64,
    pub cpu_s: f64,
    pub rss_bytes: u64,
    pub stdout: Output,
    pub stderr: Output,
}

/// Runs a line until it ends or reaches its limit.
pub fn run(line: &Line) -> Result<Done, Fault> {
    let next = "see the limits of this user and the memory of the machine";
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) }; // adopts the processes of a killed supervisor
    let (mut ours, theirs) = UnixStream::pair().or_fault("cannot make a socket", next)?;
    ours.set_read_timeout(Some(line.limit)).or_fault("cannot set a limit", "report this")?;
    let mut supervisor = Command::new("/proc/self/exe")
        .arg(FLAG)
        .args([line.dir.as_os_str(), OsStr::new(line.text)])
        .env_clear()
        .envs(line.environ.iter().map(|(key, value)| (key, value)))
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .or_fault("cannot start the supervisor of a line", next)?;
    let own = ours.try_clone().or_fault("cannot copy a socket", next)?;
    OWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(own);
    let outputs = (
        read_limited(supervisor.stdout.take(), line.stdout_bytes, false)?,
        read_limited(supervisor.stderr.take(), line.stderr_bytes, true)?,
    );
    let mut report = String::new();
    let received = ours.read_to_string(&mut report); // fails if the limit comes first
    end_own();
    await_end(&mut supervisor)?;
    let lingering = |_| Fault::failed("a process of the line can not be ended", "see which one on the machine");
    let (stdout, stderr) =
        (outputs.0.recv_timeout(PATIENCE).map_err(lingering)?, outputs.1.recv_timeout(PATIENCE).map_err(lingering)?);
    let (how, time_s, cpu_s, rss_bytes) = match received {
        Ok(_) => parse_report(&report)?,
        Err(_) => (How::Overdue, 0.0, 0.0, 0),
    };
    Ok(Done { how, time_s, cpu_s, rss_bytes, stdout, stderr })
}

/// Tells the supervisors of this process to end all supervised processes.
pub fn end_own() {
    if let Ok(mut own) = OWN.lock() {
        own.drain(..).for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
    }
}

/// Does the same as `end_own` and waits until nothing is left, for a guard that ends the process.
pub fn end_own_and_wait() {
    let some = OWN.lock().is_ok_and(|own| !own.is_empty());
    end_own();
    let until = Instant::now() + Duration::from_secs(1);
    while some && !children().iter().all(|&(_, state)| state == 'Z') && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for a supervisor whose socket has closed, then ends the processes it left to the agent if it was killed.
fn await_end(supervisor: &mut Child) -> Result<(), Fault> {
    let until = Instant::now() + 2 * PATIENCE;
    while supervisor.try_wait().or_fault("cannot wait for a supervisor", "report this")?.is_none() {
        if Instant::now() > until {
            return Err(Fault::failed("a process of the line can not be ended", "see which one on the machine"));
        }
        thread::sleep(Duration::from_micros(200));
    }
    end_children(PATIENCE);
    Ok(())
}

/// Parses a supervisor's report about its line.
fn parse_report(report: &str) -> Result<(How, f64, f64, u64), Fault> {
    let words: Vec<&str> = report.split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok()).filter(|&number| number >= 0);
    let (Some(&kind), Some(code), Some(ns), Some(cpu_us), Some(rss_kib)) =
        (words.first(), number(1), number(2), number(3), number(4))
    else {
        let what = if report.is_empty() { "its supervisor was killed: out of memory?" } else { report.trim() };
        return Err(Fault::failed(what, "see the machine's log"));
    };
    let how = if kind == "exit" { How::Exit(code as i32) } else { How::Signal(code as i32) };
    Ok((how, clock::seconds(ns as u64), cpu_us as f64 / 1e6, rss_kib as u64 * 1024))
}

/// Reads a pipe to its end in its own thread and keeps at most `most` bytes: the first, or the last.
fn read_limited(
    pipe: Option<impl Read + Send + 'static>,
    most: usize,
    last: bool,
) -> Result<mpsc::Receiver<Output>, Fault> {
    let mut pipe = pipe.ok_or_else(|| Fault::failed("a supervisor without a pipe", "report this"))?;
    let (send, receive) = mpsc::channel();
    let reading = move || {
        let (mut bytes, mut cut, mut chunk) = (Vec::with_capacity(most.min(1 << 16)), false, vec![0_u8; 1 << 16]);
        while let Ok(got @ 1..) = pipe.read(&mut chunk) {
            let room = if last { got } else { got.min(most - bytes.len()) };
            bytes.extend_from_slice(&chunk[..room]);
            cut |= room < got || bytes.len() > most;
            if bytes.len() > most {
                bytes.drain(..bytes.len() - most);
            }
        }
        let _ = send.send(Output { bytes, cut });
    };
    thread::Builder::new().name("output".into()).spawn(reading).or_fault("cannot start a thread", "see the limits")?;
    Ok(receive)
}

/// Runs the supervisor for the whole lifetime of its process. Returns the exit code.
pub fn supervise(dir: &OsStr, line: &OsStr) -> i32 {
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
    }
    thread::Builder::new().name("agent".into()).spawn(end_with_agent).expect("a thread for the agent's end");
    let report = run_timed(dir, line);
    end_children(PATIENCE);
    let mut socket = unsafe { <UnixStream as std::os::fd::FromRawFd>::from_raw_fd(0) };
    let _ = socket.write_all(report.as_bytes()); // ignored: the agent may be gone
    0
}

/// Runs the line; returns its end, nanoseconds, microseconds of processor time, KiB of its largest resident set.
fn run_timed(dir: &OsStr, line: &OsStr) -> String {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).current_dir(dir).stdin(Stdio::null()).process_group(0);
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    let begun = clock::now_ns();
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return format!("cannot start /bin/sh: {error}"),
    };
    while unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) } < 0 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return "the line was reaped by somebody else".into();
        }
    }
    let took_ns = clock::now_ns() - begun;
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    let cpu_us = micros(usage.ru_utime) + micros(usage.ru_stime);
    let (how, code) =
        if libc::WIFEXITED(status) { ("exit", libc::WEXITSTATUS(status)) } else { ("signal", libc::WTERMSIG(status)) };
    format!("{how} {code} {took_ns} {cpu_us} {}", usage.ru_maxrss)
}

/// Waits until the agent closes its end of the socket, then ends everything.
fn end_with_agent() {
    let mut byte = 0_u8;
    while unsafe { libc::read(0, (&raw mut byte).cast(), 1) } > 0 {}
    end_children(PATIENCE);
    unsafe { libc::_exit(1) }
}

/// Kills the children of this process until there are none: the children of a dead child go to its reaper.
fn end_children(patience: Duration) {
    let until = Instant::now() + patience;
    loop {
        let left = children();
        for &(pid, _) in &left {
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG);
            }
        }
        if left.is_empty() || Instant::now() > until {
            return;
        }
        thread::sleep(Duration::from_micros(500));
    }
}

/// Returns the children of this process, from all its threads, each with its state.
fn children() -> Vec<(i32, char)> {
    let own = std::process::id().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        // Format: pid (name) state parent ...; the name may contain any character.
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let after = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let text = std::str::from_utf8(&stat[after..]).ok()?;
        let mut fields = text.split_whitespace();
        let (state, parent) = (fields.next()?.chars().next()?, fields.next()?);
        (parent == own).then_some((pid, state))
    })
    .collect()
}
