//! File operations in records, named as in IOzone: one pass of one operation over each thread's own file.
//!
//! The preparation of a pass (a file to read, a first write to write again) happens before it, is flushed to the
//! device, and is not timed. All threads begin together; the rate is the bytes of all threads over the time until the
//! last one ended. A pass moves as many records as the file holds; a random pass moves each record once. `osync`:
//! O_SYNC writes; `fsync`: one flush ends the pass, within its time; `direct`: O_DIRECT; `cached`: none of them. Reads
//! of osync and fsync go through a page cache that holds nothing of the file, with the read-ahead of the file system;
//! if the cache does not drop the file, the trial fails. Does not measure metadata, sharing of a file, or the time of
//! one operation.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::Value;

use super::{Context, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};
use crate::host;
use crate::memory_map::{MemoryMap, Pages};
use crate::pace::{Finish, Race, race};
use crate::rng::mix;
use crate::scratch::{self, Pattern};
use crate::wire::finite;

mod order;
mod pass;

use order::{Order, Walk};
use pass::Pass;

const OPS: &[&str] = &[
    "write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "backward_read",
    "stride_read",
    "record_rewrite",
    "mixed",
];

pub const PROBE: Probe = Probe {
    name: "iozone",
    roles: SOLO,
    params: &[
        Param { name: "op", default: "write", kind: Kind::Choice(OPS) },
        Param { name: "file_bytes", default: "1073741824", kind: Kind::Whole(512, 1 << 44) },
        Param { name: "record_bytes", default: "65536", kind: Kind::Whole(512, 64 << 20) },
        Param { name: "durability", default: "osync", kind: Kind::Choice(&["osync", "fsync", "cached", "direct"]) },
        THREADS,
        Param { name: "drop", default: "own", kind: Kind::Choice(&["own", "all"]) },
        Param { name: "most_s", default: "600", kind: Kind::Seconds(0.001, 86_400.0) },
    ],
    metrics: &[Metric {
        name: "iozone_bytes_per_s",
        unit: "B/s",
        params: &["durability", "file_bytes", "op", "record_bytes", "threads"],
    }],
    run,
};

const SECTOR_BYTES: u64 = 512;
const WORD_BYTES: u64 = 8;
/// The page cache drops a file page by page; the rest of it may serve at most this share of the reads.
const STILL_COLD: f64 = 0.01;
const STILL_WARM: f64 = 0.99;
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
const WRITABLE: &str = "name a directory that you may write to";

fn run(context: &Context) -> Result<(), Fault> {
    let parameters = Parameters::new(context)?;
    let (out, threads) = (context.out, context.threads());
    parameters.fits(threads)?;
    let finish = race(&Race { threads, cpus: &context.job.cpus, out }, |i| parameters.pass(i))?;
    parameters.note(context, &finish)?;
    let moved: u64 = finish.tasks.iter().map(|pass| pass.done).sum::<u64>() * parameters.record_bytes;
    context.sample("iozone_bytes_per_s", finish.all_s, moved as f64 / finish.all_s)
}

/// The parameters of the trial.
struct Parameters<'a> {
    dir: &'a Path,
    op: &'a str,
    durability: &'a str,
    record_bytes: u64,
    records: u64,
    drop_all: bool,
    most_s: f64,
    deadline_ns: u64,
    seed: u64,
}

