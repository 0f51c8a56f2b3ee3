//! The load of a neighbour: work that goes on beside another agent's measurement until the controller ends it.
//!
//! Its steps per interval show that it worked all the time; they are not comparable between loads. Every neighbour has
//! its own random data, which no hypervisor can merge with that of the measured machine. Does not measure anything by
//! itself.

use super::{Context, DURATION, INTERVAL, Kind, Metric, Param, Probe, THREADS};
use crate::fault::Fault;
use crate::pace::{self, Pace, Work};
use crate::targets::Role;
use crate::workdir::Workdir;

mod compute;
mod files;

use compute::{Cpu, Memory};
use files::{DiskRead, DiskWrite, Mixed, SmallFiles};

pub const PROBE: Probe = Probe {
    name: "neighbour",
    roles: &[Role::Neighbour],
    params: &[
        Param {
            name: "load",
            default: "cpu",
            kind: Kind::Choice(&["cpu", "memory", "disk_read", "disk_write", "disk_mixed", "small_files"]),
        },
        THREADS,
        DURATION,
        INTERVAL,
    ],
    metrics: &[Metric { name: "neighbour_op_per_s", unit: "op/s", params: &["load", "threads"] }],
    run,
};

fn run(context: &Context) -> Result<(), Fault> {
    match context.text("load") {
        "cpu" => work(context, |i| Ok(Cpu::new(seed(context, i)))),
        "memory" => work(context, |i| Memory::new(seed(context, i), context.threads())),
        "disk_read" => work(context, |i| DiskRead::new(context.dir()?, seed(context, i))),
        "disk_write" => work(context, |i| DiskWrite::new(context.dir()?, seed(context, i))),
        "disk_mixed" => work(context, |i| Mixed::new(context.dir()?, seed(context, i))),
        _ => {
            let folder = Workdir::new(context.dir()?)?;
            work(context, |i| SmallFiles::new(folder.path(), i, seed(context, i)))
        }
    }
}

/// The seed of a thread: that of the trial is the measured machine's, whose data must be different.
fn seed(context: &Context, thread: usize) -> u64 {
    crate::rng::mix(!context.job.seed ^ crate::rng::mix(thread as u64))
}

/// Works until the guard ends the process, or for the whole duration.
fn work<W: Work>(context: &Context, make: impl Fn(usize) -> Result<W, Fault> + Sync) -> Result<(), Fault> {
    let pace = Pace { wait: false, ..context.pace() };
    pace::run(&pace, make, |t_s, rate| context.sample("neighbour_op_per_s", t_s, rate)).map(drop)
}
