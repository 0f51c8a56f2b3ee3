//! The agent's side of a pass: starts one worker for each copy of a test, all together; they end with the agent.
//!
//! Each copy is this program with a hidden flag. It reports that it is ready and waits for the end of its stdin, which
//! is one pipe for all; closing that pipe starts them. The kernel kills a copy when the agent ends, however it ends.
//! Processes started by a copy's shell end after one pass over a small text.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::process::{FLAG, OWN, die_with};
use super::score::Report;
use crate::fault::{Fault, OrFault, Outcome};

/// Longer than any output of a copy.
const OUTPUT_LIMIT: u64 = 4096;
/// Runs one pass; returns the report of each copy.
pub fn run(test: &str, length_s: f64, copies: usize, folder: &Path) -> Result<Vec<Report>, Fault> {
    let (start, gun) = std::io::pipe().or_fault("cannot make a pipe", "raise the limit of open files")?;
    let mut running = Vec::with_capacity(copies);
    for _ in 0..copies {
        let stdin = start.try_clone().or_fault("cannot open a pipe", "raise the limit of open files")?;
        running.push(Copy::start(test, length_s, folder, stdin.into())?);
    }
    running.iter_mut().try_for_each(|copy| match copy.line().as_str() {
        "ready" => Ok(()),
        output => Err(unexpected_line(test, output)),
    })?;
    drop(gun);
    running.iter_mut().map(|copy| copy.report(test)).collect()
}

/// A copy, killed when dropped.
struct Copy {
    child: Child,
    output: BufReader<std::io::Take<ChildStdout>>,
}

impl Copy {
    fn start(test: &str, length_s: f64, folder: &Path, stdin: Stdio) -> Result<Copy, Fault> {
        let mut command = Command::new(OWN);
        command.args([FLAG, test, &length_s.to_string()]).current_dir(folder);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
        let agent = std::process::id();
        unsafe { command.pre_exec(move || die_with(agent)) };
        let next = "raise the limit of processes, or ask for fewer copies";
        let mut child = command.spawn().or_fault(format!("cannot start a copy of {test}"), next)?;
        let stdout = child.stdout.take().expect("it is piped");
        Ok(Copy { child, output: BufReader::new(stdout.take(OUTPUT_LIMIT)) })
    }

    /// Reads the next line; empty at the end.
    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.output.read_line(&mut line); // an empty line is handled, too
        line.trim_end().to_owned()
    }

    fn report(&mut self, test: &str) -> Result<Report, Fault> {
        let line = self.line();
        let number = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        let report = match line.split(' ').collect::<Vec<_>>()[..] {
            ["ok", count, elapsed_s] => number(count).zip(number(elapsed_s)),
            _ => None,
        };
        let (count, elapsed_s) = report.ok_or_else(|| unexpected_line(test, &line))?;
        Ok(Report { count, elapsed_s })
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.child.kill(); // ignored: most have ended
        let _ = self.child.wait();
    }
}

/// Returns the fault of a copy that printed an unexpected line.
fn unexpected_line(test: &str, line: &str) -> Fault {
    let fault = |words: &str| {
        let (what, next) = words.split_once('\t').unwrap_or((words, "report this"));
        Fault::failed(format!("{test}: {what}"), next)
    };
    match line.split_once(' ') {
        Some(("failed", words)) => fault(words),
        Some(("invalid", words)) => Fault { outcome: Outcome::Invalid, ..fault(words) },
        Some(("ok", _)) => Fault::failed(format!("{test}: a copy finished nothing in its time"), "raise duration_s"),
        _ => Fault::failed(format!("{test}: a copy died without a word"), "see the machine's log"),
    }
}
