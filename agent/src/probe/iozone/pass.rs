//! One timed pass over one file, and the checks after it.
//!
//! Timed besides the system calls: for a read, a comparison of the record's first word; for a write, one word stored
//! in each 4 KiB of it, so that no two records are the same; the clock, every 256 KiB. Whole records are compared
//! afterwards.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::order::Walk;
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};
use crate::memory_map::{MemoryMap, Pages};
use crate::pace::Task;
use crate::scratch::{self, Pattern};

const NEXT: &str = "look at the kernel log";
/// Written records that are read back completely: at most this many, and at most so many bytes beyond the second.
const SAMPLE: u64 = 64;
const SAMPLE_BYTES: u64 = 32 << 20;
/// Bytes moved between two clock reads, and the most records.
const LOOK_BYTES: u64 = 256 << 10;
const LOOK_RECORDS: u64 = 64;

pub struct Pass {
    pub file: File,
    pub writes: bool,
    /// Whether a flush, which is part of the time, ends the pass.
    pub flush: bool,
    /// Whether to drop the page cache first, so that the data read back come from the device if possible.
    pub drop_before_verify: bool,
    pub walk: Walk,
    pub buffer: MemoryMap,
    /// The original content of the file, and the content that writes replace it with.
    pub filled: Pattern,
    pub written: Pattern,
    /// The longest time of a pass, which may also end halfway to its trial's deadline, as a flush and a check follow.
    pub most_ns: u64,
    pub deadline_ns: u64,
    /// The share of the file in the page cache at the start; `None` for an empty file or if it is unknown.
    pub resident: Option<f64>,
    pub done: u64,
    /// The offset of the last moved record, bytes.
    pub last: u64,
    /// Whether the time was up before the end.
    pub cut: bool,
    pub verified: u64,
}

impl Pass {
    /// Touches the buffer; a writer's buffer holds the data from now on.
    pub fn ready(mut self) -> Pass {
        self.written.write(0, self.buffer.as_slice());
        self
    }

    fn record_bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    #[inline]
    fn transfer(&mut self, offset: u64) -> Result<(), Fault> {
        let buffer = self.buffer.as_slice();
        let moved = if self.writes {
            self.written.stamp(offset, buffer);
            self.file.write_at(buffer, offset)
        } else {
            self.file.read_at(buffer, offset)
        };
        let moved = moved.or_fault("the file system refused an operation", NEXT)?;
        if moved != buffer.len() {
            let what = format!("{moved} B moved in place of a record of {} B", buffer.len());
            return Err(Fault::failed(what, "free some space, or look at the kernel log"));
        }
        let first = buffer.first_chunk::<8>().map(|word| u64::from_le_bytes(*word));
        if !self.writes && first != Some(self.filled.word(offset / 8)) {
            return Err(wrong_data(offset));
        }
        Ok(())
    }

    /// Returns some of the visited records, evenly chosen, and the last one.
    fn sample(&mut self) -> Vec<u64> {
        let count = SAMPLE.min(SAMPLE_BYTES.div_ceil(self.record_bytes())).max(2);
        let every = self.done.div_ceil(count).max(1);
        self.walk.again();
        let visited = (0..self.done).map_while(|_| self.walk.next()).zip(1_u64..);
        let chosen = visited.filter(|&(_, at)| at.is_multiple_of(every) || at == self.done);
        let mut chosen: Vec<u64> = chosen.map(|(record, _)| record).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    /// Reads written records back and compares them completely.
    fn read_back(&mut self, expected: &mut [u8]) -> Result<(), Fault> {
        if self.drop_before_verify {
            self.file.sync_all().or_fault("the file system refused to flush", NEXT)?;
            scratch::drop_cache(&self.file);
        }
        self.written.write(0, expected);
        for record in self.sample() {
            let offset = record * self.record_bytes();
            self.written.stamp(offset, expected);
            let read = self.file.read_exact_at(self.buffer.as_slice(), offset);
            read.or_fault("cannot read back what was written", NEXT)?;
            if self.buffer.as_slice() != expected {
                return Err(wrong_data(offset));
            }
            self.verified += 1;
        }
        Ok(())
    }
}

impl Task for Pass {
    const ROAMS: bool = true;

    fn run(&mut self) -> Result<(), Fault> {
        let record_bytes = self.record_bytes();
        let look = (LOOK_BYTES / record_bytes).clamp(1, LOOK_RECORDS);
        let start = now_ns();
        let until = start + self.most_ns.min(self.deadline_ns.saturating_sub(start) / 2);
        while let Some(record) = self.walk.next() {
            self.last = record * record_bytes;
            self.transfer(self.last)?;
            self.done += 1;
            if self.done.is_multiple_of(look) && now_ns() >= until {
                self.cut = self.walk.left() > 0;
                break;
            }
        }
        if self.flush {
            self.file.sync_all().or_fault("the file system refused to flush", NEXT)?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        let mut expected = MemoryMap::new(self.buffer.len(), Pages::Base)?;
        let expected = expected.as_slice();
        if self.writes {
            return self.read_back(expected);
        }
        self.filled.write(self.last, expected);
        if self.buffer.as_slice() != expected {
            return Err(wrong_data(self.last));
        }
        self.verified = self.done; // a word of each, and the last one completely
        Ok(())
    }
}

fn wrong_data(offset: u64) -> Fault {
    Fault::invalid(format!("wrong data at offset {offset}"), "do not trust this disk; look at the kernel log")
}
