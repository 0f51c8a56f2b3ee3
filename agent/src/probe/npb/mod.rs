//! The NAS parallel benchmarks, on one machine: fixed work by a team of threads, verified by the published numbers.
//!
//! A trial is one run, timed like the originals: setting up the problem and a first pass are not timed. The rate uses
//! the originals' own operation count, regardless of the operations executed. Written from scratch in Rust from the
//! specification (Bailey et al., RNR-94-007, and NAS-95-020): it compares machines, not compilers. Never uses more
//! than one machine.

use serde_json::Value;

use super::{Context, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::clock::seconds;
use crate::fault::Fault;
use crate::wire::finite;
use crate::{disturbance, host, pace};

mod bt;
mod cg;
mod cg_matrix;
mod check;
mod ep;
mod fft;
mod ft;
mod ft_box;
mod is;
mod lcg;
mod mg;
mod mg_grid;
mod shared;
mod team;

use check::Check;
use team::{Place, Spent, Team, Used};

pub const PROBE: Probe = Probe {
    name: "npb",
    roles: SOLO,
    params: &[
        Param { name: "benchmark", default: "bt", kind: Kind::Choice(&["bt", "ep", "cg", "mg", "ft", "is"]) },
        Param { name: "class", default: "A", kind: Kind::Choice(&["A", "S", "W", "B"]) },
        THREADS,
    ],
    metrics: &[
        Metric { name: "npb_op_per_s", unit: "op/s", params: CELL },
        Metric { name: "npb_time_s", unit: "s", params: CELL },
    ],
    run,
};

const CELL: &[&str] = &["benchmark", "class", "threads"];

/// The size of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    S,
    W,
    A,
    B,
}

/// One of the benchmarks: the memory that a class takes, and its run function.
struct Benchmark {
    name: &'static str,
    bytes: fn(Class, usize) -> u64,
    run: fn(Class, &Team) -> Result<Outcome, Fault>,
}

/// A new benchmark needs a file, a line here, and its name in the parameter above and in the catalogue.
static BENCHMARKS: &[Benchmark] =
    &[bt::BENCHMARK, ep::BENCHMARK, cg::BENCHMARK, mg::BENCHMARK, ft::BENCHMARK, is::BENCHMARK];

/// The result of a benchmark.
pub struct Outcome {
    /// The time and CPU use of the timed part, from `Team::timed`.
    pub spent: Spent,
    /// The number of operations by the original's own count.
    pub operations: f64,
    /// All checks must pass, or the trial is invalid.
    pub checks: Vec<Check>,
    /// Facts such as the instructions that were used.
    pub notes: Vec<(&'static str, Value)>,
}

fn class_of(text: &str) -> Class {
    match text {
        "S" => Class::S,
        "W" => Class::W,
        "B" => Class::B,
        _ => Class::A,
    }
}

fn run(context: &Context) -> Result<(), Fault> {
    let (name, class) = (context.text("benchmark"), class_of(context.text("class")));
    let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.name == name) else {
        return Err(Fault::bad_job(format!("bad job: npb has no benchmark {name}"), "see --probes for those it has"));
    };
    let place = Place { threads: context.threads(), cpus: &context.job.cpus };
    let wanted = (benchmark.bytes)(class, place.threads);
    // Memory held by other processes is not available, and available memory does not include a group's limit.
    let limit = host::memory_bytes().map(|bytes| bytes / 10 * 9);
    fits(name, class, wanted, limit.into_iter().chain(host::available_memory_bytes()).min())?;
    pace::can_start(place.threads)?;
    let used = &place.cpus[..place.threads.min(place.cpus.len())];
    disturbance::wait(context.out, used)?;
    pace::note_share(context.out, place.threads, used.len())?;
    let before = disturbance::counts(used);
    let outcome = team::with(&place, |team| (benchmark.run)(class, team))?;
    disturbance::counts(used).note_since(&before, context.out)?;
    for (key, value) in outcome.notes {
        context.out.note(key, value)?;
    }
    let members: Vec<(u64, Option<u64>)> =
        outcome.spent.members.iter().map(|&Used { cpu_ns, run_delay_ns }| (cpu_ns, run_delay_ns)).collect();
    pace::note_and_check_cpu_time(context.out, outcome.spent.around_ns, &members, used.len())?;
    context.out.note("verification_error", finite(check::verify(&outcome.checks)?))?;
    let time_s = seconds(outcome.spent.elapsed_ns);
    context.sample("npb_op_per_s", time_s, outcome.operations / time_s)?;
    context.sample("npb_time_s", time_s, time_s)
}

/// Refuses a problem that does not fit into memory, before anything is allocated.
fn fits(name: &str, class: Class, wanted: u64, there: Option<u64>) -> Result<(), Fault> {
    match there {
        Some(there) if wanted > there => {
            let what = format!("{name} of class {class:?} takes {wanted} B of memory, and {there} B are there for it");
            Err(Fault::failed(what, "use a smaller class, or a machine with more memory"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin;

    /// Returns the result of `lead` with a team of this size.
    pub fn led<T: Send>(threads: usize, lead: impl FnOnce(&Team) -> Result<T, Fault> + Send) -> T {
        team::with(&Place { threads, cpus: &pin::allowed() }, lead).unwrap_or_else(|fault| panic!("{}", fault.what))
    }

    #[test]
    fn a_problem_larger_than_memory_is_refused_in_one_line() {
        let wanted = (bt::BENCHMARK.bytes)(Class::B, 2);
        // 21 doubles at each of 102^3 points, and little else.
        assert!((170_000_000..200_000_000).contains(&wanted), "{wanted}");
        let fault = fits("bt", Class::B, wanted, Some(128 << 20)).unwrap_err();
        assert!(fault.outcome.name() == "failed" && fault.what.starts_with("bt of class B takes 18"), "{}", fault.what);
        assert!(fits("bt", Class::B, wanted, Some(wanted)).is_ok() && fits("bt", Class::B, wanted, None).is_ok());
    }

    #[test]
    fn every_benchmark_can_be_chosen_and_says_what_memory_it_takes() {
        let Kind::Choice(names) = PROBE.params[0].kind else { panic!("benchmark is a choice") };
        assert_eq!(BENCHMARKS.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>(), names);
        let class_b = |name: &str| {
            let benchmark = BENCHMARKS.iter().find(|benchmark| benchmark.name == name).unwrap();
            (benchmark.bytes)(Class::B, 2)
        };
        // Twice the keys and once the values; three grids of 258^3 and their coarser ones; five doubles per point.
        assert_eq!(class_b("is"), 4 * ((2 << 25) + (1 << 21)));
        assert!((420_000_000..480_000_000).contains(&class_b("mg")), "{}", class_b("mg"));
        assert!((1_342_000_000..1_400_000_000).contains(&class_b("ft")), "{}", class_b("ft"));
        assert!(class_b("cg") > 300_000_000 && class_b("ep") < 1 << 20);
    }
}
