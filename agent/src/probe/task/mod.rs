//! Finishing time of one single-threaded benchmark task, alone or in N concurrent threads, counted as in CloudCmp.
//!
//! The tasks are of the kinds that CloudCmp (IMC 2010, 4.1) took from SPECjvm2008, but have neither its code nor its
//! sizes: their times must not be compared with published ones. A task is a number of equal passes over an input that
//! is created before the clock starts, the same on every machine. With N threads each runs the whole task, and the
//! value is the end of the last one divided by N. Every result is compared with a known answer after the race. Does
//! not measure one task spread over several threads, or start-up.

use std::path::Path;

use serde_json::Value;

use super::{Context, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::clock::{now_ns, seconds, thread_cpu_ns};
use crate::fault::Fault;
use crate::host;
use crate::pace::{Finish, Race, Task, race};
use crate::wire::finite;
use crate::workdir::Workdir;

mod aes;
mod answer;
mod compress;
mod fft;
mod files;
mod hash;
mod lu;
mod memory;
mod monte_carlo;
mod serialise;
mod sign;
mod sor;
mod sparse;

pub const PROBE: Probe = Probe {
    name: "task",
    roles: SOLO,
    params: &[
        Param { name: "task", default: "cpu", kind: Kind::Choice(NAMES) },
        Param { name: "size", default: "full", kind: Kind::Choice(&["full", "small"]) },
        THREADS,
    ],
    metrics: &[Metric { name: "task_time_s", unit: "s", params: &["size", "task", "threads"] }],
    run,
};

const NAMES: &[&str] = &[
    "cpu",
    "memory",
    "disk",
    "aes",
    "hash",
    "sign",
    "compress",
    "fft",
    "lu",
    "sor",
    "sparse",
    "monte_carlo",
    "serialise",
];

/// The task `cpu` runs a quarter of each CPU task, one after the other.
const CPU_SHARE: u32 = 4;

/// One kind of work, ready to be timed.
trait Part: Send {
    /// Does one unit of work, always the same.
    fn pass(&mut self) -> Result<(), Fault>;

    /// Refuses a wrong result of any pass.
    fn verify(&mut self) -> Result<(), Fault>;
}

/// The definition of a task: its name, passes at both sizes, memory of one thread, code path, initial state.
struct Recipe {
    name: &'static str,
    full: u32,
    small: u32,
    bytes: u64,
    isa: fn() -> &'static str,
    make: fn() -> Box<dyn Part>,
}

/// The CPU tasks, in the order in which the task `cpu` runs them.
static CPU_TASKS: &[Recipe] = &[
    Recipe { name: "aes", full: 512, small: 16, bytes: 3 << 20, isa: aes::isa, make: aes::make },
    Recipe { name: "hash", full: 384, small: 16, bytes: 1 << 20, isa: hash::isa, make: hash::make },
    Recipe { name: "sign", full: 256, small: 8, bytes: 1 << 20, isa: sign::isa, make: sign::make },
    Recipe { name: "compress", full: 24, small: 4, bytes: 4 << 20, isa: plain_isa, make: compress::make },
    Recipe { name: "fft", full: 256, small: 8, bytes: 4 << 20, isa: plain_isa, make: fft::make },
    Recipe { name: "lu", full: 48, small: 4, bytes: 6 << 20, isa: plain_isa, make: lu::make },
    Recipe { name: "sor", full: 32, small: 4, bytes: 1 << 20, isa: plain_isa, make: sor::make },
    Recipe { name: "sparse", full: 80, small: 4, bytes: 9 << 20, isa: plain_isa, make: sparse::make },
    Recipe { name: "monte_carlo", full: 96, small: 4, bytes: 1 << 20, isa: plain_isa, make: monte_carlo::make },
    Recipe { name: "serialise", full: 160, small: 8, bytes: 4 << 20, isa: plain_isa, make: serialise::make },
];

static MEMORY: Recipe =
    Recipe { name: "memory", full: 16, small: 1, bytes: memory::BYTES, isa: plain_isa, make: memory::make };

/// Passes of the disk task.
const DISK_PASSES: (u32, u32) = (8, 1);

/// Returns the baseline instruction set that the compiler uses for this architecture.
fn plain_isa() -> &'static str {
    if cfg!(target_arch = "x86_64") { "sse2" } else { std::env::consts::ARCH }
}

fn run(context: &Context) -> Result<(), Fault> {
    let (name, small) = (context.text("task"), context.text("size") == "small");
    let recipes = recipes(name);
    let held = held_bytes(name) * context.threads() as u64;
    if let Some(there) = host::memory_bytes().filter(|there| held > there / 10 * 9) {
        let what = format!("{} threads of this task take {held} B, and memory holds {there} B", context.threads());
        return Err(Fault::failed(what, "lower threads, or take another task"));
    }
    let isa: Vec<String> = recipes.iter().map(|recipe| isa_of(recipe, recipes.len())).collect();
    context.out.note("isa", if isa.is_empty() { plain_isa().to_owned() } else { isa.join(" ") })?;
    let ground = Race { threads: context.threads(), cpus: &context.job.cpus, out: context.out };
    if name == "disk" {
        let workdir = files::workdir(context.dir()?, context.threads())?;
        context.out.note("fs", host::file_system(context.dir()?).map_or(Value::Null, Value::from))?;
        note_page_cache(context, files::kept(&workdir)?)?;
        let finish = race(&ground, |i| Ok(Waiting(on_disk(small, workdir.path(), i)?)))?;
        return show(context, &finish, |Waiting(passes)| passes);
    }
    show(context, &race(&ground, |_| Ok(passes(&recipes, small)))?, |passes| passes)
}

