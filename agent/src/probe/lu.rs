//! Solve of a dense linear system, as Linpack counts it: LU with partial pivoting, one right-hand side.
//!
//! One sample a solve, (2/3 n^3 + 2 n^2) / time, or of as many short solves as make 10 ms; building the system is
//! outside. Every answer is checked by HPL's scaled residual. Compares machines, not libraries: see `benchmarks/` for how far this solver is from the best.

use rayon::ThreadPoolBuilder;

use super::{Context, DURATION, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault};
use crate::rng::Rng;
use crate::wire::finite;
use crate::{host, pace, pin, quiet, solve};

pub const PROBE: Probe = Probe {
    name: "lu",
    roles: SOLO,
    params: &[Param { name: "n", default: "1000", kind: Kind::Whole(2, 65_536) }, THREADS, DURATION],
    metrics: &[Metric { name: "lu_flop_per_s", unit: "flop/s", params: &["n", "threads"] }],
    run,
};

/// Results of other solvers are of other cells' kind: whoever compares must see which one ran.
const SOLVER: &str = "recursive LU, products by gemm 0.19";
const SAMPLE_NS: u64 = 10_000_000;
const RESIDUAL_LIMIT: f64 = 16.0;

fn run(context: &Context) -> Result<(), Fault> {
    let n = context.whole("n").unwrap_or(0) as usize;
    let threads = context.threads();
    let wanted = 2 * 8 * (n * n) as u64;
    if host::memory_bytes().is_some_and(|memory| wanted > memory / 10 * 9) {
        return Err(Fault::failed(format!("two matrices of order {n} do not fit in memory"), "lower n"));
    }
    let cpus = context.job.cpus.clone();
    let used = &context.job.cpus[..threads.min(context.job.cpus.len())];
    let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(move |i| {
        // The same CPUs already hold the whole process; a failure here would have shown there.
        let _ = pin::to(&[cpus[i % cpus.len()]]);
    });
    let pool = pool.build().or_fault("cannot start threads", "lower threads")?;
    context.out.note("isa", solve::isa())?;
    context.out.note("solver", SOLVER)?;
    context.out.note("blas_kernel", solve::kernel())?;
    quiet::wait(context.out, used)?;
    pace::note_share(context.out, threads, used.len())?;
    let before = quiet::counts(used);
    let mut system = System::new(n, context.job.seed);
    let residual = pool.install(|| system.repeat(threads, context))?;
    quiet::counts(used).note_since(&before, context.out)?;
    context.out.note("scaled_residual", finite(residual))
}

struct System {
    matrix: Vec<f64>,
    b: Vec<f64>,
    factors: Vec<f64>,
    x: Vec<f64>,
}

impl System {
    fn new(n: usize, seed: u64) -> System {
        let mut rng = Rng::new(seed, 0);
        let matrix: Vec<f64> = (0..n * n).map(|_| rng.centred()).collect();
        let b: Vec<f64> = (0..n).map(|_| rng.centred()).collect();
        System { factors: matrix.clone(), x: b.clone(), matrix, b }
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

    /// The scaled residual of the last answer, which must be small.
    fn residual(&self) -> Result<f64, Fault> {
        let residual = solve::scaled_residual(&self.matrix, &self.x, &self.b);
        if residual < RESIDUAL_LIMIT {
            return Ok(residual);
        }
        let what = format!("the scaled residual is {residual}, not below {RESIDUAL_LIMIT}");
        Err(Fault::invalid(what, "do not trust this CPU's arithmetic, or report this"))
    }

    /// One solve, ns.
    fn solve(&mut self, threads: usize) -> u64 {
        self.factors.copy_from_slice(&self.matrix);
        self.x.copy_from_slice(&self.b);
        let start = now_ns();
        let swaps = solve::factor(&mut self.factors, self.b.len(), threads);
        solve::solve(&self.factors, &swaps, &mut self.x);
        now_ns() - start
    }
}
