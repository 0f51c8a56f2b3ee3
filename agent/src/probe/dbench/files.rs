//! The system calls of one client, all below its own folder. Only the removal of a whole tree allocates.
//!
//! A file server with case-insensitive names looks a name up as written, and reads the folder if it is not there. This
//! code does the same, as dbench does.

use std::ffi::{CStr, c_char};
use std::io;

use super::load::{How, MOST_DEPTH, Name};
use crate::fault::check;

const ENTRIES_BYTES: usize = 32 * 1024;
const PATH_BYTES: usize = 8 * 1024;
/// Offsets of the length and the name within an entry of `getdents64`.
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;
/// The times that SET_FILE_INFORMATION sets on a file: arbitrary, but different from its own.
const SET_S: i64 = 1_000_000_000;

/// The writes that reach the disk at once: `-s`, `-F` and `-S` of dbench 4.
#[derive(Clone, Copy, Default)]
pub struct Durability {
    /// Open files with O_SYNC.
    pub o_sync: bool,
    /// Call fsync after each write.
    pub fsync: bool,
    /// Call fdatasync on the folder after each unlink, rename and rmdir.
    pub folders: bool,
}

/// A client's folder, and its buffers for names and entries.
pub struct Files {
    root: i32,
    durability: Durability,
    entries: Vec<u64>,
    paths: [Vec<u8>; 2],
}

fn call(code: i32) -> io::Result<i32> {
    check(i64::from(code)).map(|code| code as i32)
}

fn open_folder(at: i32, path: *const c_char) -> io::Result<i32> {
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_DIRECTORY | libc::O_CLOEXEC;
    call(unsafe { libc::openat(at, path, flags) })
}

pub fn close(fd: i32) -> io::Result<()> {
    call(unsafe { libc::close(fd) }).map(|_| ())
}

/// Fills a buffer with the next entries of a folder; 0 bytes at its end.
fn next_entries(folder: i32, entries: &mut [u64]) -> io::Result<&[u8]> {
    let (at, room) = (entries.as_mut_ptr(), size_of_val(entries));
    let length = check(unsafe { libc::syscall(libc::SYS_getdents64, folder, at, room) })? as usize;
    Ok(unsafe { std::slice::from_raw_parts(entries.as_ptr().cast(), length) })
}

/// Returns the names in the result of `next_entries`.
fn names(entries: &[u8]) -> impl Iterator<Item = &CStr> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(entries.get(at + LENGTH_AT..at + LENGTH_AT + 2)?.try_into().ok()?));
        let name = CStr::from_bytes_until_nul(entries.get(at + NAME_AT..at + length)?).ok()?;
        at += length;
        Some(name)
    })
}

impl Files {
    /// `root` is the client's own open folder, which must stay open as long.
    pub fn new(root: i32, durability: Durability) -> Files {
        let paths = std::array::from_fn(|_| vec![0; PATH_BYTES]);
        Files { root, durability, entries: vec![0; ENTRIES_BYTES / 8], paths }
    }

    /// Returns the name as stored in the folder, ignoring case; `which` selects the buffer for it.
    fn resolve(&mut self, name: &Name, which: usize) -> Option<*const c_char> {
        let mut facts: libc::stat = unsafe { std::mem::zeroed() };
        if unsafe { libc::fstatat(self.root, name.full.as_ptr(), &mut facts, 0) } == 0 {
            return Some(name.full.as_ptr());
        }
        let folder = open_folder(self.root, name.parent.as_ptr()).ok()?;
        let found = self.read_folder(folder, name, which);
        unsafe { libc::close(folder) };
        found.then_some(self.paths[which].as_ptr().cast())
    }

    /// Reads a folder until it finds the name in any case, then stores the path of the entry in the buffer.
    fn read_folder(&mut self, folder: i32, name: &Name, which: usize) -> bool {
        while let Ok(entries @ [_, ..]) = next_entries(folder, &mut self.entries) {
            if let Some(found) = names(entries).find(|found| found.to_bytes().eq_ignore_ascii_case(&name.leaf)) {
                let parent = name.parent.as_bytes();
                let (path, leaf) = (&mut self.paths[which], found.to_bytes_with_nul());
                path[..parent.len()].copy_from_slice(parent);
                path[parent.len()] = b'/';
                path[parent.len() + 1..][..leaf.len()].copy_from_slice(leaf);
                return true;
            }
        }
        false
    }

