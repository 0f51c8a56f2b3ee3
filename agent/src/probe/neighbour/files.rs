//! Loads of the disk: large reads, large writes, both in turn, and small files.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::fault::{Fault, OrFault};
use crate::memory_map::{MemoryMap, Pages};
use crate::pace::Work;
use crate::rng::Rng;
use crate::scratch::{self, Pattern};

/// The bytes of a step.
const STEP_BYTES: usize = 1 << 20;
/// Steps through a file before it begins again: Delgado's neighbour moves files of 50 MB.
const STEPS: u64 = 50;
/// Sizes of small files, as in Delgado's Postmark.
const SMALL_BYTES: (u64, u64) = (1 << 10, 20 << 10);
const NEXT: &str = "name a directory with room that you may write to";

/// A file of known random data without a name, and a buffer for a step.
struct Large {
    file: File,
    buffer: MemoryMap,
    pattern: Pattern,
    step: u64,
}

impl Large {
    /// A filled file; past the page cache if `direct` and the file system allow it.
    fn new(dir: &Path, seed: u64, direct: bool) -> Result<Large, Fault> {
        let base = scratch::open(dir, 0).or_fault(format!("cannot create a file in {}", dir.display()), NEXT)?;
        let pattern = Pattern::new(seed);
        scratch::fill(&base, STEPS * STEP_BYTES as u64, &pattern)?;
        scratch::drop_cache(&base);
        let past = direct.then(|| scratch::reopen(&base, libc::O_DIRECT).ok()).flatten();
        let mut buffer = MemoryMap::new(STEP_BYTES, Pages::Base)?;
        pattern.write(0, buffer.as_slice());
        Ok(Large { file: past.unwrap_or(base), buffer, pattern, step: 0 })
    }

    /// The place of the next step, and whether it is the last of a walk through the file.
    fn next(&mut self) -> (u64, bool) {
        let place = self.step * STEP_BYTES as u64;
        self.step = (self.step + 1) % STEPS;
        (place, self.step == 0)
    }

    fn read(&mut self) -> Result<(), Fault> {
        let (place, last) = self.next();
        self.file.read_exact_at(self.buffer.as_slice(), place).or_fault("cannot read the load's file", NEXT)?;
        if last {
            scratch::drop_cache(&self.file);
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Fault> {
        let (place, last) = self.next();
        self.pattern.stamp(place, self.buffer.as_slice());
        self.file.write_all_at(self.buffer.as_slice(), place).or_fault("cannot write the load's file", NEXT)?;
        if last {
            self.file.sync_data().or_fault("cannot flush the load's file", NEXT)?;
            scratch::drop_cache(&self.file);
        }
        Ok(())
    }
}

/// Reads a file from its beginning to its end, again and again, past the page cache.
pub struct DiskRead(Large);

impl DiskRead {
    pub fn new(dir: &Path, seed: u64) -> Result<DiskRead, Fault> {
        Large::new(dir, seed, true).map(DiskRead)
    }
}

impl Work for DiskRead {
    const ROAMS: bool = true;

    fn batch(&mut self) -> Result<f64, Fault> {
        self.0.read().map(|()| 1.0)
    }
}

/// Writes a file in the same way.
pub struct DiskWrite(Large);

impl DiskWrite {
    pub fn new(dir: &Path, seed: u64) -> Result<DiskWrite, Fault> {
        Large::new(dir, seed, true).map(DiskWrite)
    }
}

impl Work for DiskWrite {
    const ROAMS: bool = true;

    fn batch(&mut self) -> Result<f64, Fault> {
        self.0.write().map(|()| 1.0)
    }
}

/// Writes 50 MiB, flushes them and drops them from the page cache, then reads 50 MiB and drops those: Delgado, 2010,
/// section 3.5.3.
pub struct Mixed {
    written: Large,
    read: Large,
    writes: bool,
}

impl Mixed {
    pub fn new(dir: &Path, seed: u64) -> Result<Mixed, Fault> {
        Ok(Mixed { written: Large::new(dir, seed, false)?, read: Large::new(dir, !seed, false)?, writes: true })
    }
}

impl Work for Mixed {
    const ROAMS: bool = true;

    fn batch(&mut self) -> Result<f64, Fault> {
        let part = if self.writes { &mut self.written } else { &mut self.read };
        if self.writes {
            part.write()?
        } else {
            part.read()?
        }
        if part.step == 0 {
            self.writes = !self.writes;
        }
        Ok(1.0)
    }
}

/// Creates a small file, flushes it, reads it and removes it.
pub struct SmallFiles {
    path: PathBuf,
    random: Rng,
    text: Vec<u8>,
}

impl SmallFiles {
    pub fn new(folder: &Path, thread: usize, seed: u64) -> Result<SmallFiles, Fault> {
        let mut text = vec![0; SMALL_BYTES.1 as usize];
        Pattern::new(seed).write(0, &mut text);
        Ok(SmallFiles { path: folder.join(thread.to_string()), random: Rng::new(seed, 0), text })
    }

    fn once(&mut self) -> std::io::Result<()> {
        let length = SMALL_BYTES.0 + self.random.below(SMALL_BYTES.1 - SMALL_BYTES.0 + 1);
        let mut file = File::create_new(&self.path)?;
        file.write_all(&self.text[..length as usize])?;
        file.sync_all()?;
        File::open(&self.path)?.read_exact(&mut self.text[..length as usize])?;
        std::fs::remove_file(&self.path)
    }
}

impl Work for SmallFiles {
    const ROAMS: bool = true;

    fn batch(&mut self) -> Result<f64, Fault> {
        self.once().or_fault("cannot make a small file", NEXT).map(|()| 1.0)
    }
}
