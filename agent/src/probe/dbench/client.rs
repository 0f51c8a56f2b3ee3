//! A client: replays the steps repeatedly, and counts the operations that end in the measured time.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::files::{Durability, Files, close};
use super::load::{Call, Load, Step};
use super::ops::{Expect, KINDS};
use super::words;
use crate::clock::now_ns;
use crate::fault::Fault;

pub const WARM_UP: u8 = 0;
pub const MEASURE: u8 = 1;
pub const END: u8 = 2;
const NO_FILE: i32 = -1;
/// A sleeping client checks at this interval whether the end has come.
const NAP_NS: u64 = 20_000_000;

/// The state shared by all clients.
pub struct Shared<'a> {
    pub load: &'a Load,
    /// The data to write, which no device can compress.
    pub data: &'a [u8],
    pub phase: AtomicU8,
    /// The number of clients that have read or written something.
    pub moving: AtomicUsize,
}

/// Counts of the operations that ended in the measured time.
#[derive(Clone, Default)]
pub struct Tally {
    pub count: [u64; KINDS.len()],
    pub total_ns: [u64; KINDS.len()],
    pub longest_ns: [u64; KINDS.len()],
    pub bytes: u64,
}

impl Tally {
    #[inline]
    fn add(&mut self, kind: usize, ns: u64, moved: u64) {
        self.count[kind] += 1;
        self.total_ns[kind] += ns;
        self.longest_ns[kind] = self.longest_ns[kind].max(ns);
        self.bytes += moved;
    }

    pub fn merge(&mut self, other: &Tally) {
        for kind in 0..KINDS.len() {
            self.count[kind] += other.count[kind];
            self.total_ns[kind] += other.total_ns[kind];
            self.longest_ns[kind] = self.longest_ns[kind].max(other.longest_ns[kind]);
        }
        self.bytes += other.bytes;
    }
}

/// The progress of a client: whole replays, and steps of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub replays: u64,
    pub steps: usize,
}

pub struct Client<'a> {
    shared: &'a Shared<'a>,
    files: Files,
    slots: Vec<i32>,
    buffer: Vec<u8>,
    pub tally: Tally,
    pub place: Place,
}

