//! A worker: runs one copy of a test in a new process with one thread, an alarm and one loop, and prints one result
//! line.

use std::ffi::OsString;
use std::io::{Read, Write};

use super::score::Report;
use super::{calls, dhrystone, files, shell, whetstone};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault, Outcome};

/// Runs a worker for its whole lifetime: a test, its length in seconds and, if `execl` began earlier, its start and
/// count.
pub fn main(arguments: &[OsString]) -> i32 {
    let words: Option<Vec<&str>> = arguments.iter().map(|word| word.to_str()).collect();
    let length_s = |text: &str| text.parse::<f64>().ok().filter(|value| (0.001..=86_400.0).contains(value));
    let result = match words.as_deref() {
        Some([test, text]) => length_s(text).map(|length_s| ready().and_then(|()| measure(test, length_s))),
        Some(["execl", text, start_ns, count]) => {
            let again = length_s(text).zip(start_ns.parse().ok()).zip(count.parse().ok());
            again.map(|((length_s, start_ns), count)| calls::execl(length_s, start_ns, count))
        }
        _ => None,
    };
    let line = match result {
        Some(Ok(report)) => format!("ok {} {}", report.count, report.elapsed_s),
        Some(Err(fault)) if fault.outcome == Outcome::Invalid => format!("invalid {}\t{}", fault.what, fault.next),
        Some(Err(fault)) => format!("failed {}\t{}", fault.what, fault.next),
        None => return 2,
    };
    i32::from(writeln!(std::io::stdout(), "{line}").is_err())
}

fn measure(test: &str, length_s: f64) -> Result<Report, Fault> {
    match test {
        "dhry2reg" => dhrystone::run(length_s),
        "whetstone-double" => whetstone::run(length_s),
        "execl" => calls::execl(length_s, now_ns(), 0),
        "fstime" => files::copy(length_s, 1024, 2000),
        "fsbuffer" => files::copy(length_s, 256, 500),
        "fsdisk" => files::copy(length_s, 4096, 8000),
        "pipe" => calls::pipe(length_s),
        "context1" => calls::context(length_s),
        "spawn" => calls::spawn(length_s),
        "shell1" => shell::run(length_s, 1),
        "shell8" => shell::run(length_s, 8),
        "syscall" => calls::syscalls(length_s),
        _ => Err(Fault::failed("no such test", "see the table of tests")),
    }
}

/// Reports that it is ready, and waits for the others.
fn ready() -> Result<(), Fault> {
    let next = "run it from the agent";
    writeln!(std::io::stdout(), "ready").or_fault("cannot write to stdout", next)?;
    std::io::stdin().read_to_end(&mut Vec::new()).or_fault("cannot read stdin", next).map(|_| ())
}
