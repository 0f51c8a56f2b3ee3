//! The triad for each instruction set, with stores that bypass the caches or go through them.

/// The length of every part is a multiple of this many elements: eight cache lines.
pub const GRANULE: usize = 64;

/// The work of a kernel in one call: `length` elements from `first`.
///
/// All counts are multiples of `GRANULE`, and the arrays are aligned to a page.
pub struct Part {
    pub a: *mut f64,
    pub b: *const f64,
    pub c: *const f64,
    pub first: usize,
    pub length: usize,
}

pub type Kernel = unsafe fn(&Part, f64);

pub fn dispatch(nontemporal: bool) -> (Kernel, &'static str) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return (if nontemporal { x86::avx512_past } else { x86::avx512_through }, "avx512f");
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return (if nontemporal { x86::avx2_past } else { x86::avx2_through }, "avx2+fma");
        }
        (if nontemporal { x86::sse2_past } else { x86::sse2_through }, "scalar")
    }
    #[cfg(target_arch = "aarch64")]
    {
        (if nontemporal { arm::neon_past } else { arm::neon_through }, "neon")
    }
}

/// Defines one kernel; `$store` takes an address and a vector of `$lanes` elements.
macro_rules! kernel {
    ($name:ident, $feature:literal, $lanes:literal, $splat:expr, $load:expr, $fma:expr, $store:expr) => {
        #[target_feature(enable = $feature)]
        pub unsafe fn $name(part: &Part, scalar: f64) {
            let scalar = $splat(scalar);
            for first in (part.first..part.first + part.length).step_by(GRANULE) {
                for i in (first..first + GRANULE).step_by($lanes) {
                    let value = $fma(scalar, $load(part.c.add(i)), $load(part.b.add(i)));
                    $store(part.a.add(i), value);
                }
            }
            // Non-temporal stores are in memory before the clock is read.
            fence(SeqCst);
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{GRANULE, Part};
    use std::arch::x86_64::*;
    use std::sync::atomic::{Ordering::SeqCst, fence};

    kernel!(avx512_past, "avx512f", 8, _mm512_set1_pd, _mm512_load_pd, _mm512_fmadd_pd, _mm512_stream_pd);
    kernel!(avx512_through, "avx512f", 8, _mm512_set1_pd, _mm512_load_pd, _mm512_fmadd_pd, _mm512_store_pd);
    kernel!(avx2_past, "avx2,fma", 4, _mm256_set1_pd, _mm256_load_pd, _mm256_fmadd_pd, _mm256_stream_pd);
    kernel!(avx2_through, "avx2,fma", 4, _mm256_set1_pd, _mm256_load_pd, _mm256_fmadd_pd, _mm256_store_pd);
    kernel!(sse2_past, "sse2", 2, _mm_set1_pd, _mm_load_pd, multiply_add, _mm_stream_pd);
    kernel!(sse2_through, "sse2", 2, _mm_set1_pd, _mm_load_pd, multiply_add, _mm_store_pd);

    #[target_feature(enable = "sse2")]
    fn multiply_add(a: __m128d, b: __m128d, c: __m128d) -> __m128d {
        _mm_add_pd(_mm_mul_pd(a, b), c)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{GRANULE, Part};
    use std::arch::aarch64::*;
    use std::sync::atomic::{Ordering::SeqCst, fence};

    /// Two vectors, because the non-temporal store of this architecture takes a pair.
    type Pair = (float64x2_t, float64x2_t);

    #[target_feature(enable = "neon")]
    unsafe fn load(from: *const f64) -> Pair {
        (vld1q_f64(from), vld1q_f64(from.add(2)))
    }

    #[target_feature(enable = "neon")]
    fn multiply_add(a: float64x2_t, b: Pair, c: Pair) -> Pair {
        (vfmaq_f64(c.0, a, b.0), vfmaq_f64(c.1, a, b.1))
    }

    #[target_feature(enable = "neon")]
    unsafe fn past(to: *mut f64, pair: Pair) {
        std::arch::asm!(
            "stnp {first:q}, {second:q}, [{to}]",
            first = in(vreg) pair.0, second = in(vreg) pair.1, to = in(reg) to, options(nostack)
        );
    }

    #[target_feature(enable = "neon")]
    unsafe fn through(to: *mut f64, pair: Pair) {
        vst1q_f64(to, pair.0);
        vst1q_f64(to.add(2), pair.1);
    }

    kernel!(neon_past, "neon", 4, vdupq_n_f64, load, multiply_add, past);
    kernel!(neon_through, "neon", 4, vdupq_n_f64, load, multiply_add, through);
}