impl<'a> Client<'a> {
    pub fn new(shared: &'a Shared<'a>, root: i32, durability: Durability) -> Client<'a> {
        Client {
            shared,
            files: Files::new(root, durability),
            slots: vec![NO_FILE; shared.load.slots],
            buffer: vec![0; shared.load.largest_read],
            tally: Tally::default(),
            place: Place { replays: 0, steps: 0 },
        }
    }

    /// Replays until the end. An operation belongs to the measured time if it ends in it.
    ///
    /// Before each operation, outside its measured time, a client parses the operation's line again and checks that
    /// its parent lives, as a client of dbench does: without this, the rate on files in memory was a fifth above
    /// dbench's.
    pub fn replay(&mut self) -> Result<(), Fault> {
        let (shared, mut moving) = (self.shared, false);
        loop {
            let start = now_ns();
            let mut last = start;
            for (done, step) in shared.load.steps.iter().enumerate() {
                if step.due_ns > last - start {
                    self.sleep_until(start + step.due_ns);
                }
                black_box(words::read_again(black_box(shared.load.line(step))));
                unsafe { libc::kill(libc::getppid(), 0) };
                last = now_ns();
                let moved = self.step(step)?;
                let now = now_ns();
                match shared.phase.load(Relaxed) {
                    WARM_UP if moved > 0 && !moving => {
                        moving = true;
                        shared.moving.fetch_add(1, Relaxed);
                    }
                    WARM_UP => (),
                    MEASURE => self.tally.add(step.kind as usize, now - last, moved),
                    _ => {
                        self.place.steps = done + 1;
                        return Ok(());
                    }
                }
                last = now;
            }
            self.close_all();
            self.place.replays += 1;
        }
    }

    fn sleep_until(&self, due_ns: u64) {
        while self.shared.phase.load(Relaxed) != END
            && let left @ 1.. = due_ns.saturating_sub(now_ns())
        {
            thread::sleep(Duration::from_nanos(left.min(NAP_NS)));
        }
    }

    pub fn close_all(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| **slot != NO_FILE) {
            let _ = close(std::mem::replace(slot, NO_FILE)); // a loadfile may leave handles open
        }
    }

    /// Executes one step; returns the bytes read or written.
    #[inline]
    fn step(&mut self, step: &Step) -> Result<u64, Fault> {
        match (self.call(&step.call), step.expect) {
            (Ok(moved), Expect::Ok | Expect::Any) => Ok(moved),
            (Err(error), Expect::Fails | Expect::Any) if of_the_load(&error) => Ok(0),
            (result, expect) => Err(self.unexpected(step, &result, expect)),
        }
    }

    fn call(&mut self, call: &Call) -> io::Result<u64> {
        let names = &self.shared.load.names;
        let name = |path: u32| &names[path as usize];
        let fd = |slot: u16| self.slots[slot as usize];
        match *call {
            Call::Open { path, slot, how } => {
                let opened = self.files.open(name(path), how)?;
                match self.slots.get_mut(slot as usize) {
                    Some(free) if *free == NO_FILE => *free = opened,
                    _ => close(opened)?,
                }
                Ok(0)
            }
            Call::Close { slot } => close(std::mem::replace(&mut self.slots[slot as usize], NO_FILE)).map(|()| 0),
            Call::Rename { from, to } => self.files.rename(name(from), name(to)).map(|()| 0),
            Call::Unlink { path } => self.files.unlink(name(path)).map(|()| 0),
            Call::Deltree { path } => self.files.deltree(name(path)).map(|()| 0),
            Call::Mkdir { path } => self.files.mkdir(name(path)).map(|()| 0),
            Call::Rmdir { path } => self.files.rmdir(name(path)).map(|()| 0),
            Call::PathInfo { path } => self.files.path_info(name(path)).map(|()| 0),
            Call::FileInfo { slot } => self.files.look_at(fd(slot)).map(|()| 0),
            Call::FsInfo => self.files.fs_info().map(|()| 0),
            Call::SetInfo { slot } => self.files.set_info(fd(slot)).map(|()| 0),
            Call::Find { path, most } => {
                self.files.find(name(path), most);
                Ok(0)
            }
            Call::Write { slot, bytes, moved, offset } => {
                let data = &self.shared.data[..bytes as usize];
                self.files.write(fd(slot), data, offset).and_then(all_of(moved))
            }
            Call::Read { slot, bytes, moved, offset } => {
                let fd = fd(slot);
                self.files.read(fd, &mut self.buffer[..bytes as usize], offset).and_then(all_of(moved))
            }
            Call::Lock { slot, bytes, offset, held } => self.files.lock(fd(slot), offset, bytes, held).map(|()| 0),
            Call::Flush { slot } => self.files.flush(fd(slot)).map(|()| 0),
        }
    }

    /// Returns the fault of a step whose end does not match the loadfile.
    #[cold]
    fn unexpected(&self, step: &Step, result: &io::Result<u64>, expect: Expect) -> Fault {
        let (_, name, _) = KINDS[step.kind as usize];
        let error = match result {
            Ok(_) => return words::fault(step.line, format!("{name} succeeded where the loadfile has a failure")),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => {
                let next = "free some space, use fewer clients, or name another directory";
                Fault::failed(format!("{name} of loadfile line {}: no space: {error}", step.line), next)
            }
            Some(libc::EMFILE | libc::ENFILE) => {
                let next = "raise the limit of open files (ulimit -n), or use fewer clients";
                Fault::failed(format!("{name} of loadfile line {}: {error}", step.line), next)
            }
            None if matches!(step.call, Call::Write { .. }) => {
                let next = "free some space, raise the limit of a file's size (ulimit -f), or name another directory";
                Fault::failed(format!("{name} of loadfile line {}: {error}", step.line), next)
            }
            _ => words::fault(step.line, format!("{name} failed, {} was expected: {error}", expected(expect))),
        }
    }
}

fn expected(expect: Expect) -> &'static str {
    if expect == Expect::Ok { "success" } else { "another failure" }
}

/// Whether an error concerns the files that a load created, not a failing disk.
fn of_the_load(error: &io::Error) -> bool {
    let trouble = [libc::ENOSPC, libc::EDQUOT, libc::EIO, libc::EROFS, libc::EMFILE, libc::ENFILE, libc::ENOMEM];
    !error.raw_os_error().is_some_and(|number| trouble.contains(&number))
}

/// Refuses a transfer whose size differs from the loadfile's.
fn all_of(expected: u32) -> impl Fn(u64) -> io::Result<u64> {
    move |moved| {
        if moved == u64::from(expected) {
            return Ok(moved);
        }
        Err(io::Error::other(format!("{moved} of {expected} B were moved")))
    }
}