impl<'a> Parameters<'a> {
    fn new(context: &'a Context) -> Result<Parameters<'a>, Fault> {
        let whole = |name| context.whole(name).unwrap_or(0);
        let (file_bytes, record_bytes) = (whole("file_bytes"), whole("record_bytes"));
        let parameters = Parameters {
            dir: context.dir()?,
            op: context.text("op"),
            durability: context.text("durability"),
            record_bytes,
            records: file_bytes / record_bytes,
            drop_all: context.text("drop") == "all",
            most_s: context.seconds("most_s"),
            deadline_ns: now_ns() + (context.job.deadline_s * 1e9) as u64,
            seed: context.job.seed,
        };
        let bad = |what: String, next: &str| Err(Fault::bad_job(format!("bad job: {what}"), next));
        if parameters.records == 0 {
            let what = format!("a record of {record_bytes} B is larger than its file of {file_bytes} B");
            return bad(what, "lower record_bytes, or raise file_bytes");
        }
        let unit = if parameters.direct() { SECTOR_BYTES } else { WORD_BYTES };
        if !record_bytes.is_multiple_of(unit) {
            let what = format!(
                "record_bytes={record_bytes} is no multiple of {unit} with durability={}",
                parameters.durability
            );
            return bad(what, "use a power of two");
        }
        if parameters.op == "mixed" && context.threads() < 2 {
            return bad("op=mixed has one thread read and the next one write".into(), "use 2 threads or more");
        }
        if parameters.drop_all && parameters.cached() {
            return bad("drop=all takes away what durability=cached reads".into(), "use osync, fsync or direct");
        }
        if !parameters.cached() && scratch::in_memory(parameters.dir) {
            let what = format!("{} is in memory (tmpfs): there is no device to measure", parameters.dir.display());
            return Err(Fault::failed(what, "name a directory on a disk, or use durability=cached"));
        }
        Ok(parameters)
    }

    fn cached(&self) -> bool {
        self.durability == "cached"
    }

    fn direct(&self) -> bool {
        self.durability == "direct"
    }

    fn bytes(&self) -> u64 {
        self.records * self.record_bytes
    }

    fn fits(&self, threads: usize) -> Result<(), Fault> {
        let (free, wanted) = (scratch::free_bytes(self.dir)?, self.bytes().saturating_mul(threads as u64));
        if wanted <= free {
            return Ok(());
        }
        let what = format!("{threads} files of {} B do not fit into the {free} B free", self.bytes());
        Err(Fault::failed(what, "free some space, or lower file_bytes or threads"))
    }

    /// Prepares thread `i`'s file for its pass; returns the pass.
    fn pass(&self, i: usize) -> Result<Pass, Fault> {
        let file =
            scratch::open(self.dir, 0).or_fault(format!("cannot create a file in {}", self.dir.display()), WRITABLE)?;
        let seed = mix(self.seed ^ mix(i as u64));
        let filled = Pattern::new(seed);
        if self.op != "write" {
            self.first_write(&file, &filled)?;
        }
        if self.op == "reread" {
            read_through(&file, self.bytes())?;
        }
        self.drop_caches(&file)?;
        let writes = self.op.contains("write") || (self.op == "mixed" && i % 2 == 1);
        let resident = self.resident(&file, writes)?;
        Ok(Pass {
            file: self.reopen(file)?,
            writes,
            flush: self.durability == "fsync" && writes,
            drop_before_verify: !self.cached(),
            walk: Walk::new(self.order(), self.records, seed)?,
            buffer: MemoryMap::new(self.record_bytes as usize, Pages::Base)?,
            filled,
            written: Pattern::new(mix(seed)),
            most_ns: (self.most_s * 1e9) as u64,
            deadline_ns: self.deadline_ns,
            resident,
            done: 0,
            last: 0,
            cut: false,
            verified: 0,
        }
        .ready())
    }

    /// Writes the file in records of the pass's size: the page cache keeps the sizes of the original writes, and small
    /// writes into large pieces are slower.
    fn first_write(&self, file: &File, filled: &Pattern) -> Result<(), Fault> {
        let (tried, next) = ("cannot write the test file", "name a directory with room, or a smaller file_bytes");
        let mut record = MemoryMap::new(self.record_bytes as usize, Pages::Base)?;
        for offset in (0..self.records).map(|i| i * self.record_bytes) {
            filled.write(offset, record.as_slice());
            file.write_all_at(record.as_slice(), offset).or_fault(tried, next)?;
        }
        file.sync_all().or_fault(tried, next)
    }

    fn order(&self) -> Order {
        match self.op {
            "random_read" | "random_write" | "mixed" => Order::Random,
            "backward_read" => Order::Backward,
            "stride_read" => Order::Stride,
            "record_rewrite" => Order::Same,
            _ => Order::Forward,
        }
    }

    /// Returns the file with the flags of its durability, after checking that it works with them.
    fn reopen(&self, file: File) -> Result<File, Fault> {
        match self.durability {
            "osync" => scratch::reopen(&file, libc::O_SYNC).or_fault("cannot open with O_SYNC", WRITABLE),
            "direct" => {
                let what = format!("{} refuses O_DIRECT for records of {} B", self.dir.display(), self.record_bytes);
                let next = "use another durability, record_bytes or directory";
                let direct = scratch::reopen(&file, libc::O_DIRECT).or_fault(&what, next)?;
                let mut record = MemoryMap::new(self.record_bytes as usize, Pages::Base)?;
                direct.read_at(record.as_slice(), 0).or_fault(&what, next)?;
                Ok(direct)
            }
            _ => Ok(file),
        }
    }

    /// Drops the file from the page cache; on request, drops all other cached file data of the machine, too.
    fn drop_caches(&self, file: &File) -> Result<(), Fault> {
        if self.cached() {
            return Ok(());
        }
        scratch::drop_cache(file);
        if !self.drop_all {
            return Ok(());
        }
        let dropped = std::fs::write(DROP_CACHES, "3");
        dropped.or_fault(format!("cannot write to {DROP_CACHES}"), "run as root, or use drop=own")
    }

    /// Returns the share of the file in the page cache; a fault if it would serve reads that must not come from it.
    fn resident(&self, file: &File, writes: bool) -> Result<Option<f64>, Fault> {
        if self.op == "write" {
            return Ok(None);
        }
        let share = scratch::resident_share(file, self.bytes());
        let must_be_cold = !writes && !self.cached() && !self.direct();
        match share {
            Ok(share) if must_be_cold && share > STILL_COLD => {
                let what =
                    format!("the page cache keeps {:.0} % of the file: its reads are not the disk's", 100.0 * share);
                Err(Fault::failed(what, "use durability=direct, or durability=cached to measure the cache"))
            }
            Err(error) if must_be_cold => {
                let what = format!("it can not be told whether the page cache holds the file: {error}");
                Err(Fault::failed(what, "use durability=direct, or durability=cached to measure the cache"))
            }
            other => Ok(other.ok()),
        }
    }

    /// Notes how the trial really ran.
    fn note(&self, context: &Context, finish: &Finish<Pass>) -> Result<(), Fault> {
        let (out, passes) = (context.out, &finish.tasks);
        let record_bytes = self.record_bytes as f64;
        let each = passes.iter().zip(&finish.each_s).map(|(pass, s)| pass.done as f64 * record_bytes / s);
        out.note("children_bytes_per_s", finite(each.sum()))?;
        out.note("records", passes.iter().map(|pass| pass.done).sum::<u64>())?;
        out.note("verified_records", passes.iter().map(|pass| pass.verified).sum::<u64>())?;
        let cut = passes.iter().any(|pass| pass.cut);
        out.note("pass", if cut { "cut" } else { "whole" })?;
        if cut {
            out.note("warning", "a pass of iozone was ended before its files were through: see most_s")?;
        }
        out.note("file_bytes", self.bytes())?;
        out.note("memory_bytes", host::memory_bytes().map_or(Value::Null, Value::from))?;
        out.note("fs", host::file_system(self.dir).map_or(Value::Null, Value::from))?;
        out.note("o_direct", self.direct())?;
        let least = passes.iter().filter_map(|pass| pass.resident).reduce(f64::min);
        out.note("resident_share", least.map_or(Value::Null, finite))?;
        out.note("page_cache", self.page_cache(least))?;
        let reads = passes.iter().any(|pass| !pass.writes);
        match least.filter(|&share| reads && self.cached() && share < STILL_WARM) {
            Some(share) => {
                let held = format!("the page cache held {:.0} % of the files", 100.0 * share);
                out.note("warning", format!("{held}: reads with durability=cached came partly from the disk"))
            }
            None => Ok(()),
        }
    }

    /// Describes the state of the file in the page cache at the beginning of the pass.
    fn page_cache(&self, least: Option<f64>) -> &'static str {
        match least {
            _ if self.direct() => "bypassed",
            _ if self.op == "write" => "empty",
            Some(share) if share <= STILL_COLD => "cold",
            Some(share) if share >= STILL_WARM => "warm",
            Some(_) => "partly warm",
            None => "unknown",
        }
    }
}

/// Reads the whole file once, so that the next pass is a second one.
fn read_through(file: &File, bytes: u64) -> Result<(), Fault> {
    let mut reader = file;
    let read = io::copy(&mut reader, &mut io::sink());
    let read = read.or_fault("cannot read the test file", "look at the kernel log")?;
    if read == bytes {
        Ok(())
    } else {
        Err(Fault::failed(format!("{read} B read of {bytes}"), "look at the kernel log"))
    }
}