    pub fn open(&mut self, name: &Name, how: How) -> io::Result<i32> {
        let path = self.resolve(name, 0).unwrap_or(name.full.as_ptr());
        let fd = if how.directory { self.open_directory(path, how)? } else { self.open_file(path, how)? };
        self.look_at(fd).map(|()| fd)
    }

    fn open_directory(&self, path: *const c_char, how: How) -> io::Result<i32> {
        if how.create {
            let made = call(unsafe { libc::mkdirat(self.root, path, 0o700) });
            made.map(|_| ()).or_else(unless(libc::EEXIST))?;
        }
        open_folder(self.root, path)
    }

    fn open_file(&self, path: *const c_char, how: How) -> io::Result<i32> {
        let mut flags = libc::O_RDWR | libc::O_CLOEXEC;
        flags |= if how.create { libc::O_CREAT } else { 0 };
        flags |= if how.truncate { libc::O_TRUNC } else { 0 };
        flags |= if self.durability.o_sync { libc::O_SYNC } else { 0 };
        let opened = call(unsafe { libc::openat(self.root, path, flags, 0o600) });
        match opened {
            Err(error) if how.either && error.raw_os_error() == Some(libc::EISDIR) => open_folder(self.root, path),
            other => other,
        }
    }

    pub fn look_at(&self, fd: i32) -> io::Result<()> {
        let mut facts: libc::stat = unsafe { std::mem::zeroed() };
        call(unsafe { libc::fstat(fd, &mut facts) }).map(|_| ())
    }

    pub fn path_info(&mut self, name: &Name) -> io::Result<()> {
        self.resolve(name, 0).map(|_| ()).ok_or_else(missing)
    }

    pub fn fs_info(&self) -> io::Result<()> {
        let mut facts: libc::statfs = unsafe { std::mem::zeroed() };
        call(unsafe { libc::fstatfs(self.root, &mut facts) }).map(|_| ())
    }

    pub fn set_info(&self, fd: i32) -> io::Result<()> {
        let times = [0, 1].map(|more| libc::timespec { tv_sec: SET_S + more, tv_nsec: 0 });
        self.look_at(fd)?;
        call(unsafe { libc::futimens(fd, times.as_ptr()) }).map(|_| ())
    }

    /// Looks the name up; for a pattern of names, also reads its folder, up to `most` entries.
    pub fn find(&mut self, name: &Name, most: u32) {
        if self.resolve(name, 0).is_some() || !name.wild {
            return;
        }
        let Ok(folder) = open_folder(self.root, name.parent.as_ptr()) else { return };
        let mut seen = 0;
        while seen < most as usize
            && let Ok(entries @ [_, ..]) = next_entries(folder, &mut self.entries)
        {
            seen += names(entries).count();
        }
        unsafe { libc::close(folder) };
    }

    pub fn rename(&mut self, from: &Name, to: &Name) -> io::Result<()> {
        let old = self.resolve(from, 0).unwrap_or(from.full.as_ptr());
        let new = self.resolve(to, 1).unwrap_or(to.full.as_ptr());
        call(unsafe { libc::renameat(self.root, old, self.root, new) })?;
        self.sync_parent(to)
    }

    pub fn unlink(&mut self, name: &Name) -> io::Result<()> {
        self.remove(name, 0)
    }

    pub fn rmdir(&mut self, name: &Name) -> io::Result<()> {
        self.remove(name, libc::AT_REMOVEDIR)
    }

    fn remove(&mut self, name: &Name, flags: i32) -> io::Result<()> {
        let path = self.resolve(name, 0).unwrap_or(name.full.as_ptr());
        call(unsafe { libc::unlinkat(self.root, path, flags) })?;
        self.sync_parent(name)
    }

    fn sync_parent(&self, name: &Name) -> io::Result<()> {
        if !self.durability.folders {
            return Ok(());
        }
        let folder = open_folder(self.root, name.parent.as_ptr())?;
        let synced = call(unsafe { libc::fdatasync(folder) });
        close(folder)?;
        synced.map(|_| ())
    }

