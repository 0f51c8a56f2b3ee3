//! A fault: the error, the advice for the user, and the outcome of the trial.

use std::fmt::Display;

/// The outcome of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Failed,
    Timeout,
    Aborted,
    Invalid,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Timeout => "timeout",
            Outcome::Aborted => "aborted",
            Outcome::Invalid => "invalid",
        }
    }
}

/// A fault: two short sentences for the reader, the outcome and the exit code.
#[derive(Debug)]
pub struct Fault {
    pub what: String,
    pub next: String,
    pub outcome: Outcome,
    pub exit_code: i32,
}

impl Fault {
    /// Creates a fault for a trial that could not be measured.
    pub fn failed(what: impl Into<String>, next: impl Into<String>) -> Fault {
        Fault { what: what.into(), next: next.into(), outcome: Outcome::Failed, exit_code: 0 }
    }

    /// Creates a fault for a trial whose measurement failed a known-answer check.
    pub fn invalid(what: impl Into<String>, next: impl Into<String>) -> Fault {
        Fault { outcome: Outcome::Invalid, ..Fault::failed(what, next) }
    }

    /// Creates a fault for an invalid job.
    pub fn bad_job(what: impl Into<String>, next: impl Into<String>) -> Fault {
        Fault { exit_code: 2, ..Fault::failed(what, next) }
    }
}

/// Converts the error of a system call into a fault that names the attempted action.
pub trait OrFault<T> {
    fn or_fault(self, tried: impl Display, next: &str) -> Result<T, Fault>;
}

impl<T, E: Display> OrFault<T> for Result<T, E> {
    fn or_fault(self, tried: impl Display, next: &str) -> Result<T, Fault> {
        self.map_err(|error| Fault::failed(format!("{tried}: {error}"), next))
    }
}

/// Returns the error of the last system call if `code` is negative, otherwise the code.
pub fn check(code: i64) -> std::io::Result<i64> {
    if code < 0 { Err(std::io::Error::last_os_error()) } else { Ok(code) }
}
