//! Many operations in flight from one thread: io_uring.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue, types};

use super::blocks::Blocks;
use super::{Task, Worker};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};
use crate::memory_map::MemoryMap;
use crate::pace::Work;
use crate::record::Recorder;
use crate::scratch;

const NEXT: &str = "look at the kernel log, or use engine=preadv2";
/// Marks the write of a write-and-sync pair; the pair ends with its sync.
const FIRST_OF_TWO: u64 = 1 << 63;
/// Completions that are taken before their slots are submitted again. If all completions of a queue were processed
/// first, the device would idle meanwhile; one submission per completion would cost one system call each.
const AT_ONCE: usize = 4;

/// Whether the kernel lets this process set up a ring.
pub fn available() -> io::Result<()> {
    IoUring::new(2).map(drop)
}

#[derive(Clone, Copy, Default)]
struct Slot {
    offset: u64,
    start_ns: u64,
}

pub struct Ring {
    ring: IoUring,
    _file: File,
    write: bool,
    sync: bool,
    /// Whether buffers are registered with the kernel, which avoids pinning pages for each operation.
    fixed: bool,
    blocks: Blocks,
    buffers: MemoryMap,
    block_bytes: usize,
    slots: Vec<Slot>,
    /// Slots to submit next.
    idle: Vec<u16>,
    in_flight: usize,
    recorder: Recorder,
}

impl Ring {
    pub fn new(task: &Task, blocks: Blocks) -> Result<Ring, Fault> {
        let file = scratch::duplicate(&task.file)?;
        let ring = build(2 * task.depth as u32).or_fault("cannot set up io_uring", NEXT)?;
        ring.submitter().register_files(&[file.as_raw_fd()]).or_fault("cannot register a file", NEXT)?;
        let buffers = blocks.buffers(task.depth)?;
        let whole = libc::iovec { iov_base: buffers.as_ptr().cast(), iov_len: buffers.len() };
        // Refused above the limit of locked memory; plain buffers work then.
        let fixed = unsafe { ring.submitter().register_buffers(&[whole]) }.is_ok();
        let idle = (0..task.depth as u16).collect();
        Ok(Ring {
            ring,
            _file: file,
            write: task.write,
            sync: task.sync,
            fixed,
            blocks,
            buffers,
            block_bytes: task.block_bytes,
            slots: vec![Slot::default(); task.depth],
            idle,
            in_flight: 0,
            recorder: Recorder::new(),
        })
    }

    /// Queues an operation for every idle slot.
    fn refill(&mut self) -> Result<(), Fault> {
        let start_ns = now_ns();
        for &index in &self.idle {
            let offset = self.blocks.next_offset();
            self.slots[index as usize] = Slot { offset, start_ns };
            let buffer = Blocks::nth(&mut self.buffers, index.into(), self.block_bytes);
            if self.write {
                self.blocks.stamp(offset, buffer);
            }
            let entry = entry(buffer, offset, self.write, self.fixed);
            let mut queue = self.ring.submission();
            let pushed = if self.sync {
                let first = entry.flags(squeue::Flags::IO_LINK).user_data(FIRST_OF_TWO | u64::from(index));
                let sync = opcode::Fsync::new(types::Fixed(0)).flags(types::FsyncFlags::DATASYNC).build();
                unsafe { queue.push_multiple(&[first, sync.user_data(index.into())]) }
            } else {
                unsafe { queue.push(&entry.user_data(index.into())) }
            };
            pushed.or_fault("the ring is full", NEXT)?;
            self.in_flight += 1;
        }
        self.idle.clear();
        Ok(())
    }

    /// Waits for the operations in flight, uncounted; only the thread that built the ring may do so.
    fn drain(&mut self) -> io::Result<()> {
        while self.in_flight > 0 {
            self.ring.submit_and_wait(1)?;
            let last = |done: &io_uring::cqueue::Entry| done.user_data() & FIRST_OF_TWO == 0;
            self.in_flight -= self.ring.completion().filter(last).count();
        }
        Ok(())
    }

    /// Takes some of the completions; returns the number of operations.
    fn reap(&mut self) -> Result<f64, Fault> {
        let now = now_ns();
        let mut done = 0.0;
        for completion in self.ring.completion().take(AT_ONCE) {
            let first = completion.user_data() & FIRST_OF_TWO != 0;
            let index = (completion.user_data() & !FIRST_OF_TWO) as u16;
            self.in_flight -= usize::from(!first);
            let expected = if self.sync && !first { 0 } else { self.block_bytes as i32 };
            if completion.result() != expected {
                return Err(refused(completion.result(), expected));
            }
            if first {
                continue;
            }
            let slot = self.slots[index as usize];
            self.recorder.record_ns(now - slot.start_ns);
            if !self.write {
                self.blocks.check(slot.offset, Blocks::nth(&mut self.buffers, index.into(), self.block_bytes))?;
            }
            self.idle.push(index);
            done += 1.0;
        }
        Ok(done)
    }
}

/// Builds a ring with the newest flags that the kernel accepts: only this thread handles completions, on request.
fn build(entries: u32) -> io::Result<IoUring> {
    let lean = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    lean.or_else(|_| IoUring::new(entries))
}

fn entry(buffer: &mut [u8], offset: u64, write: bool, fixed: bool) -> squeue::Entry {
    let (file, start, length) = (types::Fixed(0), buffer.as_mut_ptr(), buffer.len() as u32);
    match (write, fixed) {
        (true, true) => opcode::WriteFixed::new(file, start, length, 0).offset(offset).build(),
        (true, false) => opcode::Write::new(file, start, length).offset(offset).build(),
        (false, true) => opcode::ReadFixed::new(file, start, length, 0).offset(offset).build(),
        (false, false) => opcode::Read::new(file, start, length).offset(offset).build(),
    }
}

fn refused(result: i32, expected: i32) -> Fault {
    if result < 0 {
        let error = io::Error::from_raw_os_error(-result);
        return Fault::failed(format!("the disk refused an operation: {error}"), NEXT);
    }
    Fault::failed(format!("{result} B moved in place of {expected}"), NEXT)
}

impl Work for Ring {
    const ROAMS: bool = true;

    fn batch(&mut self) -> Result<f64, Fault> {
        self.refill()?;
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => break,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => return Err(Fault::failed(format!("io_uring: {error}"), NEXT)),
            }
        }
        self.reap()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.drain().or_fault("io_uring", NEXT)
    }
}

impl Drop for Ring {
    /// The kernel must not write to freed buffers. After `finish` nothing is left to wait for.
    fn drop(&mut self) {
        let _ = self.drain();
    }
}

impl Worker for Ring {
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn blocks(&self) -> &Blocks {
        &self.blocks
    }
}
