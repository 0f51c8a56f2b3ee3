//! The benchmarks' random numbers: x' = 5^13 x mod 2^46, in whole numbers and thus exact (RNR-94-007, section 2.3).

/// The seed of CG, MG, FT and IS.
pub const SEED: u64 = 314_159_265;
/// 5^13.
pub const FACTOR: u64 = 1_220_703_125;
pub const MASK: u64 = (1 << 46) - 1;
/// 2^-46: scales the state to a number between 0 and 1.
pub const UNIT: f64 = 1.0 / (1_u64 << 46) as f64;

/// A sequence, represented by its state.
#[derive(Clone, Copy)]
pub struct Lcg(pub u64);

impl Lcg {
    /// Returns the sequence of a seed after `count` numbers.
    pub fn after(seed: u64, count: u64) -> Lcg {
        Lcg(seed.wrapping_mul(power(count)) & MASK)
    }

    /// Returns the next number, between 0 and 1. The product is taken mod 2^64, which is a multiple of 2^46.
    #[inline(always)]
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(FACTOR) & MASK;
        self.0 as f64 * UNIT
    }
}

/// Returns the factor that advances by `count` numbers.
pub fn power(mut count: u64) -> u64 {
    let (mut power, mut square) = (1_u64, FACTOR);
    while count > 0 {
        if count & 1 == 1 {
            power = power.wrapping_mul(square) & MASK;
        }
        square = square.wrapping_mul(square) & MASK;
        count >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_ahead_equals_single_steps() {
        let mut steps = Lcg(SEED);
        for count in 1..=1000 {
            let next = steps.next();
            assert!(next > 0.0 && next < 1.0);
            assert_eq!(Lcg::after(SEED, count).0, steps.0);
        }
        assert_eq!(Lcg::after(SEED, 1).0, (u128::from(SEED) * u128::from(FACTOR) % (1 << 46)) as u64);
    }
}
