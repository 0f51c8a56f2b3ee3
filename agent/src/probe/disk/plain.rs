//! One operation at a time: preadv2 and pwritev2.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::blocks::Blocks;
use super::{Task, Worker};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault, check};
use crate::memory_map::MemoryMap;
use crate::pace::Work;
use crate::record::Recorder;
use crate::scratch;

pub struct Plain {
    file: File,
    write: bool,
    sync: bool,
    blocks: Blocks,
    buffer: MemoryMap,
    recorder: Recorder,
}

impl Plain {
    pub fn new(task: &Task, blocks: Blocks) -> Result<Plain, Fault> {
        let file = scratch::duplicate(&task.file)?;
        let buffer = blocks.buffer()?;
        Ok(Plain { file, write: task.write, sync: task.sync, blocks, buffer, recorder: Recorder::new() })
    }

    #[inline]
    fn transfer(&mut self, offset: u64) -> std::io::Result<i64> {
        let part = libc::iovec { iov_base: self.buffer.as_ptr().cast(), iov_len: self.buffer.len() };
        let fd = self.file.as_raw_fd();
        let moved = unsafe {
            match self.write {
                true => libc::pwritev2(fd, &part, 1, offset as i64, 0),
                false => libc::preadv2(fd, &part, 1, offset as i64, 0),
            }
        };
        if self.sync && moved >= 0 {
            check(unsafe { libc::fdatasync(fd) }.into())?;
        }
        check(moved as i64)
    }
}

impl Work for Plain {
    const ROAMS: bool = true;

    fn batch(&mut self) -> Result<f64, Fault> {
        let offset = self.blocks.next_offset();
        if self.write {
            self.blocks.stamp(offset, self.buffer.as_slice());
        }
        let start = now_ns();
        let moved = self.transfer(offset);
        let end = now_ns();
        let moved = moved.or_fault("the disk refused an operation", "look at the kernel log")?;
        if moved as usize != self.buffer.len() {
            return Err(Fault::failed(format!("{moved} B moved in place of a block"), "look at the kernel log"));
        }
        self.recorder.record_ns(end - start);
        if !self.write {
            self.blocks.check(offset, self.buffer.as_slice())?;
        }
        Ok(1.0)
    }
}

impl Worker for Plain {
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn blocks(&self) -> &Blocks {
        &self.blocks
    }
}
