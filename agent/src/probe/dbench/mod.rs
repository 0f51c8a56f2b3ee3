//! A file server's load: clients replay a recorded sequence of file operations, each in its own folder.
//!
//! The replay follows the observed system calls of dbench 4: names are looked up without regard to case, every status
//! and every byte count must match the loadfile, and one replay follows another until the time is over. `Flush` is an
//! fsync in every mode; `fsync` adds one after each write (dbench -F), `sync` opens files with O_SYNC as well and
//! syncs the folder after unlink, rename and rmdir (-s -F -S). Before the measured time, clients warm up for a fifth
//! of it, and until each has moved data. Does not measure a network, SMB itself, or, if nothing is synchronous, the
//! disk alone. Source: observation of dbench 4.00; operations: [MS-CIFS].

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicUsize};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Context, Kind, Metric, Param, Probe, SOLO};
use crate::fault::{Fault, OrFault};
use crate::host;
use crate::scratch::{self, Pattern};
use crate::workdir::Workdir;

mod client;
mod files;
mod fleet;
mod load;
mod model;
mod ops;
mod own;
mod words;

use client::{Place, Shared, WARM_UP};
use files::Durability;
use fleet::{Fleet, Measured, home};
use load::Load;
use model::Model;
use ops::KINDS;

const CELL: &[&str] = &["clients", "loadfile", "mode"];
const OF_AN_OP: &[&str] = &["clients", "loadfile", "mode", "op"];

pub const PROBE: Probe = Probe {
    name: "dbench",
    roles: SOLO,
    params: &[
        Param { name: "clients", default: "1", kind: Kind::Whole(1, 1024) },
        Param { name: "mode", default: "async", kind: Kind::Choice(&["async", "sync", "fsync"]) },
        Param { name: "duration_s", default: "600", kind: Kind::Seconds(0.001, 86_400.0) },
        Param { name: "loadfile", default: "auto", kind: Kind::Text(1024) },
    ],
    metrics: &[
        Metric { name: "dbench_bytes_per_s", unit: "B/s", params: CELL },
        Metric { name: "dbench_op_per_s", unit: "op/s", params: OF_AN_OP },
        Metric { name: "dbench_mean_latency_s", unit: "s", params: OF_AN_OP },
        Metric { name: "dbench_max_latency_s", unit: "s", params: OF_AN_OP },
    ],
    run,
};

/// The paths where packages install dbench's loadfile.
const KNOWN_PLACES: [&str; 2] = ["/usr/share/dbench/client.txt", "/usr/local/share/client.txt"];
const MOST_FILE_BYTES: u64 = 256 << 20;
/// The length of the warm-up, as a share of the measured time.
const WARM_UP_SHARE: f64 = 0.2;

fn run(context: &Context) -> Result<(), Fault> {
    let dir = context.dir()?;
    let clients = context.whole("clients").unwrap_or(1) as usize;
    let load = read_load(context)?;
    let mut model = Model::new(&load);
    model.go_to(Place { replays: 1, steps: 0 });
    check_room(context, clients, model.peak_bytes)?;
    let folder = Workdir::new(dir)?;
    let mut data = vec![0; load.largest_write];
    Pattern::new(context.job.seed).write(0, &mut data);
    let shared = Shared { load: &load, data: &data, phase: AtomicU8::new(WARM_UP), moving: AtomicUsize::new(0) };
    let duration_s = context.seconds("duration_s");
    let fleet = Fleet {
        clients,
        cpus: &context.job.cpus,
        durability: durability(context.text("mode")),
        folder: folder.path(),
        warm_up_s: duration_s * WARM_UP_SHARE,
        duration_s,
        out: context.out,
    };
    let measured = fleet.run(&shared)?;
    verify(context, &load, folder.path(), &measured.places)?;
    show(context, &measured)
}

fn durability(mode: &str) -> Durability {
    match mode {
        "sync" => Durability { o_sync: true, fsync: true, folders: true },
        "fsync" => Durability { fsync: true, ..Durability::default() },
        _ => Durability::default(),
    }
}

