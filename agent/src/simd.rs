//! Vectors of f64, as wide as the processor supports, for loops that a compiler does not vectorise itself.
//!
//! Code is written once, generic over `Lanes`, and inlined into one function for each instruction set. The caller
//! chooses the function at run time.

/// A vector of doubles.
///
/// # Safety
/// Every method needs the instructions of its implementor; pointers are to `WIDTH` doubles, with any alignment.
pub trait Lanes: Copy {
    const WIDTH: usize;
    unsafe fn splat(value: f64) -> Self;
    unsafe fn load(from: *const f64) -> Self;
    unsafe fn store(self, to: *mut f64);
    unsafe fn plus(self, other: Self) -> Self;
    unsafe fn minus(self, other: Self) -> Self;
    unsafe fn times(self, other: Self) -> Self;
    unsafe fn over(self, other: Self) -> Self;
    /// Returns `self * other + term`, rounded once if the processor supports it.
    unsafe fn times_plus(self, other: Self, term: Self) -> Self;
    /// Returns `term - self * other`, rounded in the same way.
    unsafe fn times_from(self, other: Self, term: Self) -> Self;
}

/// Loads N vectors that lie `step` doubles apart.
///
/// Uses a plain loop, as does all code with lanes: closures that take lanes by value are not inlined across
/// instruction sets.
#[inline(always)]
pub unsafe fn load_each<V: Lanes, const N: usize>(from: *const f64, step: usize) -> [V; N] {
    let mut all = [V::splat(0.0); N];
    for (m, one) in all.iter_mut().enumerate() {
        *one = V::load(from.add(m * step));
    }
    all
}

/// Stores N vectors `step` doubles apart.
#[inline(always)]
pub unsafe fn store_each<V: Lanes, const N: usize>(all: &[V; N], to: *mut f64, step: usize) {
    for (m, one) in all.iter().enumerate() {
        one.store(to.add(m * step));
    }
}

/// Multiplies all vectors by one.
#[inline(always)]
pub unsafe fn times_each<V: Lanes, const N: usize>(all: &[V; N], factor: V) -> [V; N] {
    let mut product = *all;
    for one in &mut product {
        *one = one.times(factor);
    }
    product
}

/// An instruction set for lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Base,
}

impl Isa {
    pub fn best() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return Isa::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Isa::Avx2;
            }
        }
        Isa::Base
    }

    /// Returns the instruction sets that this processor supports, the widest first.
    #[cfg(test)]
    pub fn all() -> Vec<Isa> {
        #[cfg(target_arch = "x86_64")]
        match Isa::best() {
            Isa::Avx512 => return vec![Isa::Avx512, Isa::Avx2, Isa::Base],
            Isa::Avx2 => return vec![Isa::Avx2, Isa::Base],
            Isa::Base => {}
        }
        vec![Isa::Base]
    }

    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => "avx512f",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "avx2+fma",
            Isa::Base => "baseline",
        }
    }
}

/// Lanes of the baseline: the compiler chooses the instructions.
#[derive(Clone, Copy)]
pub struct Pair([f64; 2]);

impl Lanes for Pair {
    const WIDTH: usize = 2;

    #[inline(always)]
    unsafe fn splat(value: f64) -> Pair {
        Pair([value; 2])
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Pair {
        Pair(from.cast::<[f64; 2]>().read_unaligned())
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        to.cast::<[f64; 2]>().write_unaligned(self.0);
    }

    #[inline(always)]
    unsafe fn plus(self, other: Pair) -> Pair {
        Pair([self.0[0] + other.0[0], self.0[1] + other.0[1]])
    }

    #[inline(always)]
    unsafe fn minus(self, other: Pair) -> Pair {
        Pair([self.0[0] - other.0[0], self.0[1] - other.0[1]])
    }

    #[inline(always)]
    unsafe fn times(self, other: Pair) -> Pair {
        Pair([self.0[0] * other.0[0], self.0[1] * other.0[1]])
    }

    #[inline(always)]
    unsafe fn over(self, other: Pair) -> Pair {
        Pair([self.0[0] / other.0[0], self.0[1] / other.0[1]])
    }

    #[inline(always)]
    unsafe fn times_plus(self, other: Pair, term: Pair) -> Pair {
        self.times(other).plus(term)
    }

    #[inline(always)]
    unsafe fn times_from(self, other: Pair, term: Pair) -> Pair {
        term.minus(self.times(other))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    /// Implements `Lanes` for one register type, by the names of its instructions.
    macro_rules! lanes {
        ($register:ty, $width:literal, $splat:ident, $load:ident, $store:ident, $plus:ident, $minus:ident, $times:ident,
         $over:ident, $times_plus:ident, $times_from:ident) => {
            impl Lanes for $register {
                const WIDTH: usize = $width;

                #[inline(always)]
                unsafe fn splat(value: f64) -> Self {
                    $splat(value)
                }

                #[inline(always)]
                unsafe fn load(from: *const f64) -> Self {
                    $load(from)
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut f64) {
                    $store(to, self)
                }

                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    $plus(self, other)
                }

                #[inline(always)]
                unsafe fn minus(self, other: Self) -> Self {
                    $minus(self, other)
                }

                #[inline(always)]
                unsafe fn times(self, other: Self) -> Self {
                    $times(self, other)
                }

                #[inline(always)]
                unsafe fn over(self, other: Self) -> Self {
                    $over(self, other)
                }

                #[inline(always)]
                unsafe fn times_plus(self, other: Self, term: Self) -> Self {
                    $times_plus(self, other, term)
                }

                #[inline(always)]
                unsafe fn times_from(self, other: Self, term: Self) -> Self {
                    $times_from(self, other, term)
                }
            }
        };
    }

    lanes!(
        __m512d,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_div_pd,
        _mm512_fmadd_pd,
        _mm512_fnmadd_pd
    );
    lanes!(
        __m256d,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_div_pd,
        _mm256_fmadd_pd,
        _mm256_fnmadd_pd
    );
}
