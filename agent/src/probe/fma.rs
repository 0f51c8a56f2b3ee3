//! Peak rate of fused multiply-adds: independent chains in registers, with the widest vectors that the CPU supports.
//!
//! Counts two operations per lane and step. Does not measure memory, divisions, or compiler-generated code.

use std::hint::black_box;

use super::{Context, DURATION, INTERVAL, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::clock::core_hz;
use crate::fault::Fault;
use crate::pace::{self, Work};
use crate::wire::finite;

pub const PROBE: Probe = Probe {
    name: "fma",
    roles: SOLO,
    params: &[
        THREADS,
        DURATION,
        INTERVAL,
        Param { name: "precision", default: "f64", kind: Kind::Choice(&["f64", "f32"]) },
    ],
    metrics: &[Metric { name: "fma_flop_per_s", unit: "flop/s", params: &["precision", "threads"] }],
    run,
};

/// Steps of a batch: about 0.1 ms.
const STEPS: usize = 1 << 14;
/// Every chain converges to 1: no overflow, no denormals.
const FACTOR: f64 = 0.999;
const TERM: f64 = 0.001;

/// Runs `STEPS` steps from a start value; returns the sum of all lanes and the number of operations.
pub type Kernel = unsafe fn(f64) -> (f64, f64);

fn run(context: &Context) -> Result<(), Fault> {
    let (kernel, isa) = dispatch(context.text("precision"));
    context.out.note("isa", isa)?;
    let emit = |t_s, rate| context.sample("fma_flop_per_s", t_s, rate);
    let workers = pace::run(&context.pace(), |_| Fma::warm(kernel), emit)?;
    for worker in &workers {
        worker.verify()?;
    }
    note_clock(context, workers.iter().map(|worker| worker.clock_hz).collect())
}

/// Notes the clock of the cores right after the run: measured by dependent adds, the mean over the workers.
pub fn note_clock(context: &Context, clocks: Option<Vec<f64>>) -> Result<(), Fault> {
    match clocks {
        Some(clocks) => context.out.note("clock_hz", finite(clocks.iter().sum::<f64>() / clocks.len() as f64)),
        None => Ok(()),
    }
}

pub struct Fma {
    kernel: Kernel,
    lanes_mean: f64,
    pub clock_hz: Option<f64>,
}

impl Work for Fma {
    fn batch(&mut self) -> Result<f64, Fault> {
        let (mean, flop) = unsafe { (self.kernel)(black_box(2.0)) };
        self.lanes_mean = black_box(mean);
        Ok(flop)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.clock_hz = core_hz();
        Ok(())
    }
}

impl Fma {
    pub fn warm(kernel: Kernel) -> Result<Fma, Fault> {
        let mut warm = Fma { kernel, lanes_mean: 0.0, clock_hz: None };
        (0..8).try_for_each(|_| warm.batch().map(drop))?;
        Ok(warm)
    }

    /// Checks the known answer: after many steps each chain has reached its fixed point, 1.
    pub fn verify(&self) -> Result<(), Fault> {
        let error = (self.lanes_mean - 1.0).abs();
        if error < 1e-3 {
            return Ok(());
        }
        let what = format!("the multiply-adds gave {} instead of 1", self.lanes_mean);
        Err(Fault::invalid(what, "do not trust this CPU's arithmetic, or report this"))
    }
}

pub fn dispatch(precision: &str) -> (Kernel, &'static str) {
    let wide = precision == "f64";
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return (if wide { x86::avx512_f64 } else { x86::avx512_f32 }, "avx512f");
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return (if wide { x86::avx2_f64 } else { x86::avx2_f32 }, "avx2+fma");
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        return (if wide { arm::neon_f64 } else { arm::neon_f32 }, "neon");
    }
    #[allow(unreachable_code)]
    (if wide { scalar_f64 } else { scalar_f32 }, "scalar")
}

/// Defines one kernel: `$chains` chains of `$vector`, which holds `$lanes` lanes of `$scalar`.
macro_rules! kernel {
    ($name:ident, $($feature:literal,)? $scalar:ty, $vector:ty, $chains:literal, $splat:expr, $fma:expr) => {
        $(#[target_feature(enable = $feature)])?
        pub unsafe fn $name(start: f64) -> (f64, f64) {
            const LANES: usize = size_of::<$vector>() / size_of::<$scalar>();
            let (factor, term) = ($splat(black_box(FACTOR) as $scalar), $splat(black_box(TERM) as $scalar));
            let mut chains: [$vector; $chains] = [$splat(start as $scalar); $chains];
            for _ in 0..STEPS {
                for chain in &mut chains {
                    *chain = $fma(*chain, factor, term);
                }
            }
            let lanes: &[$scalar] = std::slice::from_raw_parts((&raw const chains).cast(), $chains * LANES);
            let mean = lanes.iter().map(|&lane| lane as f64).sum::<f64>() / lanes.len() as f64;
            (mean, (STEPS * lanes.len() * 2) as f64)
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{FACTOR, STEPS, TERM};
    use std::arch::x86_64::*;
    use std::hint::black_box;

    // 4 to 5 cycles of latency on two ports need at least 10 chains; the registers hold 14 and 28 besides the
    // constants.
    kernel!(avx512_f64, "avx512f", f64, __m512d, 24, _mm512_set1_pd, _mm512_fmadd_pd);
    kernel!(avx512_f32, "avx512f", f32, __m512, 24, _mm512_set1_ps, _mm512_fmadd_ps);
    kernel!(avx2_f64, "avx2,fma", f64, __m256d, 12, _mm256_set1_pd, _mm256_fmadd_pd);
    kernel!(avx2_f32, "avx2,fma", f32, __m256, 12, _mm256_set1_ps, _mm256_fmadd_ps);
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{FACTOR, STEPS, TERM};
    use std::arch::aarch64::*;
    use std::hint::black_box;

    // Four pipes with four cycles each need 16 chains.
    kernel!(neon_f64, "neon", f64, float64x2_t, 24, vdupq_n_f64, |chain, factor, term| vfmaq_f64(term, chain, factor));
    kernel!(neon_f32, "neon", f32, float32x4_t, 24, vdupq_n_f32, |chain, factor, term| vfmaq_f32(term, chain, factor));
}

// Without a fused instruction: a multiply and an add, which still count as two operations.
kernel!(scalar_f64, f64, f64, 12, |value| value, |chain, factor, term| chain * factor + term);
kernel!(scalar_f32, f32, f32, 12, |value| value, |chain, factor, term| chain * factor + term);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_reaches_the_fixed_point() {
        for precision in ["f64", "f32"] {
            let scalar: Kernel = if precision == "f64" { scalar_f64 } else { scalar_f32 };
            for kernel in [dispatch(precision).0, scalar] {
                let (mean, flop) = unsafe { kernel(2.0) };
                assert!((mean - 1.0).abs() < 1e-3, "{precision}: {mean}");
                assert!(flop >= (STEPS * 24) as f64);
            }
        }
    }
}
