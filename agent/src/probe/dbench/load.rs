//! A loadfile as steps: paths split, handles mapped to slots, and lines checked before the first operation runs.
//!
//! One operation per line: `NAME arguments status`, with paths in quotes with backslashes; optionally preceded by the
//! second since the start of the replay at which it is due. Empty lines and lines that begin with `#` are ignored. The
//! arguments are those of the SMB requests with the same names ([MS-CIFS], sections 2.2.4 to 2.2.8).

use std::collections::HashMap;
use std::ffi::CString;

use super::ops::{Expect, KINDS, Kind};
use super::words::{Words, fault};
use crate::fault::Fault;

const MOST_STEPS: usize = 8_000_000;
const MOST_PATHS: usize = 100_000;
pub const MOST_DEPTH: usize = 32;
const MOST_HANDLES: usize = 1024;
const MOST_BYTES: u64 = 16 << 20;
const MOST_OFFSET: u64 = 1 << 40;

/// The create options and the create disposition of an `NTCreateX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    pub directory: bool,
    pub either: bool,
    pub create: bool,
    pub truncate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Open { path: u32, slot: u16, how: How },
    Close { slot: u16 },
    Rename { from: u32, to: u32 },
    Unlink { path: u32 },
    Deltree { path: u32 },
    Mkdir { path: u32 },
    Rmdir { path: u32 },
    PathInfo { path: u32 },
    FileInfo { slot: u16 },
    FsInfo,
    SetInfo { slot: u16 },
    Find { path: u32, most: u32 },
    Write { slot: u16, bytes: u32, moved: u32, offset: u64 },
    Read { slot: u16, bytes: u32, moved: u32, offset: u64 },
    Lock { slot: u16, bytes: u32, offset: u64, held: bool },
    Flush { slot: u16 },
}

/// One operation: its line, its due time (0: at once), its expected end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub call: Call,
    pub due_ns: u64,
    pub line: u32,
    /// The start of the line in the text, and its length, bytes.
    pub text: (u32, u16),
    pub kind: Kind,
    pub expect: Expect,
}

/// A path below a client's own folder, and its parent and last part.
#[derive(Debug)]
pub struct Name {
    pub full: CString,
    pub parent: CString,
    pub leaf: Vec<u8>,
    /// A pattern of file names, which only `FIND_FIRST` expands.
    pub wild: bool,
}

#[derive(Debug, Default)]
pub struct Load {
    pub steps: Vec<Step>,
    pub names: Vec<Name>,
    /// The loadfile itself, which a client parses again during a replay.
    pub text: Vec<u8>,
    /// The maximum number of files open at once.
    pub slots: usize,
    pub largest_read: usize,
    pub largest_write: usize,
}

impl Load {
    /// Returns the line of a step.
    pub fn line(&self, step: &Step) -> &[u8] {
        let (begin, length) = (step.text.0 as usize, step.text.1 as usize);
        &self.text[begin..begin + length]
    }
}

/// Parses a loadfile; a fault names the line.
pub fn parse(text: &[u8]) -> Result<Load, Fault> {
    let mut reader = Reader::default();
    let mut begin = 0;
    for (i, line) in text.split(|&byte| byte == b'\n').enumerate() {
        (reader.line, reader.begin) = (i as u32 + 1, begin as u32);
        begin += line.len() + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let step = reader.step(line)?;
        reader.load.steps.push(step);
        if reader.load.steps.len() > MOST_STEPS {
            return Err(fault(reader.line, format!("more than {MOST_STEPS} operations")));
        }
    }
    if reader.load.largest_read.max(reader.load.largest_write) == 0 {
        return Err(fault(reader.line, "the end, and nothing was read or written"));
    }
    reader.load.text = text.to_vec();
    Ok(reader.load)
}

#[derive(Default)]
struct Reader {
    line: u32,
    /// The start of the line in the text.
    begin: u32,
    load: Load,
    paths: HashMap<Vec<u8>, u32>,
    /// Handles that are open at this line, and the free slots.
    held: HashMap<u64, u16>,
    free: Vec<u16>,
}

impl Reader {
    fn step(&mut self, line: &[u8]) -> Result<Step, Fault> {
        let mut words = Words::new(line, self.line)?;
        let due_ns = words.time()?;
        let name = words.word("an operation")?;
        let Some(&(kind, ..)) = KINDS.iter().find(|(_, known, _)| known.as_bytes() == name) else {
            return Err(words.wrong("is no operation of a loadfile", name));
        };
        let call = self.call(kind, &mut words)?;
        let status = words.status()?;
        words.end()?;
        // The matches of a pattern are not checked, and an existing folder is fine.
        let loose = kind == Kind::Find || kind == Kind::Mkdir && status == Expect::Fails;
        let expect = if loose { Expect::Any } else { status };
        Ok(Step { call, due_ns, line: self.line, text: (self.begin, line.len() as u16), kind, expect })
    }