/// Reads the requested loadfile; notes its content, so that results of two loads are never mixed up.
fn read_load(context: &Context) -> Result<Load, Fault> {
    let requested = context.text("loadfile");
    let installed = KNOWN_PLACES.iter().copied().find(|path| Path::new(path).is_file());
    let path = match requested {
        "own" => None,
        "auto" => installed,
        path => Some(path),
    };
    let text = match path {
        Some(path) => read_file(path)?,
        None => own::text().into_bytes(),
    };
    let load = load::parse(&text)?;
    let digest: String = Sha256::digest(&text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = path.map_or(format!("own {}", own::VERSION), |path| path.rsplit('/').next().unwrap_or(path).to_owned());
    context.out.note("loadfile", format!("{name}: {} operations, SHA-256 {digest}", load.steps.len()))?;
    Ok(load)
}

fn read_file(path: &str) -> Result<Vec<u8>, Fault> {
    let next = "name a loadfile of dbench 4, or use loadfile=own";
    let tried = || format!("cannot read the loadfile {path}");
    let mut text = Vec::new();
    // A device or a pipe might never end.
    if !std::fs::metadata(path).or_fault(tried(), next)?.is_file() {
        return Err(Fault::failed(format!("{}: it is no file", tried()), next));
    }
    let file = File::open(path).or_fault(tried(), next)?;
    file.take(MOST_FILE_BYTES + 1).read_to_end(&mut text).or_fault(tried(), next)?;
    if text.len() as u64 > MOST_FILE_BYTES {
        return Err(Fault::failed(format!("{}: it has more than {MOST_FILE_BYTES} B", tried()), next));
    }
    Ok(text)
}

/// Refuses a load that cannot fit; notes the target of the writes.
fn check_room(context: &Context, clients: usize, each: u64) -> Result<(), Fault> {
    let dir = context.dir()?;
    let (free, needed) = (scratch::free_bytes(dir)?, each.saturating_mul(clients as u64));
    context.out.note("fs", host::file_system(dir).map_or(Value::Null, Value::from))?;
    context.out.note("in_memory", scratch::in_memory(dir))?;
    context.out.note("client_bytes", each)?;
    if needed > free {
        let what = format!("no space: {clients} clients need up to {needed} B, {free} B are free in {}", dir.display());
        return Err(Fault::failed(what, "free some space, use fewer clients, or name another directory"));
    }
    // If all files fit into memory, the page cache is measured without syncs, and the disk's writes with syncs.
    let fits = host::available_memory_bytes().map_or(Value::Null, |memory| (needed <= memory).into());
    context.out.note("fits_in_memory", fits)
}

/// Compares every client's folder with the content that its completed steps must have left there.
fn verify(context: &Context, load: &Load, folder: &Path, places: &[Place]) -> Result<(), Fault> {
    let mut model = Model::new(load);
    let mut order: Vec<(Place, usize)> = places.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut files = 0;
    for (place, i) in order {
        model.go_to(place);
        if !model.known {
            return context.out.note("verified_files", Value::Null);
        }
        files += model.verify(&home(folder, i))?;
    }
    context.out.note("replays", places.iter().map(|place| place.replays).sum::<u64>())?;
    context.out.note("verified_files", files)
}

/// An operation that did not occur in the measured time has no value.
fn show(context: &Context, measured: &Measured) -> Result<(), Fault> {
    let (tally, t_s) = (&measured.tally, measured.elapsed_s);
    if tally.bytes == 0 {
        return Err(Fault::failed("nothing was read or written in the measured time", "raise duration_s"));
    }
    context.out.note("measured_s", t_s)?;
    context.out.note("operations", tally.count.iter().sum::<u64>())?;
    context.sample("dbench_bytes_per_s", t_s, tally.bytes as f64 / t_s)?;
    for (kind, (_, _, op)) in KINDS.iter().enumerate().filter(|(kind, _)| tally.count[*kind] > 0) {
        let (free, count) = (&[("op", *op)], tally.count[kind] as f64);
        context.sample_of("dbench_op_per_s", free, t_s, count / t_s)?;
        context.sample_of("dbench_mean_latency_s", free, t_s, tally.total_ns[kind] as f64 * 1e-9 / count)?;
        context.sample_of("dbench_max_latency_s", free, t_s, tally.longest_ns[kind] as f64 * 1e-9)?;
    }
    Ok(())
}
