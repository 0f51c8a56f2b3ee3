//! Loads of the processor and of the memory.

use std::hint::black_box;

use super::super::stream::kernels::{self, GRANULE, Kernel, Part};
use crate::fault::Fault;
use crate::host;
use crate::memory_map::{MemoryMap, Pages};
use crate::pace::Work;
use crate::rng::{Rng, mix};

/// Rounds of a step: about 0.1 ms.
const ROUNDS: usize = 1 << 16;
/// Elements of a step: 6 MiB of traffic, about 0.5 ms.
const BATCH: usize = 1 << 18;
/// An array of all threads together, if the caches are unknown.
const ARRAY_BYTES: u64 = 128 << 20;
const SCALAR: f64 = 3.0;

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

/// The triad `a = b + 3 c` over arrays that no cache holds, with stores that bypass it.
pub struct Memory {
    kernel: Kernel,
    a: MemoryMap,
    b: MemoryMap,
    c: MemoryMap,
    elements: usize,
    at: usize,
}

impl Memory {
    /// Maps the arrays of one of `threads` threads, and fills two of them with random numbers.
    pub fn new(seed: u64, threads: usize) -> Result<Memory, Fault> {
        let memory = host::memory_bytes().unwrap_or(u64::MAX);
        let bytes = host::last_level_cache_bytes().map_or(ARRAY_BYTES, |cache| cache * 2).min(memory / 16);
        let elements = (bytes as usize / 8 / threads / GRANULE * GRANULE).max(GRANULE);
        let map = || MemoryMap::new(elements * 8, Pages::Huge);
        let mut one = Memory { kernel: kernels::dispatch(true).0, a: map()?, b: map()?, c: map()?, elements, at: 0 };
        let mut random = Rng::new(seed, 0);
        for array in [&mut one.b, &mut one.c] {
            // Small whole numbers: none is slower to add than another.
            array.as_f64().iter_mut().for_each(|value| *value = random.below(1 << 40) as f64);
        }
        Ok(one)
    }
}

impl Work for Memory {
    fn batch(&mut self) -> Result<f64, Fault> {
        let length = BATCH.min(self.elements - self.at);
        let part = Part {
            a: self.a.as_ptr().cast(),
            b: self.b.as_ptr().cast(),
            c: self.c.as_ptr().cast(),
            first: self.at,
            length,
        };
        unsafe { (self.kernel)(&part, black_box(SCALAR)) };
        self.at = (self.at + length) % self.elements;
        Ok(1.0)
    }
}