    /// Creates a folder; an existing folder is fine, because one replay follows another.
    pub fn mkdir(&mut self, name: &Name) -> io::Result<()> {
        let path = self.resolve(name, 0).unwrap_or(name.full.as_ptr());
        call(unsafe { libc::mkdirat(self.root, path, 0o777) }).map(|_| ()).or_else(unless(libc::EEXIST))
    }

    /// Removes a tree if it exists.
    pub fn deltree(&self, name: &Name) -> io::Result<()> {
        remove_tree(self.root, &name.full, MOST_DEPTH + 1).or_else(unless(libc::ENOENT))
    }

    pub fn write(&self, fd: i32, bytes: &[u8], offset: u64) -> io::Result<u64> {
        let moved = check(unsafe { libc::pwrite(fd, bytes.as_ptr().cast(), bytes.len(), offset as i64) } as i64)?;
        if self.durability.fsync {
            self.flush(fd)?;
        }
        Ok(moved as u64)
    }

    pub fn read(&self, fd: i32, bytes: &mut [u8], offset: u64) -> io::Result<u64> {
        let moved = unsafe { libc::pread(fd, bytes.as_mut_ptr().cast(), bytes.len(), offset as i64) };
        check(moved as i64).map(|moved| moved as u64)
    }

    pub fn flush(&self, fd: i32) -> io::Result<()> {
        call(unsafe { libc::fsync(fd) }).map(|_| ())
    }

    /// Locks or unlocks a byte range; never waits, because nobody else uses the client's files.
    pub fn lock(&self, fd: i32, offset: u64, bytes: u32, held: bool) -> io::Result<()> {
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = if held { libc::F_WRLCK } else { libc::F_UNLCK } as i16;
        range.l_whence = libc::SEEK_SET as i16;
        (range.l_start, range.l_len) = (offset as i64, i64::from(bytes));
        call(unsafe { libc::fcntl(fd, libc::F_SETLKW, &range) }).map(|_| ())
    }
}

fn missing() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOENT)
}

/// Ignores errors with this number.
fn unless(number: i32) -> impl Fn(io::Error) -> io::Result<()> {
    move |error| if error.raw_os_error() == Some(number) { Ok(()) } else { Err(error) }
}

/// Removes a folder and its content; examines each entry, as dbench does.
fn remove_tree(at: i32, name: &CStr, depth: usize) -> io::Result<()> {
    let folder = open_folder(at, name.as_ptr())?;
    let emptied = empty(folder, depth);
    close(folder)?;
    emptied?;
    // The top folder stays.
    if name == c"." {
        return Ok(());
    }
    call(unsafe { libc::unlinkat(at, name.as_ptr(), libc::AT_REMOVEDIR) }).map(|_| ())
}

fn empty(folder: i32, depth: usize) -> io::Result<()> {
    let mut buffer = vec![0_u64; ENTRIES_BYTES / 8];
    loop {
        let mut removed = 0;
        loop {
            let entries = next_entries(folder, &mut buffer)?;
            if entries.is_empty() {
                break;
            }
            for name in names(entries).filter(|name| *name != c"." && *name != c"..") {
                let mut facts: libc::stat = unsafe { std::mem::zeroed() };
                call(unsafe { libc::fstatat(folder, name.as_ptr(), &mut facts, libc::AT_SYMLINK_NOFOLLOW) })?;
                match facts.st_mode & libc::S_IFMT {
                    libc::S_IFDIR if depth == 0 => return Err(io::Error::from_raw_os_error(libc::ELOOP)),
                    libc::S_IFDIR => remove_tree(folder, name, depth - 1)?,
                    _ => drop(call(unsafe { libc::unlinkat(folder, name.as_ptr(), 0) })?),
                }
                removed += 1;
            }
        }
        // A file system may skip entries while others are removed: repeat until none is left.
        if removed == 0 {
            return Ok(());
        }
        call(unsafe { libc::lseek(folder, 0, libc::SEEK_SET) } as i32)?;
    }
}