    fn call(&mut self, kind: Kind, words: &mut Words) -> Result<Call, Fault> {
        Ok(match kind {
            Kind::NtCreateX => {
                let path = self.path(words)?;
                let how = how(words)?;
                Call::Open { path, slot: self.open(words)?, how }
            }
            Kind::Close => Call::Close { slot: self.close(words)? },
            Kind::Rename => Call::Rename { from: self.path(words)?, to: self.path(words)? },
            Kind::Unlink => {
                let path = self.path(words)?;
                words.number("attributes", u64::from(u32::MAX))?;
                Call::Unlink { path }
            }
            Kind::Deltree => Call::Deltree { path: self.path(words)? },
            Kind::Mkdir => Call::Mkdir { path: self.path(words)? },
            Kind::Rmdir => Call::Rmdir { path: self.path(words)? },
            Kind::QPathInfo => {
                let path = self.path(words)?;
                words.level()?;
                Call::PathInfo { path }
            }
            Kind::QFileInfo => {
                let slot = self.slot(words)?;
                words.level()?;
                Call::FileInfo { slot }
            }
            Kind::QFsInfo => {
                words.level()?;
                Call::FsInfo
            }
            Kind::SFileInfo => {
                let slot = self.slot(words)?;
                words.level()?;
                Call::SetInfo { slot }
            }
            Kind::Find => {
                let path = self.path(words)?;
                words.level()?;
                let most = words.number("the most entries", u64::from(u32::MAX))? as u32;
                words.number("the entries found", u64::from(u32::MAX))?;
                Call::Find { path, most }
            }
            Kind::WriteX => {
                let (slot, offset, bytes, moved) = self.transfer(words)?;
                self.load.largest_write = self.load.largest_write.max(bytes as usize);
                Call::Write { slot, bytes, moved, offset }
            }
            Kind::ReadX => {
                let (slot, offset, bytes, moved) = self.transfer(words)?;
                self.load.largest_read = self.load.largest_read.max(bytes as usize);
                Call::Read { slot, bytes, moved, offset }
            }
            Kind::LockX | Kind::UnlockX => {
                let slot = self.slot(words)?;
                let offset = words.number("an offset", MOST_OFFSET)?;
                let bytes = words.number("a length", u64::from(u32::MAX))? as u32;
                Call::Lock { slot, bytes, offset, held: kind == Kind::LockX }
            }
            Kind::Flush => Call::Flush { slot: self.slot(words)? },
        })
    }

    fn transfer(&mut self, words: &mut Words) -> Result<(u16, u64, u32, u32), Fault> {
        let slot = self.slot(words)?;
        let offset = words.number("an offset", MOST_OFFSET)?;
        let bytes = words.number("a size", MOST_BYTES)? as u32;
        let moved = words.number("the bytes moved", u64::from(bytes))? as u32;
        Ok((slot, offset, bytes, moved))
    }

    fn path(&mut self, words: &mut Words) -> Result<u32, Fault> {
        let parts = words.path()?;
        let key = parts.join(&b'/');
        if let Some(&known) = self.paths.get(&key) {
            return Ok(known);
        }
        if self.paths.len() == MOST_PATHS || parts.len() > MOST_DEPTH {
            return Err(fault(self.line, format!("more than {MOST_PATHS} paths, or {MOST_DEPTH} parts of one")));
        }
        let text = |bytes: &[u8]| CString::new(if bytes.is_empty() { b"." } else { bytes });
        let bad = |_| fault(self.line, "a path with a NUL");
        let leaf = parts.last().map_or(Vec::new(), |leaf| leaf.to_vec());
        let parent = parts[..parts.len().saturating_sub(1)].join(&b'/');
        let wild = leaf.iter().any(|byte| b"<>*?".contains(byte));
        let name = Name { full: text(&key).map_err(bad)?, parent: text(&parent).map_err(bad)?, leaf, wild };
        let id = self.load.names.len() as u32;
        self.load.names.push(name);
        self.paths.insert(key, id);
        Ok(id)
    }

    fn slot(&mut self, words: &mut Words) -> Result<u16, Fault> {
        let handle = words.number("a handle", u64::MAX)?;
        let not_open = || fault(self.line, format!("handle {handle} is not open"));
        self.held.get(&handle).copied().ok_or_else(not_open)
    }

    fn close(&mut self, words: &mut Words) -> Result<u16, Fault> {
        let handle = words.number("a handle", u64::MAX)?;
        let not_open = || fault(self.line, format!("handle {handle} is not open"));
        let slot = self.held.remove(&handle).ok_or_else(not_open)?;
        self.free.push(slot);
        Ok(slot)
    }

    /// Returns a slot for a handle; none for a handle whose open is expected to fail.
    fn open(&mut self, words: &mut Words) -> Result<u16, Fault> {
        let handle = words.number("a handle", u64::MAX)?;
        if words.expects_failure() {
            return Ok(0);
        }
        if self.held.contains_key(&handle) {
            return Err(fault(self.line, format!("handle {handle} is open already")));
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.load.slots == MOST_HANDLES => {
                return Err(fault(self.line, format!("more than {MOST_HANDLES} handles are open at once")));
            }
            None => {
                self.load.slots += 1;
                (self.load.slots - 1) as u16
            }
        };
        self.held.insert(handle, slot);
        Ok(slot)
    }
}

/// Parses the create options and the create disposition of [MS-CIFS] 2.2.4.64.1 that a file system supports.
fn how(words: &mut Words) -> Result<How, Fault> {
    const DIRECTORY: u64 = 0x1;
    const NO_DIRECTORY: u64 = 0x40;
    let options = words.number("create options", u64::from(u32::MAX))?;
    let disposition = words.number("a create disposition from 0 to 5", 5)?;
    Ok(How {
        directory: options & DIRECTORY != 0,
        either: options & (DIRECTORY | NO_DIRECTORY) == 0,
        create: [0, 2, 3, 5].contains(&disposition),
        truncate: [0, 4, 5].contains(&disposition),
    })
}
