//! Product of two dense square matrices of doubles, counted as DGEMM counts it: 2 n^3 operations.
//!
//! One sample per product, or per group of short products that takes 10 ms. With threads, each computes a share of the
//! columns of one product. The answer is checked by Freivalds' test: C v = A (B v) for a random v. Compares machines,
//! not libraries: the `gemm` crate computes the products, and the facts name the kernel that ran. Does not measure
//! memory beyond the caches, because a product hides it.

use rayon::ThreadPoolBuilder;

use super::{Context, DURATION, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault};
use crate::memory_map::{MemoryMap, Pages};
use crate::rng::Rng;
use crate::solve::{self, Square};
use crate::{disturbance, host, pace, pin};

pub const PROBE: Probe = Probe {
    name: "gemm",
    roles: SOLO,
    params: &[Param { name: "n", default: "2000", kind: Kind::Whole(2, 65_536) }, THREADS, DURATION],
    metrics: &[Metric { name: "gemm_flop_per_s", unit: "flop/s", params: &["n", "threads"] }],
    run,
};

const SAMPLE_NS: u64 = 10_000_000;
/// The rounding error of a product of numbers of order 1 grows with n; a wrong product is off by far more.
const TOLERANCE_A_TERM: f64 = 8.0 * f64::EPSILON;

fn run(context: &Context) -> Result<(), Fault> {
    let n = context.whole("n").unwrap_or(0) as usize;
    let threads = context.threads();
    if host::free_memory_bytes().is_some_and(|free| 24 * (n as u64).pow(2) > free / 10 * 9) {
        let what = format!("three matrices of order {n} do not fit in the free memory");
        return Err(Fault::failed(what, "lower n"));
    }
    let used = &context.job.cpus[..threads.min(context.job.cpus.len())];
    let cpus = context.job.cpus.clone();
    let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(move |i| {
        // The whole process already runs on the same CPUs; a failure here would have shown there.
        let _ = pin::to(&[cpus[i % cpus.len()]]);
    });
    let pool = pool.build().or_fault("cannot start threads", "lower threads")?;
    context.out.note("isa", solve::isa())?;
    context.out.note("blas_kernel", solve::kernel())?;
    let mut product = Product::new(n, context.job.seed)?;
    disturbance::wait(context.out, used)?;
    pace::note_share(context.out, threads, used.len())?;
    let before = disturbance::counts(used);
    pool.install(|| product.repeat(threads, context))?;
    disturbance::counts(used).note_since(&before, context.out)?;
    product.verify(context.job.seed)
}

struct Product {
    n: usize,
    a: MemoryMap,
    b: MemoryMap,
    c: MemoryMap,
}

impl Product {
    fn new(n: usize, seed: u64) -> Result<Product, Fault> {
        let matrix = |stream: u64| -> Result<MemoryMap, Fault> {
            let mut region = MemoryMap::new(8 * n * n, Pages::Huge)?;
            let mut rng = Rng::new(seed, stream);
            region.as_f64().iter_mut().for_each(|value| *value = rng.centred());
            Ok(region)
        };
        Ok(Product { n, a: matrix(0)?, b: matrix(1)?, c: matrix(2)? })
    }

    fn repeat(&mut self, threads: usize, context: &Context) -> Result<(), Fault> {
        self.multiply(threads);
        let flop = 2.0 * (self.n as f64).powi(3);
        let start = now_ns();
        loop {
            let (mut products, mut ns) = (0.0, 0);
            while ns < SAMPLE_NS {
                ns += self.multiply(threads);
                products += 1.0;
            }
            let t_s = seconds(now_ns() - start);
            context.sample("gemm_flop_per_s", t_s, products * flop / seconds(ns))?;
            if t_s >= context.seconds("duration_s") {
                return Ok(());
            }
        }
    }

    /// Computes one product; returns its time, ns.
    fn multiply(&mut self, threads: usize) -> u64 {
        let square = |region: &MemoryMap| Square { start: region.as_ptr().cast(), n: self.n };
        let (a, b, c) = (square(&self.a), square(&self.b), square(&self.c));
        let start = now_ns();
        solve::multiply(c, a, b, threads);
        now_ns() - start
    }

    /// Checks the known answer: both ways to multiply by a random vector agree.
    fn verify(&mut self, seed: u64) -> Result<(), Fault> {
        let n = self.n;
        let mut rng = Rng::new(seed, 3);
        let v: Vec<f64> = (0..n).map(|_| rng.centred()).collect();
        let once = apply(self.c.as_f64(), &v);
        let twice = apply(self.a.as_f64(), &apply(self.b.as_f64(), &v));
        let error = once.iter().zip(&twice).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        // The error of a NaN is not above a limit, so test for an error below it.
        if once.iter().sum::<f64>().is_finite() && error < TOLERANCE_A_TERM * n as f64 {
            return Ok(());
        }
        let what = format!("the product of order {n} is wrong by {error:e}");
        Err(Fault::invalid(what, "do not trust this CPU's arithmetic, or report this"))
    }
}

/// Multiplies a column-major matrix by a vector.
fn apply(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    let mut result = vec![0.0; v.len()];
    for (column, factor) in matrix.chunks(v.len()).zip(v) {
        result.iter_mut().zip(column).for_each(|(sum, value)| *sum += factor * value);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_product_passes_and_one_wrong_number_in_it_does_not() {
        for (n, threads) in [(3, 1), (70, 1), (131, 2)] {
            let mut product = Product::new(n, 7).unwrap();
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| product.multiply(threads));
            product.verify(7).unwrap();
            for wrong in [1e-6, f64::NAN] {
                let place = product.n * product.n / 2;
                let right = std::mem::replace(&mut product.c.as_f64()[place], wrong);
                assert_eq!(product.verify(7).unwrap_err().outcome.name(), "invalid");
                product.c.as_f64()[place] = right;
            }
        }
    }
}
