//! The file copies: a file is written repeatedly, then read, then copied in blocks; the copying is the score.
//!
//! The page cache holds all data. As in the original, writing and reading come first and each take a fifteenth of the
//! copy's time; both files are flushed before each phase, without the original's sleeps. Each block begins with its
//! number, so that a block copied to the wrong place is detected.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{Read, Seek, Write};

use super::process::{again, alarm, since};
use super::score::Report;
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};

/// The most disk space of a copy: two files of 8000 KiB, and a little for a shell's.
pub const MOST_BYTES: usize = 2 * 8000 * 1024 + 1_000_000;

/// Copies `kib` KiB in blocks of `block_bytes`; the count of the report is in KiB per second.
pub fn copy(length_s: f64, block_bytes: usize, kib: usize) -> Result<Report, Fault> {
    let names = ["from", "to"].map(|name| format!("{name}-{}", std::process::id()));
    let result = (|| {
        let mut files = Files { from: open(&names[0])?, to: open(&names[1])?, block: vec![0; block_bytes] };
        let blocks = kib * 1024 / block_bytes;
        files.fill(length_s / 15.0, blocks)?;
        files.read(length_s / 15.0)?;
        let (report, copied) = files.copy(length_s)?;
        files.verify(copied.min(blocks as u64))?;
        Ok(report)
    })();
    names.iter().for_each(|name| drop(remove_file(name)));
    result
}

struct Files {
    from: File,
    to: File,
    block: Vec<u8>,
}

impl Files {
    /// Writes the whole file repeatedly.
    fn fill(&mut self, length_s: f64, blocks: usize) -> Result<(), Fault> {
        self.block.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
        self.flush()?;
        alarm(length_s)?;
        let mut files = 0;
        while again(files) {
            for number in 0..blocks as u64 {
                self.block[..8].copy_from_slice(&number.to_ne_bytes());
                let wrote = self.from.write(&self.block).or_fault("cannot write", NEXT)?;
                whole(wrote, self.block.len())?;
            }
            self.from.rewind().or_fault("cannot seek", NEXT)?;
            files += 1;
        }
        Ok(())
    }

    fn read(&mut self, length_s: f64) -> Result<(), Fault> {
        self.flush()?;
        alarm(length_s)?;
        let mut blocks = 0;
        while again(blocks) {
            match self.from.read(&mut self.block).or_fault("cannot read", NEXT)? {
                0 => self.from.rewind().or_fault("cannot seek", NEXT)?,
                _ => blocks += 1,
            }
        }
        self.from.rewind().or_fault("cannot seek", NEXT)
    }

    /// Returns KiB per second, and the number of blocks.
    fn copy(&mut self, length_s: f64) -> Result<(Report, u64), Fault> {
        self.flush()?;
        let mut blocks = 0;
        alarm(length_s)?;
        let start_ns = now_ns();
        while again(blocks) {
            if self.from.read(&mut self.block).or_fault("cannot read", NEXT)? == self.block.len() {
                let wrote = self.to.write(&self.block).or_fault("cannot write", NEXT)?;
                whole(wrote, self.block.len())?;
                blocks += 1;
            } else {
                self.from.rewind().and_then(|()| self.to.rewind()).or_fault("cannot seek", NEXT)?;
            }
        }
        let report = since(start_ns, blocks);
        let kib = blocks as f64 * self.block.len() as f64 / 1024.0;
        Ok((Report { count: kib / report.elapsed_s, ..report }, blocks))
    }

    /// Checks the known answer: `blocks` blocks of the copy match the first file, each in its place.
    fn verify(&mut self, blocks: u64) -> Result<(), Fault> {
        self.from.rewind().and_then(|()| self.to.rewind()).or_fault("cannot seek", NEXT)?;
        let mut copied = vec![0; self.block.len()];
        for number in 0..blocks {
            let read = self.from.read_exact(&mut self.block).and_then(|()| self.to.read_exact(&mut copied));
            read.or_fault("cannot read the copy", NEXT)?;
            if self.block != copied || copied[..8] != number.to_ne_bytes() {
                return Err(Fault::invalid(format!("block {number} of the copy is wrong"), "do not trust this disk"));
            }
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), Fault> {
        self.from.sync_all().and_then(|()| self.to.sync_all()).or_fault("cannot flush", NEXT)
    }
}

const NEXT: &str = "see that the disk has room and works";

fn open(name: &str) -> Result<File, Fault> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options.open(name).or_fault("cannot make a file", NEXT)
}

fn whole(did: usize, bytes: usize) -> Result<(), Fault> {
    let what = || format!("{did} of {bytes} bytes were written");
    if did == bytes { Ok(()) } else { Err(Fault::failed(what(), NEXT)) }
}
