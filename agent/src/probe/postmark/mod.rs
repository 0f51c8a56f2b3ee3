//! A mail server's load on many small files: creates a pool, changes it by transactions, removes everything.
//!
//! Each transaction reads a file or appends to one, then creates a file or deletes one (Katcher, PostMark: A New File
//! System Benchmark, NetApp TR-3022, 1997). Everything is drawn before the clock starts; afterwards every expected
//! file is read, and no other file may exist. One thread; nothing is synchronous, so files that fit into memory
//! measure the page cache and the file system's code, and the notes say so. Does not measure large files.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Context, Kind, Metric, Param, Probe, SOLO};
use crate::clock::{now_ns, seconds, thread_cpu_ns};
use crate::fault::{Fault, OrFault};
use crate::pace::{note_and_check_cpu_time, note_share};
use crate::scratch::{self, Pattern};
use crate::workdir::Workdir;
use crate::{disturbance, host};

mod mailbox;
mod plan;

use mailbox::{Mailbox, text_bytes};
use plan::{Act, Parameters, Plan};

const CELL: &[&str] = &["buffered", "files", "folders", "size_bytes", "transactions"];
const OF_AN_OP: &[&str] = &["buffered", "files", "folders", "op", "size_bytes", "transactions"];
const MOST_FILE_BYTES: u32 = 64 << 20;
const DIRECTORY_NEXT: &str = "name a directory that you may write to";

pub const PROBE: Probe = Probe {
    name: "postmark",
    roles: SOLO,
    params: &[
        Param { name: "files", default: "3000", kind: Kind::Whole(1, 1_000_000) },
        Param { name: "size_bytes", default: "1024-20480", kind: Kind::Text(32) },
        Param { name: "transactions", default: "15000", kind: Kind::Whole(1, 1_000_000) },
        Param { name: "folders", default: "1", kind: Kind::Whole(1, 10_000) },
        Param { name: "buffered", default: "yes", kind: Kind::Choice(&["yes", "no"]) },
        Param { name: "read_bytes", default: "512", kind: Kind::Whole(1, 64 << 20) },
        Param { name: "write_bytes", default: "512", kind: Kind::Whole(1, 64 << 20) },
        Param { name: "bias_read", default: "5", kind: Kind::Whole(1, 10) },
        Param { name: "bias_create", default: "5", kind: Kind::Whole(1, 10) },
        Param { name: "seed", default: "42", kind: Kind::Whole(1, u64::MAX) },
    ],
    metrics: &[
        Metric { name: "postmark_op_per_s", unit: "op/s", params: CELL },
        Metric { name: "postmark_time_s", unit: "s", params: CELL },
        Metric { name: "postmark_file_op_per_s", unit: "op/s", params: OF_AN_OP },
        Metric { name: "postmark_bytes_per_s", unit: "B/s", params: OF_AN_OP },
    ],
    run,
};

/// Times of the three phases, s.
struct Times {
    create_s: f64,
    transactions_s: f64,
    delete_s: f64,
}

fn run(context: &Context) -> Result<(), Fault> {
    let parameters = parameters(context)?;
    let plan = Plan::draw(parameters);
    check_room(context, plan.peak_bytes)?;
    let folder = Workdir::new(context.dir()?)?;
    let root = File::open(folder.path()).or_fault("cannot open the folder", DIRECTORY_NEXT)?;
    let names = names(&plan, parameters.folders, folder.path())?;
    let mut text = vec![0; text_bytes(parameters.high_bytes as usize)];
    Pattern::new(parameters.seed).write(0, &mut text);
    let blocks = ["read_bytes", "write_bytes"].map(|name| context.whole(name).unwrap_or(512) as usize);
    let mut mailbox = Mailbox::new(root.as_raw_fd(), names, text, context.text("buffered") == "yes", blocks.into());
    let times = measure(context, &plan, &mut mailbox, folder.path())?;
    show(context, &plan, &times)
}

