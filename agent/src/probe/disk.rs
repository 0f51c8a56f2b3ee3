//! Reads or writes of one size on a file with known content: operations, bytes and latency.
//!
//! A worker is one submitter. With io_uring it keeps `depth` operations in flight; with preadv2/pwritev2 a depth of n
//! is n threads of one operation each. `osync` and `fsync` define when a write is done. A read is never synchronous,
//! so the reads of these modes, like those of `direct`, bypass the page cache (O_DIRECT) or the trial fails. Does not
//! measure metadata, small files, or a nearly full device.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::Value;

use super::{Context, DURATION, INTERVAL, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::fault::{Fault, OrFault};
use crate::memory_map::{MemoryMap, Pages};
use crate::pace::{self, Pace, Work};
use crate::record::Recorder;
use crate::scratch::{self, Pattern};

mod blocks;
mod plain;
mod ring;

use blocks::Blocks;

const CELL: &[&str] = &["block_bytes", "depth", "durability", "op", "pattern", "threads"];

pub const PROBE: Probe = Probe {
    name: "disk",
    roles: SOLO,
    params: &[
        Param { name: "op", default: "read", kind: Kind::Choice(&["read", "write"]) },
        Param { name: "pattern", default: "random", kind: Kind::Choice(&["random", "sequential"]) },
        Param { name: "block_bytes", default: "4096", kind: Kind::Whole(1, 64 << 20) },
        Param { name: "depth", default: "1", kind: Kind::Whole(1, 1024) },
        THREADS,
        Param { name: "durability", default: "direct", kind: Kind::Choice(&["direct", "osync", "fsync", "cached"]) },
        Param { name: "file_bytes", default: "auto", kind: Kind::WholeOr(4096, 1 << 44, "auto") },
        DURATION,
        INTERVAL,
        Param { name: "engine", default: "auto", kind: Kind::Choice(&["auto", "io_uring", "preadv2"]) },
    ],
    metrics: &[
        Metric { name: "disk_op_per_s", unit: "op/s", params: CELL },
        Metric { name: "disk_bytes_per_s", unit: "B/s", params: CELL },
        Metric { name: "disk_latency_s", unit: "s", params: CELL },
    ],
    run,
};

const AUTO_BYTES: u64 = 256 << 20;
const SECTOR_BYTES: usize = 512;

/// The work of each worker.
pub struct Task {
    pub file: File,
    pub block_bytes: usize,
    pub write: bool,
    pub random: bool,
    /// Call fdatasync after each write.
    pub sync: bool,
    pub depth: usize,
    pub seed: u64,
    pub pattern: Pattern,
}

fn run(context: &Context) -> Result<(), Fault> {
    let task = prepare(context)?;
    let mut pace = context.pace();
    let ring = choose_ring(context, &task)?;
    context.out.note("engine", if ring { "io_uring" } else { "preadv2" })?;
    if ring {
        let shares = pace.threads;
        measure(context, &pace, &task, |i| ring::Ring::new(&task, Blocks::new(&task, i, shares, file_blocks(&task)?)?))
    } else {
        pace.threads *= task.depth;
        let shares = pace.threads;
        measure(context, &pace, &task, |i| {
            plain::Plain::new(&task, Blocks::new(&task, i, shares, file_blocks(&task)?)?)
        })
    }
}

/// A disk worker exposes its recorded latencies and the blocks to verify.
pub trait Worker: Work {
    fn recorder(&self) -> &Recorder;
    fn blocks(&self) -> &Blocks;
}

fn measure<W: Worker>(
    context: &Context,
    pace: &Pace,
    task: &Task,
    make: impl Fn(usize) -> Result<W, Fault> + Sync,
) -> Result<(), Fault> {
    let mut t_end = 0.0;
    let workers = pace::run(pace, make, |t_s, rate| {
        t_end = t_s;
        context.sample("disk_op_per_s", t_s, rate)?;
        context.sample("disk_bytes_per_s", t_s, rate * task.block_bytes as f64)
    })?;
    let mut all = Recorder::new();
    let mut verified = 0;
    for worker in &workers {
        all.add(worker.recorder());
        verified += worker.blocks().verify(&task.file)?;
    }
    context.out.note("operations", all.len())?;
    context.out.note("verified_blocks", verified)?;
    context.hist("disk_latency_s", t_end, &all)
}

/// A depth of one gains nothing from a ring; deeper queues use it if the kernel allows this.
fn choose_ring(context: &Context, task: &Task) -> Result<bool, Fault> {
    match context.text("engine") {
        "preadv2" => Ok(false),
        "io_uring" => ring::available().map(|()| true).or_fault("io_uring is refused", "use engine=auto or preadv2"),
        _ => Ok(task.depth > 1 && ring::available().is_ok()),
    }
}

fn file_blocks(task: &Task) -> Result<u64, Fault> {
    let bytes = task.file.metadata().or_fault("cannot look at the test file", "try again")?.len();
    Ok(bytes / task.block_bytes as u64)
}

/// Opens, sizes and fills the file; notes whether direct I/O works.
fn prepare(context: &Context) -> Result<Task, Fault> {
    let dir = context.dir()?;
    let durability = context.text("durability");
    let write = context.text("op") == "write";
    let cached = durability == "cached";
    let direct = durability == "direct" || !(write || cached);
    let block_bytes = context.whole("block_bytes").unwrap_or(0) as usize;
    let depth = context.whole("depth").unwrap_or(1) as usize;
    check(dir, durability, direct, block_bytes)?;
    let bytes = file_bytes(context, block_bytes, depth)?;
    let next = "name a directory that you may write to";
    let base = scratch::open(dir, 0).or_fault(format!("cannot create a file in {}", dir.display()), next)?;
    let direct_file = scratch::reopen(&base, libc::O_DIRECT);
    context.out.note("o_direct", direct && direct_file.is_ok())?;
    // Filled past the page cache if possible, so that the file is cold; a cached file must be warm.
    let fill = if cached || !bytes.is_multiple_of(4096) { &base } else { direct_file.as_ref().unwrap_or(&base) };
    let pattern = Pattern::new(context.job.seed);
    scratch::fill(fill, bytes, &pattern)?;
    let file = match durability {
        _ if direct => past_the_cache(direct_file, dir, durability, block_bytes)?,
        "osync" => scratch::reopen(&base, libc::O_SYNC).or_fault("cannot open with O_SYNC", next)?,
        _ => base,
    };
    if !cached {
        scratch::drop_cache(&file);
    }
    context.out.note("file_bytes", bytes)?;
    context.out.note("fs", crate::host::file_system(dir).map_or(Value::Null, Value::from))?;
    Ok(Task {
        file,
        block_bytes,
        write,
        random: context.text("pattern") == "random",
        sync: write && durability == "fsync",
        depth,
        seed: context.job.seed,
        pattern,
    })
}

/// Refuses a directory without a device, and blocks that cannot bypass the page cache.
fn check(dir: &Path, durability: &str, direct: bool, block_bytes: usize) -> Result<(), Fault> {
    if direct && !block_bytes.is_multiple_of(SECTOR_BYTES) {
        let what = format!("bad job: {}O_DIRECT can not move blocks of {block_bytes} B", not_synchronous(durability));
        return Err(Fault::bad_job(what, "use a multiple of 512, or durability=cached"));
    }
    if durability != "cached" && scratch::in_memory(dir) {
        let what = format!("{} is in memory (tmpfs): there is no device to measure", dir.display());
        return Err(Fault::failed(what, "name a directory on a disk, or use durability=cached"));
    }
    Ok(())
}

/// Explains why a read needs O_DIRECT although its durability does not name it.
fn not_synchronous(durability: &str) -> String {
    if durability == "direct" { String::new() } else { format!("a read is not synchronous ({durability}), and ") }
}

/// Returns the direct file after reading a block through it: some file systems open a file and then refuse to read it.
fn past_the_cache(file: io::Result<File>, dir: &Path, durability: &str, block_bytes: usize) -> Result<File, Fault> {
    let mut block = MemoryMap::new(block_bytes, Pages::Base)?;
    let tried = file.and_then(|file| file.read_exact_at(block.as_slice(), 0).map(|()| file));
    let why = not_synchronous(durability);
    let what = format!("{why}the file system of {} refuses O_DIRECT for blocks of {block_bytes} B", dir.display());
    let next = "use durability=cached, another block_bytes, or another directory";
    tried.or_fault(what, if why.is_empty() { next } else { "use durability=direct elsewhere, or durability=cached" })
}

/// Returns the file's size: as given, or what fits; whole blocks, at least one for each operation in flight.
fn file_bytes(context: &Context, block_bytes: usize, depth: usize) -> Result<u64, Fault> {
    let free = scratch::free_bytes(context.dir()?)?;
    let block = block_bytes as u64;
    let wanted = context.whole("file_bytes").unwrap_or(AUTO_BYTES.min(free / 10));
    let bytes = wanted / block * block;
    let least = block * depth as u64 * context.threads() as u64;
    if bytes < least || bytes > free {
        let what = format!("a file of {wanted} B with {free} B free does not hold the {least} B in flight");
        return Err(Fault::failed(what, "free some space, or lower block_bytes, depth or threads"));
    }
    Ok(bytes)
}
