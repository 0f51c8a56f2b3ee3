//! Peak rate of 64-bit integer arithmetic: adds and xors in independent vector chains, multiplies in scalar chains.
//!
//! A step makes one add and one xor in each lane of eight chains, and four scalar multiplies, because no x86 before
//! AVX-512 has vector ones. One lane operation counts as one. Does not measure divisions, branches or memory.

use std::hint::black_box;

use super::fma::note_clock;
use super::{Context, DURATION, INTERVAL, Metric, Probe, SOLO, THREADS};
use crate::clock::core_hz;
use crate::fault::Fault;
use crate::pace::{self, Work};

pub const PROBE: Probe = Probe {
    name: "int",
    roles: SOLO,
    params: &[THREADS, DURATION, INTERVAL],
    metrics: &[Metric { name: "int_op_per_s", unit: "op/s", params: &["threads"] }],
    run,
};

/// Steps of a batch: about 0.1 ms.
const STEPS: usize = 1 << 15;
const CHAINS: usize = 8;
const MULTIPLIES: usize = 4;
const TERM: u64 = 0x9e37_79b9_7f4a_7c15;
const MASK: u64 = 0x5555_5555_5555_5555;
const FACTOR: u64 = 0xd134_2543_de82_ef95;

/// The result of a kernel: one lane of its vectors, one of its products, and the number of operations.
type Answer = (u64, u64, f64);

type Kernel = unsafe fn(u64) -> Answer;

fn run(context: &Context) -> Result<(), Fault> {
    let (kernel, isa) = dispatch();
    context.out.note("isa", isa)?;
    let make = |_| {
        let mut warm = Int { kernel, answer: None, clock_hz: None };
        (0..8).try_for_each(|_| warm.batch().map(drop))?;
        Ok(warm)
    };
    let emit = |t_s, rate| context.sample("int_op_per_s", t_s, rate);
    let workers = pace::run(&context.pace(), make, emit)?;
    for worker in &workers {
        worker.verify()?;
    }
    note_clock(context, workers.iter().map(|worker| worker.clock_hz).collect())
}

struct Int {
    kernel: Kernel,
    answer: Option<Answer>,
    clock_hz: Option<f64>,
}

impl Work for Int {
    fn batch(&mut self) -> Result<f64, Fault> {
        let answer = black_box(unsafe { (self.kernel)(black_box(1)) });
        self.answer = Some(answer);
        Ok(answer.2)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.clock_hz = core_hz();
        Ok(())
    }
}

impl Int {
    /// Checks the known answer: the same chains, one step at a time.
    fn verify(&self) -> Result<(), Fault> {
        let (mut lane, mut product) = (1_u64, 1_u64);
        for _ in 0..STEPS {
            lane = lane.wrapping_add(TERM) ^ MASK;
            product = product.wrapping_mul(FACTOR);
        }
        match self.answer {
            Some((a, b, _)) if (a, b) == (lane, product) => Ok(()),
            _ => Err(Fault::invalid("the integer chains gave a wrong answer", "do not trust this CPU, or report this")),
        }
    }
}

fn dispatch() -> (Kernel, &'static str) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return (x86::avx512, "avx512f");
        }
        if is_x86_feature_detected!("avx2") {
            return (x86::avx2, "avx2");
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        return (arm::neon, "neon");
    }
    #[allow(unreachable_code)]
    (scalar, "scalar")
}

/// Defines one kernel over chains of `$vector`.
macro_rules! kernel {
    ($name:ident, $($feature:literal,)? $vector:ty, $splat:expr, $add:expr, $xor:expr) => {
        $(#[target_feature(enable = $feature)])?
        pub unsafe fn $name(start: u64) -> Answer {
            const LANES: usize = size_of::<$vector>() / 8;
            let (term, mask) = ($splat(black_box(TERM)), $splat(black_box(MASK)));
            let factor = black_box(FACTOR);
            let mut chains: [$vector; CHAINS] = [$splat(start); CHAINS];
            let mut products = [start; MULTIPLIES];
            for _ in 0..STEPS {
                for chain in &mut chains {
                    *chain = $xor($add(*chain, term), mask);
                }
                for product in &mut products {
                    *product = product.wrapping_mul(factor);
                }
            }
            let chains = black_box(chains);
            let lanes: &[u64] = std::slice::from_raw_parts((&raw const chains).cast(), CHAINS * LANES);
            let products = black_box(products);
            // Makes a wrong lane anywhere visible in the first one.
            let odd = lanes.iter().any(|lane| *lane != lanes[0]) || products.iter().any(|one| *one != products[0]);
            let made = STEPS * (CHAINS * LANES * 2 + MULTIPLIES);
            (if odd { !lanes[0] } else { lanes[0] }, products[0], made as f64)
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Answer, CHAINS, FACTOR, MASK, MULTIPLIES, STEPS, TERM};
    use std::arch::x86_64::*;
    use std::hint::black_box;

    kernel!(avx512, "avx512f", __m512i, |v| _mm512_set1_epi64(v as i64), _mm512_add_epi64, _mm512_xor_si512);
    kernel!(avx2, "avx2", __m256i, |v| _mm256_set1_epi64x(v as i64), _mm256_add_epi64, _mm256_xor_si256);
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{Answer, CHAINS, FACTOR, MASK, MULTIPLIES, STEPS, TERM};
    use std::arch::aarch64::*;
    use std::hint::black_box;

    kernel!(neon, "neon", uint64x2_t, vdupq_n_u64, vaddq_u64, veorq_u64);
}

kernel!(scalar, u64, |v| v, u64::wrapping_add, |a, b| a ^ b);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_gives_the_known_answer() {
        for kernel in [dispatch().0, scalar] {
            let int = Int { kernel, answer: Some(unsafe { kernel(1) }), clock_hz: None };
            int.verify().unwrap();
        }
        assert!(Int { kernel: scalar, answer: Some((0, 0, 1.0)), clock_hz: None }.verify().is_err());
    }
}