/// A page cache that drops a file page by page may keep at most this share.
const STILL_COLD: f64 = 0.01;

/// Notes the source of the disk task's reads.
fn note_page_cache(context: &Context, kept: Option<f64>) -> Result<(), Fault> {
    context.out.note("resident_share", kept.map_or(Value::Null, finite))?;
    match kept {
        Some(share) if share <= STILL_COLD => context.out.note("page_cache", "cold"),
        Some(_) => {
            context.out.note("page_cache", "warm")?;
            context
                .out
                .note("warning", "the page cache keeps what it is told to drop: this task's reads are not the disk's")
        }
        None => context.out.note("page_cache", "unknown"),
    }
}

/// Returns the code path: alone for a single task, with the task's name in a composite.
fn isa_of(recipe: &Recipe, among: usize) -> String {
    if among == 1 { (recipe.isa)().to_owned() } else { format!("{}={}", recipe.name, (recipe.isa)()) }
}

fn recipes(name: &str) -> Vec<&'static Recipe> {
    match name {
        "cpu" => CPU_TASKS.iter().collect(),
        "memory" => vec![&MEMORY],
        _ => CPU_TASKS.iter().filter(|recipe| recipe.name == name).collect(),
    }
}

/// Creates one thread's whole task.
fn passes(recipes: &[&Recipe], small: bool) -> Passes {
    let share = if recipes.len() > 1 { CPU_SHARE } else { 1 };
    let count = |recipe: &Recipe| if small { recipe.small } else { recipe.full } / share;
    Passes(recipes.iter().map(|recipe| (count(recipe), (recipe.make)())).collect())
}

fn on_disk(small: bool, folder: &Path, thread: usize) -> Result<Passes, Fault> {
    let count = if small { DISK_PASSES.1 } else { DISK_PASSES.0 };
    Ok(Passes(vec![(count, Box::new(files::Files::new(folder, thread)?))]))
}

/// Times of one task without a race.
pub struct Timed {
    /// The finishing time and the thread's own CPU time in it, s.
    pub took_s: f64,
    pub cpu_s: f64,
}

/// Runs a task once on the calling thread, wherever the scheduler puts it. `dir` is where `disk` writes, in a folder
/// that is removed; unlike in the probe it may live in memory.
pub fn once(name: &str, small: bool, dir: &Path) -> Result<Timed, Fault> {
    let workdir = if name == "disk" { Some(Workdir::new(dir)?) } else { None };
    let mut passes = match &workdir {
        Some(workdir) => on_disk(small, workdir.path(), 0)?,
        None => passes(&recipes(name), small),
    };
    let (start_ns, cpu_ns) = (now_ns(), thread_cpu_ns());
    passes.run()?;
    let (took_ns, cpu_ns) = (now_ns() - start_ns, thread_cpu_ns() - cpu_ns);
    passes.verify()?;
    Ok(Timed { took_s: seconds(took_ns), cpu_s: seconds(cpu_ns) })
}

/// Returns the memory that a task holds, bytes.
pub fn held_bytes(name: &str) -> u64 {
    recipes(name).iter().map(|recipe| recipe.bytes).sum()
}

struct Passes(Vec<(u32, Box<dyn Part>)>);

/// Passes that wait for a device, and are not pinned to one CPU.
struct Waiting(Passes);

impl Task for Waiting {
    const ROAMS: bool = true;

    fn run(&mut self) -> Result<(), Fault> {
        self.0.run()
    }

    fn verify(&mut self) -> Result<(), Fault> {
        self.0.verify()
    }
}

impl Task for Passes {
    fn run(&mut self) -> Result<(), Fault> {
        for (count, part) in &mut self.0 {
            for _ in 0..*count {
                part.pass()?;
            }
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        self.0.iter_mut().try_for_each(|(_, part)| part.verify())
    }
}

/// Reports the amortised time, and the spread of the threads' own times.
fn show<T>(context: &Context, finish: &Finish<T>, passes: impl Fn(&T) -> &Passes) -> Result<(), Fault> {
    let mut each_s = finish.each_s.clone();
    each_s.sort_by(f64::total_cmp);
    context.out.note("passes", passes(&finish.tasks[0]).0.iter().map(|(count, _)| u64::from(*count)).sum::<u64>())?;
    context.out.note("thread_min_s", finite(each_s[0]))?;
    context.out.note("thread_median_s", finite(each_s[each_s.len() / 2]))?;
    context.out.note("thread_max_s", finite(finish.all_s))?;
    context.sample("task_time_s", finish.all_s, finish.amortised_s())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_task_and_a_composite_is_a_whole_share_of_each() {
        for name in NAMES.iter().filter(|name| **name != "disk") {
            assert!(!recipes(name).is_empty(), "{name}");
        }
        for recipe in CPU_TASKS {
            assert!(recipe.full % CPU_SHARE == 0 && recipe.small % CPU_SHARE == 0, "{}", recipe.name);
        }
        let whole: u32 = passes(&recipes("cpu"), true).0.iter().map(|(count, _)| count).sum();
        assert_eq!(whole, CPU_TASKS.iter().map(|recipe| recipe.small / CPU_SHARE).sum::<u32>());
    }
}
