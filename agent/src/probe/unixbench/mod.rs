//! The twelve tests of UnixBench 5 and their index, in separate processes, one copy or many at once.
//!
//! Written from scratch after the behaviour of the original's programs: see `score` for its arithmetic, `calls`,
//! `files`, `shell`, `dhrystone` and `whetstone` for the loops, `parent` and `worker` for the two sides of a process.
//! Omits the graphics tests. Compiled by rustc, without the original's `-ffast-math -march=native` and with another C
//! library, so Dhrystone, Whetstone and execl differ from gcc's; indices of UnixBench 4 and 6 are of other tests.
//! Omits the pauses of the original between its passes; its durations and passes are the defaults.

use serde_json::Value;

use super::{Context, Kind, Metric, Param, Probe, SOLO};
use crate::clock::{now_ns, seconds};
use crate::fault::Fault;
use crate::wire::finite;
use crate::workdir::Workdir;
use crate::{disturbance, host, scratch};

mod calls;
mod dhrystone;
mod files;
mod mappings;
mod parent;
mod process;
mod score;
mod shell;
mod whetstone;
mod worker;

pub use process::FLAG;
use score::{TESTS, combine, index};
pub use worker::main;

pub const PROBE: Probe = Probe {
    name: "unixbench",
    roles: SOLO,
    params: &[
        Param { name: "copies", default: "1", kind: Kind::Whole(1, 256) },
        Param { name: "duration_s", default: "10", kind: Kind::Seconds(0.01, 3600.0) },
        Param { name: "passes", default: "10", kind: Kind::Whole(1, 1000) },
    ],
    metrics: &[
        Metric { name: "unixbench_index", unit: "index", params: &["copies"] },
        Metric { name: "unixbench_test_index", unit: "index", params: &["copies", "test"] },
    ],
    run,
};

const COMPILER: &str = concat!(env!("CLOUDCMP_RUSTC"), ", opt-level 3, no fast-math, static C library");

fn run(context: &Context) -> Result<(), Fault> {
    let copies = context.whole("copies").unwrap_or(1) as usize;
    let passes = context.whole("passes").unwrap_or(1) as usize;
    let needed = (copies * files::MOST_BYTES) as u64;
    if scratch::free_bytes(context.dir()?)? < needed {
        let what = format!("{copies} copies need {needed} B free for their files");
        return Err(Fault::failed(what, "make room, name another directory, or ask for fewer copies"));
    }
    let folder = Workdir::new(context.dir()?)?;
    shell::prepare(folder.path())?; // without a shell there is no index: report it before an hour is spent
    context.out.note("fs", host::file_system(context.dir()?).map_or(Value::Null, Value::from))?;
    context.out.note("in_memory", scratch::in_memory(context.dir()?))?; // file copies measure something else there
    context.out.note("compiler", COMPILER)?;
    context.out.note("execl_binary_bytes", process::binary()?.metadata().ok().map(|file| file.len()))?;
    disturbance::wait(context.out, &context.job.cpus)?;
    let (before, start_ns) = (disturbance::counts(&context.job.cpus), now_ns());
    let mut indices = Vec::new();
    for test in TESTS {
        let length_s = test.length * context.seconds("duration_s");
        let one = |_| parent::run(test.name, length_s, copies, folder.path());
        let done = (0..test.passes(passes)).map(one).collect::<Result<Vec<_>, Fault>>()?;
        let score = combine(&done, test.timebase_s);
        context.out.note(&test.note(), finite(score))?;
        indices.push(index(score, test.base));
        let t_s = seconds(now_ns() - start_ns);
        context.sample_of("unixbench_test_index", &[("test", test.name)], t_s, index(score, test.base))?;
    }
    disturbance::counts(&context.job.cpus).note_since(&before, context.out)?;
    context.sample("unixbench_index", seconds(now_ns() - start_ns), score::geometric_mean(&indices))
}
