//! The tests that loop over system calls: the mix, a pipe, two processes, fork, and exec.

use std::ffi::CString;
use std::io::Error;
use std::os::fd::{AsRawFd, OwnedFd};

use super::mappings::Mappings;
use super::process::{FLAG, OWN, again, alarm, die_with, since};
use super::score::Report;
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault, check};

const PIPE_BYTES: usize = 512;
const MASK: libc::mode_t = 0o022;
const LIMITS: &str = "raise the limits of processes and open files";

/// Runs five calls per loop: dup and close, getpid past any cache of the C library, getuid, umask.
pub fn syscalls(length_s: f64) -> Result<Report, Fault> {
    let (own, mut right, mut loops) = (i64::from(std::process::id()), true, 0_u64);
    alarm(length_s)?;
    let start_ns = now_ns();
    while again(loops) {
        unsafe {
            right &= libc::close(libc::dup(0)) == 0;
            right &= libc::syscall(libc::SYS_getpid) == own;
            libc::getuid();
            libc::umask(MASK);
        }
        loops += 1;
    }
    let report = since(start_ns, loops);
    right &= unsafe { libc::umask(MASK) } == MASK;
    if right { Ok(report) } else { Err(Fault::invalid("a system call gave a wrong answer", "report this")) }
}

/// Writes 512 bytes into a pipe and reads them back, in one process.
pub fn pipe(length_s: f64) -> Result<Report, Fault> {
    let (reader, writer) = a_pipe()?;
    let (from, to) = (reader.as_raw_fd(), writer.as_raw_fd());
    let pattern: [u8; PIPE_BYTES] = std::array::from_fn(|i| (i * 7 + i / 256) as u8);
    let (mut buffer, mut loops, mut whole) = (pattern, 0_u64, true);
    alarm(length_s)?;
    let start_ns = now_ns();
    while again(loops) {
        unsafe {
            whole &= libc::write(to, buffer.as_ptr().cast(), PIPE_BYTES) == PIPE_BYTES as isize;
            whole &= libc::read(from, buffer.as_mut_ptr().cast(), PIPE_BYTES) == PIPE_BYTES as isize;
        }
        loops += 1;
        if !whole {
            return Err(Error::last_os_error()).or_fault("the pipe gave or took a part", "report this");
        }
    }
    let report = since(start_ns, loops);
    if buffer == pattern { Ok(report) } else { Err(Fault::invalid("the pipe changed its bytes", "report this")) }
}

/// Sends a counter to another process and back; both know its expected value. A loop is two context switches.
pub fn context(length_s: f64) -> Result<Report, Fault> {
    let ((there, to_there), (back, to_back)) = (a_pipe()?, a_pipe()?);
    let own = std::process::id();
    let other = check(unsafe { libc::fork() }.into()).or_fault("cannot fork", LIMITS)? as libc::pid_t;
    if other == 0 {
        drop((to_there, back));
        let code = die_with(own).map_or(1, |()| answer(&there, &to_back));
        unsafe { libc::_exit(code) }
    }
    drop((there, to_back));
    let (mut loops, mut right) = (0_u64, true);
    alarm(length_s)?;
    let start_ns = now_ns();
    while again(loops) && right {
        right = send(&to_there, loops) && receive(&back) == Some(loops);
        loops += 1;
    }
    let report = since(start_ns, loops);
    drop(to_there);
    right &= wait(other)? == 0;
    if right { Ok(report) } else { Err(Fault::invalid("two processes lost count of each other", "report this")) }
}

/// Runs the other process: sends back the expected counters until the input ends.
fn answer(there: &OwnedFd, to_back: &OwnedFd) -> i32 {
    let mut due = 0;
    while let Some(number) = receive(there) {
        if number != due || !send(to_back, due) {
            return 1;
        }
        due += 1;
    }
    0
}

/// Forks and waits for a child that ends at once, with the mappings of a program that has shared libraries.
pub fn spawn(length_s: f64) -> Result<Report, Fault> {
    let (mappings, mut loops) = (Mappings::new()?, 0);
    alarm(length_s)?;
    let start_ns = now_ns();
    while again(loops) {
        match unsafe { libc::fork() } {
            0 => {
                mappings.touch();
                unsafe { libc::_exit(0) }
            }
            -1 => return Err(Error::last_os_error()).or_fault("cannot fork", LIMITS),
            child if wait(child)? != 0 => {
                return Err(Fault::invalid("a child did not end as it should", "report this"));
            }
            _ => loops += 1,
        }
    }
    Ok(since(start_ns, loops))
}

/// Replaces this program with itself repeatedly; the start and the count are passed as arguments.
pub fn execl(length_s: f64, start_ns: u64, count: u64) -> Result<Report, Fault> {
    let report = since(start_ns, count);
    if count > 0 && report.elapsed_s >= length_s {
        return Ok(report);
    }
    let words = [OWN, FLAG, "execl", &length_s.to_string(), &start_ns.to_string(), &(count + 1).to_string()];
    let words = words.map(|word| CString::new(word).expect("no NUL in it"));
    let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    unsafe { libc::execv(pointers[0], pointers.as_ptr()) };
    Err(Error::last_os_error()).or_fault(format!("exec number {} failed", count + 1), "mount /proc")
}

/// Returns the status of a child that has ended.
pub fn wait(child: libc::pid_t) -> Result<i32, Fault> {
    let mut status = -1;
    loop {
        if unsafe { libc::waitpid(child, &mut status, 0) } == child {
            return Ok(status);
        }
        let error = Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error).or_fault("cannot wait for a child", "report this");
        }
    }
}

/// Returns the reading end and the writing end.
fn a_pipe() -> Result<(OwnedFd, OwnedFd), Fault> {
    std::io::pipe().or_fault("cannot make a pipe", LIMITS).map(|(reader, writer)| (reader.into(), writer.into()))
}

fn interrupted() -> bool {
    Error::last_os_error().raw_os_error() == Some(libc::EINTR)
}

fn send(to: &OwnedFd, number: u64) -> bool {
    let bytes = number.to_ne_bytes();
    loop {
        let sent = unsafe { libc::write(to.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        if sent >= 0 || !interrupted() {
            return sent == bytes.len() as isize;
        }
    }
}

fn receive(from: &OwnedFd) -> Option<u64> {
    let mut bytes = [0; 8];
    loop {
        let got = unsafe { libc::read(from.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
        if got >= 0 || !interrupted() {
            return (got == bytes.len() as isize).then(|| u64::from_ne_bytes(bytes));
        }
    }
}
