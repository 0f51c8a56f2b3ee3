//! The sequence of blocks, their expected content, and the checks of it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::Task;
use crate::fault::{Fault, OrFault};
use crate::memory_map::{MemoryMap, Pages};
use crate::rng::{Rng, mix};
use crate::scratch::Pattern;

/// The number of blocks that are read back completely after the run.
const SAMPLE: usize = 64;
/// Buffers in flight at the same time start on separate pages.
const PIECE_BYTES: usize = 4096;

/// A worker's own share of the file.
pub struct Blocks {
    first: u64,
    count: u64,
    next: u64,
    random: bool,
    write: bool,
    block_bytes: usize,
    /// The original content of the file, and the content that writes replace it with.
    filled: Pattern,
    written: Pattern,
    rng: Rng,
    /// The last blocks touched, a ring.
    touched: Vec<u64>,
    at: usize,
}

impl Blocks {
    /// Returns share `i` of `shares` equal ones of a file of `blocks`.
    pub fn new(task: &Task, i: usize, shares: usize, blocks: u64) -> Result<Blocks, Fault> {
        let count = blocks / shares as u64;
        if count == 0 {
            let what = format!("{blocks} blocks are too few for {shares} workers");
            return Err(Fault::failed(what, "raise file_bytes"));
        }
        Ok(Blocks {
            first: count * i as u64,
            count,
            next: 0,
            random: task.random,
            write: task.write,
            block_bytes: task.block_bytes,
            filled: task.pattern.clone(),
            written: Pattern::new(mix(task.seed)),
            rng: Rng::new(task.seed, i as u64),
            touched: vec![u64::MAX; SAMPLE],
            at: 0,
        })
    }

    /// Returns the offset of the next block, bytes.
    #[inline]
    pub fn next_offset(&mut self) -> u64 {
        let index = if self.random {
            self.rng.below(self.count)
        } else {
            let index = self.next;
            self.next = if index + 1 == self.count { 0 } else { index + 1 };
            index
        };
        let offset = (self.first + index) * self.block_bytes as u64;
        self.touched[self.at] = offset;
        self.at = (self.at + 1) % SAMPLE;
        offset
    }

    /// Creates a buffer for one operation; for writes it holds the data except for the stamps.
    pub fn buffer(&self) -> Result<MemoryMap, Fault> {
        let mut region = MemoryMap::new(self.block_bytes, Pages::Base)?;
        self.written.write(0, region.as_slice());
        Ok(region)
    }

    /// Creates buffers for `count` concurrent operations, each on separate pages.
    pub fn buffers(&self, count: usize) -> Result<MemoryMap, Fault> {
        let mut region = MemoryMap::new(stride(self.block_bytes) * count, Pages::Base)?;
        for i in 0..count {
            self.written.write(0, Blocks::nth(&mut region, i, self.block_bytes));
        }
        Ok(region)
    }

    /// Returns buffer `i` of `buffers`.
    #[inline]
    pub fn nth(buffers: &mut MemoryMap, i: usize, block_bytes: usize) -> &mut [u8] {
        let start = i * stride(block_bytes);
        &mut buffers.as_slice()[start..start + block_bytes]
    }

    /// Turns a buffer into the one for `offset`.
    #[inline]
    pub fn stamp(&self, offset: u64, buffer: &mut [u8]) {
        self.written.stamp(offset, buffer);
    }

    /// Checks the first word of a block that was just read; cheap enough for every read.
    #[inline]
    pub fn check(&self, offset: u64, buffer: &[u8]) -> Result<(), Fault> {
        let Some(head) = buffer.first_chunk::<8>() else {
            return Ok(());
        };
        if !offset.is_multiple_of(8) || u64::from_le_bytes(*head) == self.filled.word(offset / 8) {
            return Ok(());
        }
        Err(wrong_data(offset))
    }

    /// Reads back the last blocks touched and compares every byte. Returns the number of blocks.
    pub fn verify(&self, file: &File) -> Result<u64, Fault> {
        let (mut read, mut expected) = (self.buffer()?, self.buffer()?);
        let mut offsets: Vec<u64> = self.touched.iter().copied().filter(|&offset| offset != u64::MAX).collect();
        offsets.sort_unstable();
        offsets.dedup();
        // For large blocks, a few are enough, and more would cost time.
        offsets.truncate((32_usize << 20).div_ceil(self.block_bytes).clamp(2, SAMPLE));
        for &offset in &offsets {
            if self.write {
                self.stamp(offset, expected.as_slice());
            } else if offset.is_multiple_of(8) {
                self.filled.write(offset, expected.as_slice());
            } else {
                continue;
            }
            let tried = "cannot read back what was moved";
            file.read_exact_at(read.as_slice(), offset).or_fault(tried, "look at the kernel log")?;
            if read.as_slice() != expected.as_slice() {
                return Err(wrong_data(offset));
            }
        }
        Ok(offsets.len() as u64)
    }
}

fn stride(block_bytes: usize) -> usize {
    block_bytes.next_multiple_of(PIECE_BYTES)
}

fn wrong_data(offset: u64) -> Fault {
    Fault::invalid(format!("wrong data at offset {offset}"), "do not trust this disk; look at the kernel log")
}
