//! Solution of a dense linear system, counted as Linpack counts it: LU with partial pivoting, one right-hand side.
//!
//! One sample per solve, (2/3 n^3 + 2 n^2) / time, or per group of short solves that takes 10 ms; excludes building
//! the system. Every answer is checked by HPL's scaled residual. Compares machines, not libraries: `benchmarks/` shows
//! how far this solver is from the best.

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::{Context, DURATION, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault};
use crate::rng::Rng;
use crate::wire::finite;
use crate::{disturbance, host, pace, pin, solve};

pub const PROBE: Probe = Probe {
    name: "lu",
    roles: SOLO,
    params: &[Param { name: "n", default: "1000", kind: Kind::WholeOr(2, 1_000_000, MEMORY) }, THREADS, DURATION],
    metrics: &[Metric { name: "lu_flop_per_s", unit: "flop/s", params: &["n", "threads"] }],
    run,
};

/// Results of other solvers are not comparable, so the facts name the solver that ran.
const SOLVER: &str = "recursive LU, products by gemm 0.19";
/// Used instead of an order: as large as 80 % of the free memory.
const MEMORY: &str = "memory";
const FILL: f64 = 0.8;
const SAMPLE_NS: u64 = 10_000_000;
const RESIDUAL_LIMIT: f64 = 16.0;

fn run(context: &Context) -> Result<(), Fault> {
    let n = order(context)?;
    let threads = context.threads();
    let cpus = context.job.cpus.clone();
    let used = &context.job.cpus[..threads.min(context.job.cpus.len())];
    let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(move |i| {
        // The whole process already runs on the same CPUs; a failure here would have shown there.
        let _ = pin::to(&[cpus[i % cpus.len()]]);
    });
    let pool = pool.build().or_fault("cannot start threads", "lower threads")?;
    context.out.note("isa", solve::isa())?;
    context.out.note("solver", SOLVER)?;
    context.out.note("blas_kernel", solve::kernel())?;
    disturbance::wait(context.out, used)?;
    pace::note_share(context.out, threads, used.len())?;
    let before = disturbance::counts(used);
    let residual = pool.install(|| System::new(n, context.job.seed).repeat(threads, context))?;
    disturbance::counts(used).note_since(&before, context.out)?;
    context.out.note("scaled_residual", finite(residual))
}

/// Returns the order in the job, or the order of the largest matrix that leaves a fifth of the free memory free.
fn order(context: &Context) -> Result<usize, Fault> {
    let free = host::free_memory_bytes();
    let n = match (context.whole("n"), free) {
        (Some(n), _) => n as usize,
        (None, Some(free)) => (free as f64 * FILL / 8.0).sqrt() as usize,
        (None, None) => return Err(Fault::failed("the free memory can not be told", "name n")),
    };
    context.out.note("n", n as u64)?;
    if free.is_some_and(|free| 8 * (n as u64).pow(2) > free / 10 * 9) {
        return Err(Fault::failed(format!("a matrix of order {n} does not fit in the free memory"), "lower n"));
    }
    Ok(n)
}

/// A system that stores only the factored form: its columns are generated from the seed wherever they are needed, so
/// that a matrix may fill the memory.
struct System {
    seed: u64,
    b: Vec<f64>,
    factors: Vec<f64>,
    x: Vec<f64>,
}

impl System {
    fn new(n: usize, seed: u64) -> System {
        let mut b = vec![0.0; n];
        column(seed, n, &mut b);
        System { seed, factors: vec![0.0; n * n], x: b.clone(), b }
    }

    /// Solves until the time is used, at least once after a warm-up; returns the largest residual.
    fn repeat(&mut self, threads: usize, context: &Context) -> Result<f64, Fault> {
        let n = self.b.len() as f64;
        let flop = 2.0 / 3.0 * n.powi(3) + 2.0 * n.powi(2);
        // Large systems warm up within themselves.
        if n <= 2000.0 {
            self.solve(threads);
        }
        let mut worst = 0.0_f64;
        let start = now_ns();
        loop {
            let (mut solves, mut ns) = (0.0, 0);
            while ns < SAMPLE_NS {
                ns += self.solve(threads);
                solves += 1.0;
                worst = worst.max(self.residual()?);
            }
            let t_s = seconds(now_ns() - start);
            context.sample("lu_flop_per_s", t_s, solves * flop / seconds(ns))?;
            if t_s >= context.seconds("duration_s") {
                return Ok(worst);
            }
        }
    }

    /// Returns the scaled residual of the last answer, which must be small.
    fn residual(&self) -> Result<f64, Fault> {
        let residual = solve::scaled_residual(|j, values| column(self.seed, j, values), &self.x, &self.b);
        if residual < RESIDUAL_LIMIT {
            return Ok(residual);
        }
        let what = format!("the scaled residual is {residual}, not below {RESIDUAL_LIMIT}");
        Err(Fault::invalid(what, "do not trust this CPU's arithmetic, or report this"))
    }

    /// Solves once; returns the time, ns.
    fn solve(&mut self, threads: usize) -> u64 {
        let n = self.b.len();
        self.factors.par_chunks_mut(n).enumerate().for_each(|(j, values)| column(self.seed, j, values));
        self.x.copy_from_slice(&self.b);
        let start = now_ns();
        let swaps = solve::factor(&mut self.factors, self.b.len(), threads);
        solve::solve(&self.factors, &swaps, &mut self.x);
        now_ns() - start
    }
}

/// Generates column `j` of the matrix; the column after the last one is the right-hand side.
fn column(seed: u64, j: usize, values: &mut [f64]) {
    let mut rng = Rng::new(seed, j as u64);
    values.iter_mut().for_each(|value| *value = rng.centred());
}
