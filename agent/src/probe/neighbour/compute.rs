//! Loads of the processor and of the memory.

use std::hint::black_box;

use super::super::stream::Triad;
use super::super::stream::kernels::{self, GRANULE};
use crate::fault::Fault;
use crate::host;
use crate::pace::Work;
use crate::rng::{Rng, mix};

/// Rounds of a step: about 0.1 ms.
const ROUNDS: usize = 1 << 16;
/// An array of all threads together, if the caches are unknown.
const ARRAY_BYTES: u64 = 128 << 20;

/// Arithmetic in registers alone: no memory, no kernel.
pub struct Cpu(u64);

impl Cpu {
    pub fn new(seed: u64) -> Cpu {
        Cpu(seed)
    }
}

impl Work for Cpu {
    fn batch(&mut self) -> Result<f64, Fault> {
        self.0 = (0..ROUNDS).fold(black_box(self.0), |state, _| mix(state));
        black_box(self.0);
        Ok(1.0)
    }
}

/// The triad of `stream` over arrays of random numbers that no cache holds, with stores that bypass it.
pub struct Memory(Triad);

impl Memory {
    /// Maps the arrays of one of `threads` threads.
    pub fn new(seed: u64, threads: usize) -> Result<Memory, Fault> {
        let memory = host::memory_bytes().unwrap_or(u64::MAX);
        let bytes = host::last_level_cache_bytes().map_or(ARRAY_BYTES, |cache| cache * 2).min(memory / 16);
        let elements = (bytes as usize / 8 / threads / GRANULE * GRANULE).max(GRANULE);
        let mut random = Rng::new(seed, 0);
        // Whole numbers: none is slower to add than another.
        let fill = |values: &mut [f64]| values.iter_mut().for_each(|value| *value = random.below(1 << 40) as f64);
        Triad::filled(kernels::dispatch(true).0, elements, fill).map(Memory)
    }
}

impl Work for Memory {
    fn batch(&mut self) -> Result<f64, Fault> {
        self.0.batch().map(|_| 1.0)
    }
}
