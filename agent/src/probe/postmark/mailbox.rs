//! The folder of many small files, and the system calls on it. None of them allocates.
//!
//! `buffered` moves pages of 4 KiB, as files of C's standard library do, with their additional calls: an fstat of each
//! opened file, and a seek to the end of a file before an append.

use std::ffi::CString;
use std::io;

use super::plan::Act;
use crate::fault::check;

const PAGE_BYTES: usize = 4096;
/// A file's content begins at one of this many places of the text, so that no two neighbours are the same.
const STARTS: usize = 4096;

pub struct Mailbox {
    /// The descriptor of the folder.
    root: i32,
    names: Vec<CString>,
    text: Vec<u8>,
    room: Vec<u8>,
    buffered: bool,
    read_bytes: usize,
    write_bytes: usize,
}

/// Returns the bytes of text needed for files of up to `high_bytes` bytes.
pub fn text_bytes(high_bytes: usize) -> usize {
    high_bytes + STARTS
}

impl Mailbox {
    pub fn new(root: i32, names: Vec<CString>, text: Vec<u8>, buffered: bool, blocks: (usize, usize)) -> Mailbox {
        // A block larger than the buffer bypasses it.
        let moved = |bytes: usize| if buffered { (bytes / PAGE_BYTES).max(1) * PAGE_BYTES } else { bytes };
        let (read_bytes, write_bytes) = (moved(blocks.0), moved(blocks.1));
        Mailbox { root, names, room: vec![0; read_bytes], text, buffered, read_bytes, write_bytes }
    }

    /// Returns the content of a file from its beginning on.
    pub fn content(&self, file: u32) -> &[u8] {
        &self.text[file as usize * 61 % STARTS..]
    }

    #[inline]
    pub fn act(&mut self, act: &Act) -> io::Result<()> {
        match *act {
            Act::Create { file, bytes } => {
                let flags = if self.buffered { libc::O_WRONLY | libc::O_TRUNC } else { libc::O_RDWR };
                self.write(file, flags | libc::O_CREAT, 0, bytes)
            }
            Act::Append { file, from, bytes } => {
                let flags = if self.buffered { libc::O_WRONLY | libc::O_CREAT } else { libc::O_RDWR };
                self.write(file, flags | libc::O_APPEND, from, bytes)
            }
            Act::Read { file, bytes } => self.read(file, bytes as usize),
            Act::Delete { file } => {
                check(unsafe { libc::unlinkat(self.root, self.names[file as usize].as_ptr(), 0) }.into()).map(drop)
            }
            Act::Nothing => Ok(()),
        }
    }

    fn open(&self, file: u32, flags: i32) -> io::Result<i32> {
        let name = self.names[file as usize].as_ptr();
        let fd = check(unsafe { libc::openat(self.root, name, flags | libc::O_CLOEXEC, 0o644) }.into())? as i32;
        if self.buffered {
            if flags & libc::O_APPEND != 0 {
                unsafe { libc::lseek(fd, 0, libc::SEEK_END) };
            }
            let mut facts: libc::stat = unsafe { std::mem::zeroed() };
            unsafe { libc::fstat(fd, &mut facts) };
        }
        Ok(fd)
    }

    fn write(&self, file: u32, flags: i32, from: u32, bytes: u32) -> io::Result<()> {
        let fd = self.open(file, flags)?;
        let data = &self.content(file)[from as usize..(from + bytes) as usize];
        let written = data.chunks(self.write_bytes).try_for_each(|block| {
            let moved = check(unsafe { libc::write(fd, block.as_ptr().cast(), block.len()) } as i64)?;
            if moved as usize == block.len() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ENOSPC)) }
        });
        close(fd)?;
        written
    }

    fn read(&mut self, file: u32, bytes: usize) -> io::Result<()> {
        let fd = self.open(file, libc::O_RDONLY)?;
        let mut left = bytes;
        while left > 0 {
            // A buffered read always requests a full buffer.
            let wanted = if self.buffered { self.read_bytes } else { self.read_bytes.min(left) };
            let moved = check(unsafe { libc::read(fd, self.room.as_mut_ptr().cast(), wanted) } as i64)? as usize;
            if moved != wanted.min(left) {
                close(fd)?;
                return Err(io::Error::from_raw_os_error(libc::ENODATA));
            }
            left -= moved;
        }
        close(fd)
    }
}

fn close(fd: i32) -> io::Result<()> {
    check(unsafe { libc::close(fd) }.into()).map(drop)
}
