//! The output of a command as frames: limited in size, in UTF-8, with a note wherever it is not complete.

use crate::fault::Fault;
use crate::supervisor::{Done, Output};
use crate::wire::{Out, finite};

pub const STDOUT_BYTES: usize = 1 << 20;
pub const STDERR_BYTES: usize = 64 << 10;
/// A control character takes six bytes in a frame.
const PIECE_BYTES: usize = 8 << 10;
const LINE_CHARS: usize = 160;

/// Sends both outputs, and the kernel's counters if they belong to the command itself (`counted`).
pub fn send(out: &Out, done: &Done, counted: bool) -> Result<(), Fault> {
    if counted && done.time_s > 0.0 {
        out.note("cpu_time_s", finite(done.cpu_s))?;
        out.note("max_rss_bytes", done.rss_bytes)?;
    }
    send_one(out, "stdout", &done.stdout)?;
    send_one(out, "stderr", &done.stderr)
}

fn send_one(out: &Out, name: &str, output: &Output) -> Result<(), Fault> {
    if output.cut {
        out.note(&format!("{name}_cut"), true)?;
    }
    let text = String::from_utf8_lossy(&output.bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) && !output.cut {
        out.note(&format!("{name}_not_utf8"), true)?;
    }
    let mut rest: &str = &text;
    while !rest.is_empty() {
        let mut at = rest.len().min(PIECE_BYTES);
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        out.text(name, &rest[..at])?;
        rest = &rest[at..];
    }
    Ok(())
}

/// Returns the last non-empty line, shortened.
pub fn last_line(bytes: &[u8]) -> String {
    shortened(String::from_utf8_lossy(bytes).lines().rev())
}

/// Returns the first non-empty line, shortened.
pub fn first_line(bytes: &[u8]) -> String {
    shortened(String::from_utf8_lossy(bytes).lines())
}

fn shortened<'a>(mut lines: impl Iterator<Item = &'a str>) -> String {
    let line = lines.find_map(|line| Some(line.trim()).filter(|line| !line.is_empty()));
    line.unwrap_or("").chars().take(LINE_CHARS).collect()
}
