//! `memory`: a pass over 128 MiB changes 2^21 words in random places, adds up all words, and repeats both to undo it.
//!
//! Uses ordinary memory from the allocator, with the system's default pages. Changes do not wait for each other: the
//! probe `chase` measures the latency of dependent loads, and `stream` the bandwidth.

use super::Part;
use super::answer::{expect, numbers};
use crate::fault::Fault;
use crate::rng::mix;

const WORDS: usize = 1 << 24;
pub const BYTES: u64 = 8 * WORDS as u64;
const UPDATES: usize = 1 << 21;
/// Sums of all words, modulo 2^64: after the changes, and after they were undone.
const CHANGED: u64 = 0xd63b_a645_026e_7510;
const RESTORED: u64 = 0x9c13_5782_4d01_23d0;

struct Memory {
    words: Vec<u64>,
    sums: [u64; 2],
    wrong_passes: u32,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Memory::new())
}

impl Memory {
    fn new() -> Memory {
        Memory { words: (0..WORDS as u64).map(mix).collect(), sums: [CHANGED, RESTORED], wrong_passes: 0 }
    }

    /// Applies the changes; each is its own inverse.
    fn change(&mut self) {
        let mut rng = numbers(90);
        for _ in 0..UPDATES {
            let word = rng.next();
            self.words[(word >> 40) as usize % WORDS] ^= word;
        }
    }

    fn sum(&self) -> u64 {
        self.words.iter().fold(0, |sum, &word| sum.wrapping_add(word))
    }
}

impl Part for Memory {
    fn pass(&mut self) -> Result<(), Fault> {
        self.change();
        let changed = self.sum();
        self.change();
        self.sums = [changed, self.sum()];
        self.wrong_passes += u32::from(self.sums != [CHANGED, RESTORED]);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        let [changed, restored] = self.sums;
        expect(self.wrong_passes == 0, &format!("a sum over memory ({changed:#x} and {restored:#x} in the last pass)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_bit_anywhere_is_detected() {
        let mut memory = Memory::new();
        memory.pass().unwrap();
        memory.verify().unwrap();
        memory.words[WORDS - 1] ^= 1 << 63;
        memory.pass().unwrap();
        assert_eq!(memory.verify().unwrap_err().outcome.name(), "invalid");
    }
}
