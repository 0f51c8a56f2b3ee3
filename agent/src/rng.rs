//! Seeded pseudo-random numbers: xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64.

pub struct Rng([u64; 4]);

/// One step of splitmix64. Also mixes two numbers well: `mix(seed ^ mix(index))`.
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// Creates stream `stream` of `seed`: each worker gets its own stream.
    pub fn new(seed: u64, stream: u64) -> Rng {
        let mut state = mix(seed ^ mix(stream));
        Rng(std::array::from_fn(|_| {
            state = mix(state);
            state
        }))
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a number below `bound` (Lemire's multiply; its bias is below bound / 2^64).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in [-0.5, 0.5).
    pub fn centred(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_numbers_and_streams_differ() {
        let draw = |seed, stream| {
            let mut rng = Rng::new(seed, stream);
            [rng.next(), rng.next(), rng.below(10)]
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
        assert!((0..1000).all(|seed| draw(seed, 0)[2] < 10));
    }
}