fn parameters(context: &Context) -> Result<Parameters, Fault> {
    let whole = |name: &str| context.whole(name).unwrap_or(0) as u32;
    let (low_bytes, high_bytes) = range(context.text("size_bytes"))?;
    Ok(Parameters {
        files: whole("files"),
        low_bytes,
        high_bytes,
        transactions: whole("transactions"),
        folders: whole("folders"),
        bias_read: whole("bias_read"),
        bias_create: whole("bias_create"),
        seed: context.whole("seed").unwrap_or(42),
    })
}

/// Parses the smallest and the largest size of a file.
fn range(text: &str) -> Result<(u32, u32), Fault> {
    let whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    match text.split_once('-').map(|(low, high)| (whole(low), whole(high))) {
        Some((Some(low), Some(high))) if 1 <= low && low <= high && high <= MOST_FILE_BYTES => Ok((low, high)),
        _ => {
            let what = format!("bad job: postmark.size_bytes can not be {text:?}");
            Err(Fault::bad_job(what, "write two sizes from 1 to 67108864 B, as in 1024-20480"))
        }
    }
}

/// Creates the folders; returns the names of all files of the run.
fn names(plan: &Plan, folders: u32, root: &Path) -> Result<Vec<CString>, Fault> {
    if folders > 1 {
        for i in 0..folders {
            std::fs::create_dir(root.join(format!("s{i}"))).or_fault("cannot create a folder", DIRECTORY_NEXT)?;
        }
    }
    let name = |(file, folder): (usize, &u32)| if folders > 1 { format!("s{folder}/{file}") } else { file.to_string() };
    let names = plan.folder_of.iter().enumerate().map(name);
    names.map(|name| CString::new(name).or_fault("a name with a NUL", "report this")).collect()
}

/// Refuses a load that cannot fit; notes whether memory alone may hold it.
fn check_room(context: &Context, peak_bytes: u64) -> Result<(), Fault> {
    let dir = context.dir()?;
    let free = scratch::free_bytes(dir)?;
    context.out.note("fs", host::file_system(dir).map_or(Value::Null, Value::from))?;
    context.out.note("in_memory", scratch::in_memory(dir))?;
    context.out.note("peak_bytes", peak_bytes)?;
    if peak_bytes > free {
        let what = format!("no space: up to {peak_bytes} B are needed, {free} B are free in {}", dir.display());
        return Err(Fault::failed(what, "free some space, lower files, size_bytes or transactions"));
    }
    match host::available_memory_bytes() {
        Some(memory) if peak_bytes <= memory => context.out.note("page_cache", "measured: the files fit into memory"),
        Some(_) => context.out.note("page_cache", "smaller than the files"),
        None => Ok(()),
    }
}

fn measure(context: &Context, plan: &Plan, mailbox: &mut Mailbox, root: &Path) -> Result<Times, Fault> {
    let cpus = &context.job.cpus;
    disturbance::wait(context.out, cpus)?;
    note_share(context.out, 1, cpus.len())?;
    let (before, delay, cpu_ns) = (disturbance::counts(cpus), disturbance::run_delay_ns(), thread_cpu_ns());
    let create_ns = timed(|| plan.create.iter().try_for_each(|act| mailbox.act(act)))?;
    let transactions_ns = timed(|| plan.transactions.iter().flatten().try_for_each(|act| mailbox.act(act)))?;
    let (first_cpu_ns, checked) = (thread_cpu_ns() - cpu_ns, verify(plan, mailbox, root)?);
    let cpu_ns = thread_cpu_ns();
    let delete_ns = timed(|| plan.delete.iter().try_for_each(|act| mailbox.act(act)))?;
    let cpu_ns = first_cpu_ns + thread_cpu_ns() - cpu_ns;
    let run_delay_ns = disturbance::run_delay_ns().zip(delay).map(|(after, before)| after.saturating_sub(before));
    disturbance::counts(cpus).note_since(&before, context.out)?;
    note_and_check_cpu_time(context.out, create_ns + transactions_ns + delete_ns, &[(cpu_ns, run_delay_ns)], 1)?;
    context.out.note("verified_files", checked)?;
    if let Some(left) = files_in(root)?.first() {
        return Err(wrong(format!("{} is there after its deletion", left.display())));
    }
    let [create_s, transactions_s, delete_s] = [create_ns, transactions_ns, delete_ns].map(seconds);
    Ok(Times { create_s, transactions_s, delete_s })
}

/// Returns the time of all the work, ns.
fn timed(mut work: impl FnMut() -> io::Result<()>) -> Result<u64, Fault> {
    let start = now_ns();
    let done = work();
    let elapsed_ns = now_ns() - start;
    done.map(|()| elapsed_ns).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => {
            Fault::failed(format!("no space: {error}"), "free some space or inodes, or lower files")
        }
        Some(libc::ENODATA) => wrong("a file is shorter or longer than what was written".into()),
        _ => Fault::failed(format!("a file operation failed: {error}"), "look at the disk, or name another directory"),
    })
}

fn wrong(what: String) -> Fault {
    Fault::invalid(what, "the file system lost something, or report this")
}

/// Compares every file with the data written to it, and their number with the plan; returns the number of files.
fn verify(plan: &Plan, mailbox: &Mailbox, root: &Path) -> Result<u64, Fault> {
    let there = files_in(root)?;
    if there.len() != plan.delete.len() {
        return Err(wrong(format!("{} files are there, not {}", there.len(), plan.delete.len())));
    }
    for path in &there {
        let content = std::fs::read(path).or_fault("cannot read a file back", "look at the disk")?;
        let file = path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        let Some(file) = file.filter(|&file| plan.delete.binary_search_by_key(&file, file_of).is_ok()) else {
            return Err(wrong(format!("{} should not be there", path.display())));
        };
        if content != mailbox.content(file)[..plan.sizes[file as usize] as usize] {
            return Err(wrong(format!("file {file} does not hold what was written to it")));
        }
    }
    Ok(there.len() as u64)
}

fn file_of(act: &Act) -> u32 {
    if let Act::Delete { file } = *act { file } else { u32::MAX }
}

/// Returns the files of the folder and of its subfolders.
fn files_in(root: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).or_fault("cannot list the files", "look at the disk")? {
            let path = entry.or_fault("cannot list the files", "look at the disk")?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    Ok(files)
}

/// Reports rates within the transactions, of the pool's creation and removal alone, and of all bytes over all phases.
fn show(context: &Context, plan: &Plan, times: &Times) -> Result<(), Fault> {
    let Times { create_s, transactions_s, delete_s } = *times;
    let (counts, all_s) = (plan.counts, create_s + transactions_s + delete_s);
    context.sample("postmark_op_per_s", all_s, plan.transactions.len() as f64 / transactions_s)?;
    context.sample("postmark_time_s", all_s, all_s)?;
    for (op, count, over_s) in [
        ("create", counts.created, transactions_s),
        ("read", counts.read, transactions_s),
        ("append", counts.appended, transactions_s),
        ("delete", counts.deleted, transactions_s),
        ("create_alone", plan.create.len() as u64, create_s),
        ("delete_alone", plan.delete.len() as u64, delete_s),
    ] {
        // An operation that did not occur has no rate.
        if count > 0 {
            context.sample_of("postmark_file_op_per_s", &[("op", op)], all_s, count as f64 / over_s)?;
        }
    }
    for (op, bytes) in [("read", counts.bytes_read), ("write", plan.pool_bytes + counts.bytes_written)] {
        if bytes > 0 {
            context.sample_of("postmark_bytes_per_s", &[("op", op)], all_s, bytes as f64 / all_s)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_sizes_are_a_range() {
        assert_eq!(range("500-10000").unwrap(), (500, 10_000));
        assert_eq!(range("7-7").unwrap(), (7, 7));
        for wrong in ["", "-", "5", "5-", "-5", "0-5", "9-5", "+1-5", "1-99999999999", "1-5-9", " 1-5", "1–5"] {
            assert!(range(wrong).unwrap_err().what.contains("size_bytes"), "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn any_text_is_a_range_or_refused(text in "[-+0-9a-z ]{0,24}") {
            if let Ok((low, high)) = range(&text) {
                prop_assert!(1 <= low && low <= high && high <= MOST_FILE_BYTES);
            }
        }
    }
}
